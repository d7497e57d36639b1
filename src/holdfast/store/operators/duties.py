"""Duties: what is done for the whole store now and then, such as a backup, by one of its processes at a time.

Whoever takes a duty keeps it for a while and says so again while it is at work; when that stops, another may take it.
When a duty was last done is kept with it, so that all processes, also those that start later, know.
"""

from dataclasses import dataclass

from holdfast.core.ids import check_name
from holdfast.store.engine import Tx
from holdfast.store.lanes.shares import ReadLength
from holdfast.store.part import Part

GET = "SELECT holder, expires_at, done_at FROM duties WHERE name = ?1"
PUT = """
    INSERT INTO duties (name, holder, expires_at, done_at) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (name) DO UPDATE
    SET holder = excluded.holder, expires_at = excluded.expires_at, done_at = excluded.done_at"""


@dataclass(frozen=True, slots=True)
class Duty:
    """A duty as it is at a moment, by the store's own clock."""

    now: int
    holder: str | None = None
    """Who is at it."""
    done_at: int | None = None


class Duties(Part):
    """`store.duties`."""

    __slots__ = ()

    async def look(self, name: str) -> Duty:
        """Who is at a duty, and when it was last done."""
        return await self.workers.read(lambda tx: _look(tx, name), ReadLength.LOOK)

    async def take(self, name: str, holder: str, ttl_ms: int) -> Duty:
        """Take a duty unless somebody else is at it, or keep it longer; `holder` of the answer says who has it."""
        check_name(name, "a duty")
        check_name(holder, "a duty's holder")

        def write(tx: Tx) -> Duty:
            found = _look(tx, name)
            if found.holder not in (None, holder):
                return found
            tx.run(PUT, name, holder, found.now + ttl_ms, found.done_at)
            return Duty(found.now, holder, found.done_at)

        return await self.workers.write(write, (_lock(name),), makes_room=True)

    async def leave(self, name: str, holder: str, *, done: bool) -> Duty:
        """Let others have the duty, and say whether it was done; nothing happens if somebody else has it by now."""

        def write(tx: Tx) -> Duty:
            found = _look(tx, name)
            if found.holder not in (None, holder):
                return found
            done_at = found.now if done else found.done_at
            tx.run(PUT, name, holder, 0, done_at)
            return Duty(found.now, None, done_at)

        return await self.workers.write(write, (_lock(name),), makes_room=True)


def _look(tx: Tx, name: str) -> Duty:
    now = tx.now()
    row = tx.one(GET, name)
    if row is None:
        return Duty(now)
    holder, expires_at, done_at = row
    return Duty(now, holder if expires_at > now else None, done_at)


def _lock(name: str) -> str:
    return f"duty\0{name}"
