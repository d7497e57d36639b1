"""Opening a store to examine it, and what is known of one that cannot be opened."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeVar

from holdfast.core import HoldfastError
from holdfast.core.errors import Busy, Corrupt, SchemaUnknown
from holdfast.store.health.checks import CHECKS
from holdfast.store.health.examination import Examination, server_of
from holdfast.store.health.finding import HealthFinding, failed, ok, unknown
from holdfast.store.store import open_store

OPENING = ("engine", "schema")
"""What the opening itself tells."""
NEWER = "install the Holdfast that wrote it: pip install --upgrade holdfast"
DAMAGED = "holdfast db restore BACKUP --data NEW-FOLDER"
TRIES, PATIENCE_SECONDS = 5, 3.0
"""How often a look is taken at least, and for how long: gateways that come and go overtake several."""
PAUSE_SECONDS = 0.2
UNREADABLE = "see whether it is there, and whether you may read it"

Result = TypeVar("Result")


@asynccontextmanager
async def open_examination(url: str, options: str) -> AsyncIterator[Examination]:
    """A store, open for reading alone; a HoldfastError if it cannot be opened. `options` are those of a command that
    finds it."""
    async with await patient(lambda: open_store(url, read_only=True)) as store:
        yield Examination(store, options, await patient(lambda: server_of(store)))


async def findings(found: Examination) -> AsyncIterator[HealthFinding]:
    """What every check finds, one after the other."""
    engine = found.store.engine
    yield ok("engine", f"{engine.name} {engine.version}")
    yield ok("schema", f"{found.store.schema_version}, which is the newest")
    for check in CHECKS:
        if engine.name in check.engines:
            try:
                yield await patient(partial(check.run, found))
            except Corrupt as error:
                yield failed(check.name, error.message, found.command("sessions verify"))
            except HoldfastError as error:
                yield unknown(check.name, error.message, error.hint)


async def patient(look: Callable[[], Awaitable[Result]]) -> Result:
    """What a look finds; it is begun anew if somebody begins to write to the store, or stops, meanwhile."""
    patient_until, taken = time.monotonic() + PATIENCE_SECONDS, 0
    while True:
        try:
            return await look()
        except Busy:
            taken += 1
            if taken >= TRIES and time.monotonic() > patient_until:
                raise
        await asyncio.sleep(PAUSE_SECONDS)


def refusal(error: HoldfastError, url: str, options: str) -> list[HealthFinding]:
    """What is known of a store that could not be opened: why, and nothing else."""
    engine = "postgresql" if url.startswith("postgres") else "sqlite"
    names = (*OPENING, *(check.name for check in CHECKS if engine in check.engines))
    found = {name: unknown(name, "the store cannot be opened") for name in names}
    match error:
        case SchemaUnknown() if "foreign" in error.details:
            bad = failed("engine", error.message, error.hint or UNREADABLE)
        case SchemaUnknown():
            newer = "known" in error.details
            bad = failed("schema", error.message, NEWER if newer else f"holdfast db migrate {options}".rstrip())
        case Corrupt():
            bad = failed("integrity", error.message, DAMAGED)
        case _:
            bad = failed("engine", error.message, error.hint or UNREADABLE)
    return list((found | {bad.check: bad}).values())
