"""Tasks: one turn each, from the message that began it to its end.

Beginning a turn and every change of its state are events of the session, written in one transaction with the
messages they belong to, so a task never says more or less than its conversation. A finished task never changes.
A session that failed or was interrupted is active again with its next turn.

A message to a task that runs waits in it: the task counts such messages, and its worker takes them one by one.

A task that runs has an owner: the process that answers for it. Only that one begins its turns, and it may give the task
back; one without a living owner is an orphan, for any other to take.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.core import Lease, NewEvent, Task, TaskState, strict_json, types
from holdfast.core.errors import IdempotencyConflict, LeaseLost, NotFound, StaleState, TaskEnded, TaskNotWaiting
from holdfast.core.event_bodies import SessionFinalized, TaskUpdated
from holdfast.core.ids import check_name, check_session_id, check_together
from holdfast.core.statuses import ACTIVE, REOPENED_SESSIONS, SessionStatus
from holdfast.store.engine import Row, Tx
from holdfast.store.lanes.shares import ReadLength
from holdfast.store.log.append import append, check_lease
from holdfast.store.log.log_reader import Head, existing_head, head_of, page_length
from holdfast.store.log.prepare import PreparedEvent, prepare
from holdfast.store.log.projection import TaskFacts, finalized, moved
from holdfast.store.log.replay import KnownEvent, conflict_with, find_by_key, find_replays, first_body, known_before
from holdfast.store.part import Part
from holdfast.store.sessions.sessions import describe
from holdfast.store.tasks.outbox import note

COLUMNS = "t.task_id, s.session_id, t.context_id, t.state, t.document, t.created_at, t.updated_at, t.version"
SOURCE = "FROM tasks t JOIN sessions s ON s.session_no = t.session_no"
GET = f"SELECT {COLUMNS} {SOURCE} WHERE t.tenant = ?1 AND t.task_id = ?2 AND s.life = 'live'"
ORPHANS = f"""
    SELECT t.tenant, {COLUMNS} {SOURCE} LEFT JOIN holders h ON h.holder = t.owner
    WHERE t.state IN ('submitted', 'working') AND s.life = 'live' AND (h.holder IS NULL OR h.expires_at <= ?1)
    ORDER BY t.created_at, t.task_id"""
LISTED = f"""
    SELECT {{columns}} {SOURCE}
    WHERE t.tenant = ?1 AND s.life = 'live' AND s.agent = ?2 AND t.updated_at >= ?3
      AND (t.updated_at, t.task_id) < (?4, ?5) {{narrower}}
    ORDER BY t.updated_at DESC, t.task_id DESC LIMIT ?6"""
COUNTED = f"""
    SELECT count(*) {SOURCE}
    WHERE t.tenant = ?1 AND s.life = 'live' AND s.agent = ?2 AND t.updated_at >= ?3 {{narrower}}"""
OWN = "UPDATE tasks SET owner = ?3 WHERE tenant = ?1 AND task_id = ?2"
OWNER = "SELECT owner FROM tasks WHERE tenant = ?1 AND task_id = ?2"
NOBODY = ""
BEAT = """
    INSERT INTO holders (holder, expires_at) VALUES (?1, ?2)
    ON CONFLICT (holder) DO UPDATE SET expires_at = excluded.expires_at"""
BURY = "DELETE FROM holders WHERE expires_at < ?1"
RETIRE = "DELETE FROM holders WHERE holder = ?1"
FORGET_HOLDERS = "DELETE FROM holders"
FREE_LEASES = "UPDATE leases SET expires_at = 0"
PUT = """
    INSERT INTO tasks
      (tenant, task_id, session_no, context_id, state, document, version, created_at, updated_at, owner)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?9)
    ON CONFLICT (tenant, task_id) DO UPDATE
    SET state = excluded.state, document = excluded.document, version = excluded.version,
        updated_at = excluded.updated_at"""

DROP_TEXT = "DELETE FROM task_texts WHERE tenant = ?1 AND task_id = ?2"
STATUS = "SELECT status FROM sessions WHERE session_no = ?1"

LAST = (2**63 - 1, "")
WAITING = "waiting"
"""The member of a task's document that says how many messages it has yet to take."""


@dataclass(frozen=True, slots=True)
class TaskStart:
    """A message's task, whether the message was here before, and whether it waits for a turn that is not over."""

    task: Task
    replayed: bool
    waits: bool = False


@dataclass(frozen=True, slots=True)
class TaskListing:
    """Some tasks, the last changed first, how many there are in all, and whether others follow these."""

    tasks: list[Task]
    total: int
    more: bool


@dataclass(frozen=True, slots=True)
class Orphan:
    """A running task that nobody works on any more."""

    tenant: str
    task: Task


@dataclass(frozen=True, slots=True)
class _Mark:
    """A session's new status, with its task as the reason, and the event that says so."""

    body: SessionFinalized
    event: PreparedEvent


class Tasks(Part):
    """`store.tasks`."""

    __slots__ = ()

    async def begin(
        self, session_id: str, task_id: str, context_id: str, message: NewEvent, *, owner: str
    ) -> TaskStart:
        """Record a message and the task it begins; the first task if this message, by its key, began one before."""
        check_session_id(session_id)
        check_name(task_id, "a task id")
        check_name(context_id, "a context id")
        check_together("the ids of a task and its context", task_id, context_id)
        prepared = prepare(message, self.clock, self.ids)
        change = TaskUpdated(task_id, context_id, TaskState.SUBMITTED, {})
        begun = self.own_event(change)
        mark = self._mark(task_id, ACTIVE)

        def write(tx: Tx) -> TaskStart:
            head = head_of(tx, self.tenant, session_id)
            if head is not None:
                first = self._first(tx, head, prepared.type, prepared.idempotency_key, task_id)
                if first is not None:
                    return first
            if head is not None and known_before(tx, head, begun) is not None:
                return TaskStart(get(tx, self.tenant, task_id), False)
            self._reopen(tx, session_id, head, mark)
            append(tx, self.tenant, session_id, [prepared, begun])
            session_no = existing_head(tx, self.tenant, session_id).session_no
            return TaskStart(self._put(tx, session_no, None, change, begun.created_at, owner), False)

        return await self.write(session_id, write, 3)

    async def go_on(
        self,
        task: Task,
        message: NewEvent,
        changes: Mapping[str, Any] | None = None,
        *,
        owner: str,
        idempotency_key: str,
        answers: bool = False,
        version: int | None = None,
    ) -> TaskStart:
        """Record one more message to a task: one that asked back is to be worked on again, its document's members
        replaced by `changes`; in one that runs the message waits; TaskEnded if it has ended, and the first task if
        this message, by its own key, was here before. `idempotency_key` is the caller's: it tells a retry of this very
        call from another delivery of the message.

        A message that `answers` is taken by a task that waits for it, and by no other: it is TaskNotWaiting then, or
        StaleState if the task has changed since `version`, and IdempotencyConflict if its key had another answer."""
        prepared = prepare(message, self.clock, self.ids)
        change = _change(task, TaskState.SUBMITTED, strict_json.plain(dict(changes or {})))
        resumed = self.own_event(change, idempotency_key)
        mark = self._mark(task.task_id, ACTIVE)

        def write(tx: Tx) -> TaskStart:
            head = existing_head(tx, self.tenant, task.session_id)
            now = get(tx, self.tenant, task.task_id)
            done = known_before(tx, head, resumed)
            if done is not None:
                return TaskStart(now, False, _waited(done, task))
            first = self._first(tx, head, prepared.type, prepared.idempotency_key, None)
            if first is not None:
                if answers:
                    find_replays(tx, head, [prepared])
                return first
            if answers:
                _check_waiting(now, version)
            if now.state.terminal:
                raise _ended(now)
            if now.state.running:
                waits = _change(task, now.state, {WAITING: waiting(now) + 1})
                event = self.own_event(waits, idempotency_key)
                append(tx, self.tenant, task.session_id, [prepared, event])
                return TaskStart(self._put(tx, head.session_no, now, waits, event.created_at), False, True)
            self._reopen(tx, task.session_id, head, mark)
            append(tx, self.tenant, task.session_id, [prepared, resumed])
            tx.run(OWN, self.tenant, task.task_id, owner)
            return TaskStart(self._put(tx, head.session_no, now, change, resumed.created_at), False)

        return await self.write(task.session_id, write, 3)

    async def update(
        self,
        task: Task,
        state: TaskState,
        changes: Mapping[str, Any] | None = None,
        *,
        messages: Sequence[NewEvent] = (),
        lease: Lease | None = None,
        owner: str | None = None,
        owned_by: str | None = None,
        session_status: SessionStatus | None = None,
        version: int | None = None,
        idempotency_key: str | None = None,
    ) -> Task:
        """The task in its new state, its document's members replaced by `changes`, its messages in the log; with
        `owner` it is this one's from now on, with `session_status` its session is marked so. It is StaleState if the
        task has changed since `version`, and LeaseLost if the `lease` was outranked or it is not `owned_by` this one.
        """
        change = _change(task, state, strict_json.plain(dict(changes or {})))
        mark = None if session_status is None else self._mark(task.task_id, session_status)
        events = [prepare(message, self.clock, self.ids) for message in messages]
        events.append(self.own_event(change, idempotency_key))

        def write(tx: Tx) -> Task:
            head = existing_head(tx, self.tenant, task.session_id)
            now = get(tx, self.tenant, task.task_id)
            if find_replays(tx, head, events[-1:]):
                return now
            if now.state.terminal:
                raise _ended(now)
            if version is not None and now.version != version:
                raise StaleState(f"task {task.task_id} has changed", version=now.version)
            if lease is not None:
                check_lease(tx, head, lease)
            if owned_by is not None and tx.one(OWNER, self.tenant, task.task_id) != (owned_by,):
                raise LeaseLost(f"task {task.task_id} is another process's by now", task_id=task.task_id)
            if mark is not None:
                self._put_mark(tx, task.session_id, mark)
            append(tx, self.tenant, task.session_id, events)
            if owner is not None:
                tx.run(OWN, self.tenant, task.task_id, owner)
            return self._put(tx, head.session_no, now, change, events[-1].created_at)

        return await self.write(task.session_id, write, len(events) + (mark is not None))

    async def get(self, task_id: str) -> Task:
        """The task, or NotFound."""
        return await self.workers.read(lambda tx: get(tx, self.tenant, task_id), ReadLength.PAGE)

    async def begun_by(self, session_id: str, idempotency_key: str) -> Task | None:
        """The task that the message with this key began or went on with, if there is one."""

        def read(tx: Tx) -> Task | None:
            head = head_of(tx, self.tenant, session_id)
            first = None if head is None else self._first(tx, head, types.MESSAGE, idempotency_key, None)
            return None if first is None else first.task

        return await self.workers.read(read, ReadLength.PAGE)

    async def find(
        self,
        agent: str,
        *,
        context_id: str | None = None,
        state: TaskState | None = None,
        changed_since: int = 0,
        before: tuple[int, str] | None = None,
        limit: int = 50,
    ) -> TaskListing:
        """An agent's tasks that fit, the last changed first: `limit` of them, or fewer rather than be large; `before`
        is when the last one seen was changed, and its id."""
        wanted = [(column, value) for column, value in (("context_id", context_id), ("state", state)) if value]

        def read(tx: Tx) -> TaskListing:
            who = (self.tenant, agent, changed_since)

            def narrower(first: int) -> str:
                return "".join(f"AND t.{column} = ?{first + n} " for n, (column, _) in enumerate(wanted))

            values = [str(value) for _, value in wanted]

            def some(columns: str, most: int) -> list[Row]:
                sql = LISTED.format(columns=columns, narrower=narrower(7))
                return tx.all(sql, *who, *(before or LAST), most, *values)

            sizes = [size for (size,) in some("length(t.document)", limit + 1)]
            rows = some(COLUMNS, page_length(sizes, limit))
            total = tx.one(COUNTED.format(narrower=narrower(4)), *who, *values)
            return TaskListing([as_task(row) for row in rows], total[0] if total else 0, len(sizes) > len(rows))

        return await self.workers.read(read)

    async def beat(self, owner: str, ttl_ms: int) -> None:
        """Say that this owner is alive for another while; one that stops saying so leaves orphans."""

        def write(tx: Tx) -> None:
            now = tx.now()
            tx.run(BEAT, owner, now + ttl_ms)
            tx.run(BURY, now - 60_000)

        await self.workers.write(write, (f"holder\0{owner}",))

    async def give_back(self, task: Task, owner: str) -> None:
        """Leave a task to whoever takes it; nothing happens if it is not this owner's any more."""

        def write(tx: Tx) -> None:
            if tx.one(OWNER, self.tenant, task.task_id) == (owner,):
                tx.run(OWN, self.tenant, task.task_id, NOBODY)

        await self.write(task.session_id, write)

    async def retire(self, owner: str) -> None:
        """Say that this owner lives no more: what is still its is left to whoever takes it."""
        await self.workers.write(lambda tx: tx.run(RETIRE, owner), (f"holder\0{owner}",), makes_room=True)

    async def orphans(self) -> list[Orphan]:
        """Every tenant's running tasks whose owner no longer says that it is alive."""
        rows = await self.workers.read(lambda tx: tx.all(ORPHANS, tx.now()))
        return [Orphan(row[0], as_task(row[1:])) for row in rows]

    async def declare_all_dead(self) -> None:
        """Forget every owner and free every lease: for a process that knows it is the store's only one."""

        def write(tx: Tx) -> None:
            tx.run(FORGET_HOLDERS)
            tx.run(FREE_LEASES)

        await self.workers.write(write, (), makes_room=True)  # before whoever starts can delete anything

    def _first(self, tx: Tx, head: Head, type: str, key: str | None, task_id: str | None) -> TaskStart | None:
        """The task that a message with this key began or went on with before."""
        known = None if key is None else find_by_key(tx, head, key)
        if known is None:
            return None
        if known.erased is not None or known.type != type:
            raise IdempotencyConflict(f"{key!r} was used before, for event {known.seq}", seq=known.seq)
        first = strict_json.parse_own(strict_json.members(known.payload)["taskId"])
        return TaskStart(get(tx, self.tenant, first), first != task_id)

    def _reopen(self, tx: Tx, session_id: str, head: Head | None, mark: "_Mark") -> None:
        """Mark a session as active in which a turn begins, if the last one was its end."""
        status = None if head is None else tx.one(STATUS, head.session_no)
        if status is not None and status[0] in REOPENED_SESSIONS:
            self._put_mark(tx, session_id, mark)

    def _mark(self, task_id: str, status: SessionStatus) -> "_Mark":
        body = SessionFinalized(status, {"taskId": task_id}, None)
        return _Mark(body, self.own_event(body))

    def _put_mark(self, tx: Tx, session_id: str, mark: "_Mark") -> None:
        append(tx, self.tenant, session_id, [mark.event])
        describe(tx, self.tenant, session_id, lambda facts: finalized(facts, mark.body, mark.event.created_at))

    def _put(self, tx: Tx, session_no: int, before: Task | None, change: TaskUpdated, at: int, owner: str = "") -> Task:
        known = None
        if before is not None:
            times = (before.created_at, before.updated_at)
            known = TaskFacts(before.context_id, before.state, before.document, before.version, *times)
        after = moved(known, change, at)
        document = strict_json.dump(after.document)
        row = (after.context_id, after.state.value, document, after.version, at, owner)
        tx.run(PUT, self.tenant, change.task_id, session_no, *row)
        if before is not None:
            note(tx, self.tenant, change.task_id)
        if not after.state.running:
            tx.run(DROP_TEXT, self.tenant, change.task_id)
        return get(tx, self.tenant, change.task_id)


def get(tx: Tx, tenant: str, task_id: str) -> Task:
    """The task, or NotFound."""
    row = tx.one(GET, tenant, task_id)
    if row is None:
        raise NotFound(f"there is no task {task_id!r}", task_id=task_id)
    return as_task(row)


def waiting(task: Task) -> int:
    """How many messages a task has yet to take."""
    return int(task.document.get(WAITING, 0))


def _waited(done: KnownEvent, task: Task) -> bool:
    """Whether a message, whose going on with a task was written before, had to wait; IdempotencyConflict if what was
    written is something else, NotFound if it was erased."""
    first = first_body(done, TaskUpdated)
    waited = WAITING in first.changes
    if first.task_id != task.task_id or (first.state is not TaskState.SUBMITTED and not waited):
        raise conflict_with(done)
    return waited


def _check_waiting(task: Task, version: int | None) -> None:
    """TaskNotWaiting, or StaleState, unless a task waits for an answer, and has not changed since a version."""
    if task.state is not TaskState.INPUT_REQUIRED:
        raise TaskNotWaiting(
            f"task {task.task_id} does not wait for an answer",
            hint=f"it is {task.state.value} now: read it again",
            state=task.state.value,
            version=task.version,
        )
    if version is not None and task.version != version:
        raise StaleState(
            f"task {task.task_id} has changed", hint="read what it asks now, and answer that", version=task.version
        )


def _ended(task: Task) -> TaskEnded:
    return TaskEnded(f"task {task.task_id} has ended ({task.state.value})", state=task.state.value)


def _change(task: Task, state: TaskState, changes: dict[str, Any]) -> TaskUpdated:
    return TaskUpdated(task.task_id, task.context_id, state, changes)


def as_task(row: Row) -> Task:
    """A row of COLUMNS as a task."""
    return Task(row[0], row[1], row[2], TaskState(row[3]), strict_json.parse(row[4]), *row[5:])
