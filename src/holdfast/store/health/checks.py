"""Every check of a store, in the order in which they are run and shown."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from holdfast.store.health import clock, damage, files, unfinished
from holdfast.store.health.examination import Examination
from holdfast.store.health.finding import HealthFinding

SQLITE = "sqlite"
POSTGRESQL = "postgresql"
BOTH = (SQLITE, POSTGRESQL)


class Check(NamedTuple):
    """One check: its name, the engines that it is for, and how it is done."""

    name: str
    run: Callable[[Examination], Awaitable[HealthFinding]]
    engines: tuple[str, ...] = BOTH


CHECKS: tuple[Check, ...] = (
    Check("integrity", damage.integrity),
    Check("chain", damage.chain),
    Check("log", files.log, (SQLITE,)),
    Check("disk", files.disk, (SQLITE,)),
    Check("permissions", files.permissions, (SQLITE,)),
    Check("clock", clock.clock),
    Check("sessions", unfinished.sessions),
    Check("tasks", unfinished.tasks),
    Check("leases", unfinished.leases),
    Check("search", unfinished.search),
)
