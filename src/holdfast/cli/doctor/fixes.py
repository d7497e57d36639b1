"""What `--fix` does: only what can do no harm, and nothing while somebody is at work on the store."""

from holdfast.cli.options import Location
from holdfast.core import HoldfastError
from holdfast.core.store_file import StoreLock, lock_path, sqlite_path
from holdfast.store import open_store
from holdfast.store.health import HealthFinding, HealthState, close_to_others

BY_OPENING = {"log", "leases"}
"""What a store mends itself when it is opened for writing and nobody else has it."""

NOT_MENDED = "not mended"


async def mend(where: Location, found: list[HealthFinding]) -> list[str]:
    """Mend what was found of a SQLite store; what was done, or could not be."""
    path = sqlite_path(where.store_url)
    wrong = {each.check for each in found if each.state in (HealthState.WARNING, HealthState.FAILED)}
    if path is None:
        return []
    done = []
    if "permissions" in wrong:
        try:
            done += [f"permissions: only its owner and their group may open {each}" for each in close_to_others(path)]
        except OSError as error:
            done.append(f"permissions: {NOT_MENDED}, {path}: {error.strerror}")
    if wrong & BY_OPENING and not wrong & {"engine", "schema", "integrity"}:
        try:
            with StoreLock(lock_path(path)) as lock:
                async with await open_store(where.store_url, claim=lock.claim()) as store:
                    await store.declare_all_dead()
            done.append("log, leases: the log was emptied, and what dead processes held was freed")
        except HoldfastError as error:
            done.append(f"log, leases: {NOT_MENDED}, {error.message}")
    return done
