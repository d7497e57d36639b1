"""Operations that go in steps: something comes between two of them, and every event is in exactly one place."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.material import numbered, said

from holdfast.core import TaskState
from holdfast.store import NewEvent, Store
from holdfast.store.engine import Tx
from holdfast.store.lanes.shares import ReadLength
from holdfast.store.part import Workers

HALF_DONE = """
    SELECT session_id FROM sessions WHERE tenant = ?1 AND life IN ('arriving', 'leaving', 'returning') UNION ALL
    SELECT session_id FROM archives WHERE tenant = ?1 AND state = 'purging' UNION ALL
    SELECT digest FROM attachments WHERE tenant = ?1"""


@dataclass(slots=True)
class Meanwhile:
    """Lets something happen before the write with a number (from 0), or before every one."""

    inner: Workers
    happens: Callable[[], Awaitable[Any]]
    at: int | None = None
    writes: int = 0
    weights: list[int] = field(default_factory=list)

    async def write(
        self, run: Callable[[Tx], Any], locks: Sequence[str], weight: int = 1, *, makes_room: bool = False
    ) -> Any:
        number, self.writes = self.writes, self.writes + 1
        self.weights.append(weight)
        if self.at in (None, number):
            await self.happens()
        return await self.inner.write(run, locks, weight, makes_room=makes_room)

    async def read(self, run: Callable[[Tx], Any], length: ReadLength = ReadLength.LONG) -> Any:
        return await self.inner.read(run, length)


async def run(store: Store, sql: str, *args: Any) -> None:
    """Change the database behind the store's back, through its own lane."""
    await store.forks.workers.write(lambda tx: tx.run(sql, *args), ())


async def rows(store: Store, sql: str, *args: Any) -> list[tuple[Any, ...]]:
    """What the database says."""
    return await store.forks.workers.read(lambda tx: tx.all(sql, *args))


async def half_done(store: Store) -> list[str]:
    """What of the tenant's is on its way in or out, or to be removed."""
    return [name for (name,) in await rows(store, HALF_DONE, store.tenant)]


async def number_of(store: Store, session_id: str) -> int | None:
    """The number of a session's row, whatever its life."""
    sql = "SELECT session_no FROM sessions WHERE tenant = ?1 AND session_id = ?2"
    found = await rows(store, sql, store.tenant, session_id)
    return found[0][0] if found else None


async def where(store: Store, session_no: int) -> tuple[list[int], list[int]]:
    """The seqs in the log and in the archive, seen in one moment."""

    def look(tx: Tx) -> tuple[list[int], list[int]]:
        sql = "SELECT seq FROM {} WHERE session_no = ?1 ORDER BY seq"
        log = tx.all(sql.format("transcript_events"), session_no)
        archive = tx.all(sql.format("archived_events"), session_no)
        return [row[0] for row in log], [row[0] for row in archive]

    return await store.forks.workers.read(look)


TABLES = (
    "session_tags",
    "session_state",
    "goals",
    "sub_agents",
    "checkpoints",
    "tool_effects",
    "snapshots",
    "usage",
    "attachment_uses",
    "tasks",
    "transcript_events",
    "transcript_event_identities",
    "archived_events",
    "archives",
    "arrivals",
    "returns",
    "session_entries",
    "leases",
)


async def traces(store: Store, session_no: int) -> dict[str, int]:
    """How many rows of each table belong to a session; tables without one are left out."""

    def look(tx: Tx) -> dict[str, int]:
        found = {}
        for table in TABLES:
            row = tx.one(f"SELECT count(*) FROM {table} WHERE session_no = ?1", session_no)
            assert row is not None
            if row[0]:
                found[table] = row[0]
        return found

    return await store.forks.workers.read(look)


async def make_rich(store: Store, session_id: str) -> int:
    """A session with something of every kind, and then changed in everything: the seq in between."""
    await store.sessions.create(session_id, user_id="ada", metadata={"a": 1}, tags=["x"])
    await store.append(session_id, [NewEvent("keyed", {"n": 1}, idempotency_key="k1"), *numbered(1, 2, 3)])
    await store.state.patch(session_id, {"step": 1})
    await store.goals.add(session_id, "first", goal_id="g1")
    await store.agents.spawn(session_id, "helper", agent_id="a1")
    await store.effects.start(session_id, "call1", "tool")
    await store.checkpoints.create(session_id, "here", checkpoint_id="c1")
    await store.checkpoints.save_snapshot(session_id, {"summary": "so far"})
    await store.usage.record(session_id, "m", input_tokens=1, output_tokens=2)
    put = await store.attachments.put(b"bytes")
    await store.attachments.attach(session_id, put.digest, name="f.txt", media_type="text/plain")
    begun = await store.tasks.begin(session_id, f"t-{session_id}", "ctx", said("hi", "t"), owner="o")
    between = (await store.sessions.get(session_id)).head_seq
    await store.tasks.update(begun.task, TaskState.COMPLETED)
    await store.sessions.patch_metadata(session_id, {"a": 2})
    await store.sessions.tag(session_id, add=["y"], remove=["x"])
    await store.state.patch(session_id, {"step": 2})
    await store.goals.update(session_id, "g1", {"status": "completed"})
    await store.agents.complete(session_id, "a1", result="done")
    await store.effects.finish(session_id, "call1", result="ok")
    await store.checkpoints.create(session_id, "later", checkpoint_id="c2")
    await store.sessions.finalize(session_id)
    return between


async def verified(store: Store, *session_ids: str) -> None:
    """Assert that nothing is wrong with these sessions, nor with the whole database."""
    for session_id in session_ids:
        assert (await store.verification.session(session_id)).problem is None, session_id
    assert await store.verification.files() == []


async def ownerless(store: Store) -> list[str]:
    """Tables with rows whose session is not there."""
    found = []
    for table in TABLES:
        sql = f"SELECT 1 FROM {table} WHERE session_no NOT IN (SELECT session_no FROM sessions) LIMIT 1"
        if await rows(store, sql):
            found.append(table)
    return found
