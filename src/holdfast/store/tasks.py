"""Tasks: one turn each, from the message that began it to its end.

Beginning a turn and every change of its state are events of the session, written in one transaction with the
messages they belong to, so a task never says more or less than its conversation. A finished task never changes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.core import Lease, NewEvent, Task, TaskState, strict_json, types
from holdfast.core.errors import IdempotencyConflict, NotFound, TaskEnded
from holdfast.core.ids import check_name, check_session_id
from holdfast.store.append import append, check_lease
from holdfast.store.engine import Row, Tx
from holdfast.store.part import Part
from holdfast.store.prepare import prepare
from holdfast.store.projection import TaskFacts, moved
from holdfast.store.reading import existing_head, head_of
from holdfast.store.replay import find_by_key, find_replays, known_before

COLUMNS = "t.task_id, s.session_id, t.context_id, t.state, t.document, t.created_at, t.updated_at, t.version"
SOURCE = "FROM tasks t JOIN sessions s ON s.session_no = t.session_no"
GET = f"SELECT {COLUMNS} {SOURCE} WHERE t.tenant = ?1 AND t.task_id = ?2 AND s.life = 'live'"
ORPHANS = f"""
    SELECT t.tenant, {COLUMNS} {SOURCE} LEFT JOIN holders h ON h.holder = t.owner
    WHERE t.state IN ('submitted', 'working') AND s.life = 'live' AND (h.holder IS NULL OR h.expires_at <= ?1)
    ORDER BY t.created_at"""
BEAT = """
    INSERT INTO holders (holder, expires_at) VALUES (?1, ?2)
    ON CONFLICT (holder) DO UPDATE SET expires_at = excluded.expires_at"""
BURY = "DELETE FROM holders WHERE expires_at < ?1"
FORGET_HOLDERS = "DELETE FROM holders"
FREE_LEASES = "UPDATE leases SET expires_at = 0"
PUT = """
    INSERT INTO tasks
      (tenant, task_id, session_no, context_id, state, document, version, created_at, updated_at, owner)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?9)
    ON CONFLICT (tenant, task_id) DO UPDATE
    SET state = excluded.state, document = excluded.document, version = excluded.version,
        updated_at = excluded.updated_at"""


@dataclass(frozen=True, slots=True)
class Begun:
    """A turn's task, and whether the same message had begun it before."""

    task: Task
    replayed: bool


@dataclass(frozen=True, slots=True)
class Orphan:
    """A running task that nobody works on any more."""

    tenant: str
    task: Task


class Tasks(Part):
    """`store.tasks`."""

    __slots__ = ()

    async def begin(self, session_id: str, task_id: str, context_id: str, message: NewEvent, *, owner: str) -> Begun:
        """Record a message and the task it begins; the first task if this message, by its key, began one before."""
        check_session_id(session_id)
        check_name(task_id, "a task id")
        prepared = prepare(message, self.clock, self.ids)
        change = {
            "taskId": task_id,
            "contextId": context_id,
            "state": TaskState.SUBMITTED.value,
            "changes": {},
        }
        begun = self.own_event(types.TASK_UPDATED, change)

        def write(tx: Tx) -> Begun:
            head = head_of(tx, self.tenant, session_id)
            if head is not None and prepared.idempotency_key is not None:
                known = find_by_key(tx, head, prepared.idempotency_key)
                if known is not None:
                    if known.erased is not None or known.type != prepared.type:
                        raise IdempotencyConflict(
                            f"{prepared.idempotency_key!r} was used before, for event {known.seq}", seq=known.seq
                        )
                    first = strict_json.parse(known.payload)["taskId"]
                    return Begun(get(tx, self.tenant, first), first != task_id)
            if head is not None and known_before(tx, head, begun) is not None:
                return Begun(get(tx, self.tenant, task_id), False)
            append(tx, self.tenant, session_id, [prepared, begun])
            session_no = existing_head(tx, self.tenant, session_id).session_no
            return Begun(self._put(tx, session_no, None, change, begun.created_at, owner), False)

        return await self.write(session_id, write, 2)

    async def update(
        self,
        task: Task,
        state: TaskState,
        changes: Mapping[str, Any] | None = None,
        *,
        messages: Sequence[NewEvent] = (),
        lease: Lease | None = None,
    ) -> Task:
        """The task in its new state, its document's members replaced by `changes`, its messages in the log."""
        change = {
            "taskId": task.task_id,
            "contextId": task.context_id,
            "state": state.value,
            "changes": strict_json.plain(dict(changes or {})),
        }
        events = [prepare(message, self.clock, self.ids) for message in messages]
        events.append(self.own_event(types.TASK_UPDATED, change))

        def write(tx: Tx) -> Task:
            head = existing_head(tx, self.tenant, task.session_id)
            now = get(tx, self.tenant, task.task_id)
            if find_replays(tx, head, events[-1:]):
                return now
            if now.state.terminal:
                raise TaskEnded(f"task {task.task_id} has ended ({now.state.value})", state=now.state.value)
            if lease is not None:
                check_lease(tx, head, lease)
            append(tx, self.tenant, task.session_id, events)
            return self._put(tx, head.session_no, now, change, events[-1].created_at)

        return await self.write(task.session_id, write, len(events))

    async def get(self, task_id: str) -> Task:
        """The task, or NotFound."""
        return await self.workers.read(lambda tx: get(tx, self.tenant, task_id))

    async def beat(self, owner: str, ttl_ms: int) -> None:
        """Say that this owner is alive for another while; one that stops saying so leaves orphans."""

        def write(tx: Tx) -> None:
            now = tx.now()
            tx.run(BEAT, owner, now + ttl_ms)
            tx.run(BURY, now - 60_000)

        await self.workers.write(write, (f"holder\0{owner}",))

    async def orphans(self) -> list[Orphan]:
        """Every tenant's running tasks whose owner no longer says that it is alive."""
        rows = await self.workers.read(lambda tx: tx.all(ORPHANS, tx.now()))
        return [Orphan(row[0], _task(row[1:])) for row in rows]

    async def declare_all_dead(self) -> None:
        """Forget every owner and free every lease: for a process that knows it is the store's only one."""

        def write(tx: Tx) -> None:
            tx.run(FORGET_HOLDERS)
            tx.run(FREE_LEASES)

        await self.workers.write(write, ())

    def _put(
        self, tx: Tx, session_no: int, before: Task | None, change: dict[str, Any], at: int, owner: str = ""
    ) -> Task:
        known = None
        if before is not None:
            times = (before.created_at, before.updated_at)
            known = TaskFacts(before.context_id, before.state, before.document, before.version, *times)
        after = moved(known, change, at)
        document = strict_json.dump(after.document)
        row = (after.context_id, after.state.value, document, after.version, at, owner)
        tx.run(PUT, self.tenant, change["taskId"], session_no, *row)
        return get(tx, self.tenant, change["taskId"])


def get(tx: Tx, tenant: str, task_id: str) -> Task:
    """The task, or NotFound."""
    row = tx.one(GET, tenant, task_id)
    if row is None:
        raise NotFound(f"there is no task {task_id!r}", task_id=task_id)
    return _task(row)


def _task(row: Row) -> Task:
    return Task(row[0], row[1], row[2], TaskState(row[3]), strict_json.parse(row[4]), *row[5:])
