"""The outbox: which places have yet to be told how a task stands.

A row is written in the transaction that changes the task, for every place where its news are posted, and goes when
the news were taken there or were given up. Its poster is the process that owned the task then. If that one lives no
more, another takes the row, a few times in all. A place that comes late to a task is noted with the place itself. What
is told is read from the task, so that a row holds no words.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from holdfast.store.engine import Row, Tx
from holdfast.store.lanes.shares import ReadLength
from holdfast.store.part import Part

Result = TypeVar("Result")

COLUMNS = "o.tenant, o.task_id, o.config_id, o.version, o.poster, o.tries"
ROWS = """
    INSERT INTO outbox (tenant, task_id, config_id, session_no, version, poster, tries)
    SELECT p.tenant, p.task_id, p.config_id, p.session_no, t.version, {poster}, 0
    FROM push_configs p JOIN tasks t ON t.tenant = p.tenant AND t.task_id = p.task_id
    WHERE p.tenant = ?1 AND p.task_id = ?2 {narrower}
    ON CONFLICT (tenant, task_id, config_id) DO UPDATE
    SET version = excluded.version, poster = excluded.poster, tries = 0"""
NOTE = ROWS.format(poster="t.owner", narrower="")
NOTE_PLACE = ROWS.format(poster="?4", narrower="AND p.config_id = ?3 AND t.version > 1")
GET = f"SELECT {COLUMNS} FROM outbox o WHERE o.tenant = ?1 AND o.task_id = ?2 AND o.config_id = ?3"
WAITING = f"SELECT {COLUMNS} FROM outbox o WHERE o.tenant = ?1 ORDER BY o.task_id, o.config_id LIMIT 1000"
LEFT = f"""
    SELECT {COLUMNS} FROM outbox o LEFT JOIN holders h ON h.holder = o.poster
    WHERE h.holder IS NULL OR h.expires_at <= ?1 ORDER BY o.tenant, o.task_id, o.config_id LIMIT 100"""
LEFT_OF_TASK = f"""
    SELECT {COLUMNS} FROM outbox o LEFT JOIN holders h ON h.holder = o.poster
    WHERE o.tenant = ?1 AND o.task_id = ?2 AND (h.holder IS NULL OR h.expires_at <= ?3 OR o.poster = ?4)
    ORDER BY o.config_id"""
OWN = f"SELECT {COLUMNS} FROM outbox o WHERE o.poster = ?1 ORDER BY o.tenant, o.task_id, o.config_id LIMIT 1000"
TAKE = """
    UPDATE outbox SET tries = tries + CASE WHEN poster = ?4 THEN 0 ELSE 1 END, poster = ?4
    WHERE tenant = ?1 AND task_id = ?2 AND config_id = ?3"""
SETTLE = "DELETE FROM outbox WHERE tenant = ?1 AND task_id = ?2 AND config_id = ?3 AND version <= ?4"
DROP = "DELETE FROM outbox WHERE tenant = ?1 AND task_id = ?2 AND config_id = ?3"
DROP_OF_SESSION = "DELETE FROM outbox WHERE session_no = ?1"


@dataclass(frozen=True, slots=True)
class Unposted:
    """A place that has yet to be told how a task stands, since a version of it; `tries` is how often it was taken
    from a process that died."""

    tenant: str
    task_id: str
    config_id: str
    version: int
    poster: str
    tries: int


class Outbox(Part):
    """`store.outbox`."""

    __slots__ = ()

    async def waiting(self) -> list[Unposted]:
        """The tenant's, by task."""
        return [Unposted(*row) for row in await self.workers.read(lambda tx: tx.all(WAITING, self.tenant))]

    async def left_of_task(self, task_id: str, me: str) -> list[Unposted]:
        """Those of one task whose poster no longer says that it is alive, or is me."""
        rows = await self.workers.read(
            lambda tx: tx.all(LEFT_OF_TASK, self.tenant, task_id, tx.now(), me), ReadLength.PAGE
        )
        return [Unposted(*row) for row in rows]

    async def left(self, me: str | None = None) -> list[Unposted]:
        """Some of every tenant's whose poster no longer says that it is alive, and then some whose poster is me."""

        def read(tx: Tx) -> list[Row]:
            dead = tx.all(LEFT, tx.now())
            return dead + [row for row in tx.all(OWN, me) if row not in dead] if me is not None else dead

        return [Unposted(*row) for row in await self.workers.read(read)]

    async def take(self, item: Unposted, poster: str) -> bool:
        """Make it this poster's, which counts as a try if it was another's; False if somebody else has changed it since
        it was found."""

        def write(tx: Tx) -> bool:
            row: Row | None = tx.one(GET, self.tenant, item.task_id, item.config_id)
            if row is None:
                return False
            now = Unposted(*row)
            if now != item:
                return now.poster == poster and now.tries == item.tries + 1 and tx.rerun
            tx.run(TAKE, self.tenant, item.task_id, item.config_id, poster)
            return True

        return await self._write(item.task_id, write)

    async def settle(self, task_id: str, config_id: str, version: int) -> None:
        """The place was told of the task up to a version, or will not be; what is newer stays."""
        await self._write(task_id, lambda tx: tx.run(SETTLE, self.tenant, task_id, config_id, version))

    async def _write(self, task_id: str, run: Callable[[Tx], Result]) -> Result:
        return await self.workers.write(run, (push_lock(self.tenant, task_id),), makes_room=True)


def note(tx: Tx, tenant: str, task_id: str) -> None:
    """Have every place of a task told of its change, which this transaction makes."""
    tx.run(NOTE, tenant, task_id)


def note_place(tx: Tx, tenant: str, task_id: str, config_id: str, poster: str) -> None:
    """Have one place told by a poster how a task stands, if anything has happened in it since it began."""
    tx.run(NOTE_PLACE, tenant, task_id, config_id, poster)


def drop(tx: Tx, tenant: str, task_id: str, config_id: str) -> None:
    """Have one place told nothing more."""
    tx.run(DROP, tenant, task_id, config_id)


def drop_of_session(tx: Tx, session_no: int) -> None:
    """Forget all of a session."""
    tx.run(DROP_OF_SESSION, session_no)


def push_lock(tenant: str, task_id: str) -> str:
    """The name that writers of a task's places lock, beside or instead of its session."""
    return f"push\0{tenant}\0{task_id}"
