"""A session's rows beside its log: written from a projection, and read back part by part to compare."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from holdfast.core import TaskState, Usage, strict_json
from holdfast.store.engine import Tx
from holdfast.store.log.log_reader import PAGE_BYTES, page_length
from holdfast.store.log.projection import (
    Child,
    Children,
    Projection,
    SessionFacts,
    StateFacts,
    TaskFacts,
    UsageDay,
)

GET_FACTS = "SELECT agent, user_id, status, held, document FROM sessions WHERE session_no = ?1"
PUT_FACTS = """
    UPDATE sessions SET agent = ?2, user_id = ?3, status = ?4, held = ?5, document = ?6, parent_session = ?7
    WHERE session_no = ?1"""
GET_SIZE = "SELECT size_bytes FROM sessions WHERE session_no = ?1"
PUT_SIZE = "UPDATE sessions SET size_bytes = ?2 WHERE session_no = ?1"
GET_TAGS = "SELECT tag FROM session_tags WHERE session_no = ?1"
DELETE_TAGS = "DELETE FROM session_tags WHERE session_no = ?1"
INSERT_TAG = "INSERT INTO session_tags (tenant, tag, session_no) VALUES (?1, ?2, ?3)"
GET_STATE = "SELECT version, document, updated_at FROM session_state WHERE session_no = ?1"
PUT_STATE = """
    INSERT INTO session_state (session_no, version, document, updated_at, since_point) VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (session_no) DO UPDATE
    SET version = excluded.version, document = excluded.document, updated_at = excluded.updated_at,
        since_point = excluded.since_point"""
GET_TASKS = """
    SELECT task_id, context_id, state, document, version, created_at, updated_at FROM tasks WHERE session_no = ?1"""
INSERT_TASK = """
    INSERT INTO tasks (tenant, task_id, session_no, context_id, state, document, version, created_at, updated_at, owner)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, '')"""
UPDATE_TASK = """
    UPDATE tasks SET context_id = ?3, state = ?4, document = ?5, version = ?6, created_at = ?7, updated_at = ?8
    WHERE session_no = ?1 AND task_id = ?2"""
DROP_TASK = "DELETE FROM tasks WHERE session_no = ?1 AND task_id = ?2"
GET_SNAPSHOTS = "SELECT seq, first_seq, last_seq FROM snapshots WHERE session_no = ?1"
INSERT_SNAPSHOT = "INSERT INTO snapshots (session_no, seq, first_seq, last_seq) VALUES (?1, ?2, ?3, ?4)"
GET_USAGE = """
    SELECT day, model, calls, input_tokens, output_tokens, cached_tokens, cost_micros
    FROM usage WHERE session_no = ?1"""
PUT_USAGE = """
    INSERT INTO usage (session_no, day, model, calls, input_tokens, output_tokens, cached_tokens, cost_micros)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
    ON CONFLICT (session_no, day, model) DO UPDATE
    SET calls = excluded.calls, input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens,
        cached_tokens = excluded.cached_tokens, cost_micros = excluded.cost_micros"""
GET_USES = "SELECT digest FROM attachment_uses WHERE session_no = ?1"
INSERT_USE = """
    INSERT INTO attachment_uses (session_no, tenant, digest) VALUES (?1, ?2, ?3)
    ON CONFLICT (session_no, digest) DO NOTHING"""


MOST_CHILDREN = 1_000
"""Children of one kind that a session is shown with."""


class ChildTable(NamedTuple):
    """The table that keeps one kind of a session's children."""

    table: str
    id: str

    def get(self, tx: Tx, session_no: int, child_id: str) -> Child | None:
        """The child, or None."""
        sql = f"SELECT number, status, document FROM {self.table} WHERE session_no = ?1 AND {self.id} = ?2"
        row = tx.one(sql, session_no, child_id)
        return None if row is None else Child(row[0], row[1], strict_json.parse(row[2]))

    def all(self, tx: Tx, session_no: int, status: str | None = None) -> Children:
        """The session's children, those with one status or all, in the order they were made."""
        sql = f"SELECT {self.id}, number, status, document FROM {self.table} WHERE session_no = ?1"
        if status is None:
            rows = tx.all(f"{sql} ORDER BY number", session_no)
        else:
            rows = tx.all(f"{sql} AND status = ?2 ORDER BY number", session_no, status)
        return {row[0]: Child(row[1], row[2], strict_json.parse(row[3])) for row in rows}

    def newest(
        self,
        tx: Tx,
        session_no: int,
        *statuses: str,
        most: int = MOST_CHILDREN,
        most_bytes: int = PAGE_BYTES,
    ) -> tuple[Children, int]:
        """The newest children that fit a page, in the order they were made, and how many older ones are left out.

        With statuses, only those that have one of them, looked up one by one: the others are not looked at.
        """
        places = [f" AND status = ?{number}" for number in range(3, len(statuses) + 3)] or [""]
        there = [f"FROM {self.table} WHERE session_no = ?1{place}" for place in places]
        each = [f"SELECT * FROM (SELECT * {one} ORDER BY number DESC LIMIT ?2) AS one" for one in there]
        newest = f"FROM ({' UNION ALL '.join(each)}) AS found ORDER BY number DESC LIMIT ?2"
        sizes = [size for (size,) in tx.all(f"SELECT length(document) {newest}", session_no, most + 1, *statuses)]
        length = page_length(sizes, most, most_bytes)
        rows = tx.all(f"SELECT {self.id}, number, status, document {newest}", session_no, length, *statuses)
        shown = {row[0]: Child(row[1], row[2], strict_json.parse(row[3])) for row in reversed(rows)}
        if len(sizes) == length:
            return shown, 0
        counts = [f"(SELECT count(*) {one})" for one in there]
        count = tx.one(f"SELECT {' + '.join(counts)} WHERE ?2 > 0", session_no, most, *statuses)
        assert count is not None
        return shown, count[0] - length

    def next_number(self, tx: Tx, session_no: int) -> int:
        """The number of the session's next child."""
        row = tx.one(f"SELECT coalesce(max(number), 0) + 1 FROM {self.table} WHERE session_no = ?1", session_no)
        assert row is not None
        return int(row[0])

    def put(self, tx: Tx, session_no: int, children: Children) -> None:
        """Keep these children as they are now."""
        sql = f"""
            INSERT INTO {self.table} (session_no, {self.id}, number, status, document) VALUES (?1, ?2, ?3, ?4, ?5)
            ON CONFLICT (session_no, {self.id}) DO UPDATE
            SET number = excluded.number, status = excluded.status, document = excluded.document"""
        rows = [(session_no, name, c.number, c.status, strict_json.dump(c.document)) for name, c in children.items()]
        if rows:
            tx.run_many(sql, rows)

    def drop(self, tx: Tx, session_no: int, child_id: str) -> None:
        """Forget one child."""
        tx.run(f"DELETE FROM {self.table} WHERE session_no = ?1 AND {self.id} = ?2", session_no, child_id)


GOALS = ChildTable("goals", "goal_id")
AGENTS = ChildTable("sub_agents", "agent_id")
CHECKPOINTS = ChildTable("checkpoints", "checkpoint_id")
EFFECTS = ChildTable("tool_effects", "call_id")

DERIVED_TABLES = (
    "session_tags",
    "session_state",
    "state_points",
    "goals",
    "sub_agents",
    "checkpoints",
    "tool_effects",
    "snapshots",
    "usage",
    "attachment_uses",
    "tasks",
)


def get_facts(tx: Tx, session_no: int) -> SessionFacts:
    """What the session's row says."""
    row = tx.one(GET_FACTS, session_no)
    assert row is not None
    return SessionFacts(row[0], row[1], row[2], bool(row[3]), strict_json.parse_own(row[4]))


def put_facts(tx: Tx, tenant: str, session_no: int, facts: SessionFacts) -> None:
    """Put facts onto the session's row, and its tags and its parent where they can be found."""
    document = strict_json.dump(dict(facts.document))
    parent = facts.document.get("parentSession")
    tx.run(PUT_FACTS, session_no, facts.agent, facts.user_id, facts.status, int(facts.held), document, parent)
    put_tags(tx, tenant, session_no, facts)


def put_tags(tx: Tx, tenant: str, session_no: int, facts: SessionFacts) -> None:
    """Put a session's tags where they can be found."""
    tx.run(DELETE_TAGS, session_no)
    tags = facts.document.get("tags", ())
    if tags:
        tx.run_many(INSERT_TAG, [(tenant, tag, session_no) for tag in tags])


def write_rows(tx: Tx, tenant: str, session_no: int, derived: Projection) -> None:
    """Put a whole projection beside a log that has no rows yet."""
    put_facts(tx, tenant, session_no, derived.session)
    tx.run(PUT_SIZE, session_no, derived.size_bytes)
    state = derived.state
    if state.version:
        tx.run(PUT_STATE, session_no, state.version, strict_json.dump(state.document), state.updated_at, None)
    _many(tx, INSERT_TASK, [(tenant, name, session_no, *_task_row(task)) for name, task in derived.tasks.items()])
    for table, children in _child_tables(derived):
        table.put(tx, session_no, children)
    _many(tx, INSERT_SNAPSHOT, [(session_no, seq, *span) for seq, span in derived.snapshots.items()])
    _many(tx, PUT_USAGE, [usage_row(session_no, day, used) for day, used in derived.usage.items()])
    _many(tx, INSERT_USE, [(session_no, tenant, digest) for digest in sorted(derived.attachments)])


def put_tasks(tx: Tx, session_no: int, tasks: dict[str, TaskFacts]) -> None:
    """Make a session's task rows what they should be; whoever owns them keeps them."""
    there = {row[0] for row in tx.all(GET_TASKS, session_no)}
    _many(tx, DROP_TASK, [(session_no, name) for name in sorted(there - set(tasks))])
    known = [(session_no, name, *_task_row(task)) for name, task in tasks.items() if name in there]
    _many(tx, UPDATE_TASK, known)


def clear_rows(tx: Tx, session_no: int, *, but: tuple[str, ...] = ()) -> None:
    """Remove a session's derived rows, but for these tables."""
    for table in DERIVED_TABLES:
        if table not in but:
            tx.run(f"DELETE FROM {table} WHERE session_no = ?1", session_no)


def read_part(tx: Tx, session_no: int, name: str) -> Any:
    """One member of the projection that the rows say."""
    return READ[name](tx, session_no)


def _read_state(tx: Tx, session_no: int) -> StateFacts:
    row = tx.one(GET_STATE, session_no)
    return StateFacts() if row is None else StateFacts(row[0], strict_json.parse(row[1]), row[2])


def _read_tasks(tx: Tx, session_no: int) -> dict[str, TaskFacts]:
    rows = tx.all(GET_TASKS, session_no)
    return {row[0]: TaskFacts(row[1], TaskState(row[2]), strict_json.parse(row[3]), *row[4:]) for row in rows}


def _read_snapshots(tx: Tx, session_no: int) -> dict[int, tuple[int, int]]:
    return {row[0]: (row[1], row[2]) for row in tx.all(GET_SNAPSHOTS, session_no)}


def _read_usage(tx: Tx, session_no: int) -> dict[UsageDay, Usage]:
    return {UsageDay(row[0], row[1]): Usage(*row[2:]) for row in tx.all(GET_USAGE, session_no)}


def _read_attachments(tx: Tx, session_no: int) -> set[str]:
    return {row[0] for row in tx.all(GET_USES, session_no)}


def _read_size(tx: Tx, session_no: int) -> int:
    row = tx.one(GET_SIZE, session_no)
    assert row is not None
    return int(row[0])


READ: Mapping[str, Callable[[Tx, int], Any]] = {
    "session": get_facts,
    "state": _read_state,
    "tasks": _read_tasks,
    "goals": GOALS.all,
    "agents": AGENTS.all,
    "checkpoints": CHECKPOINTS.all,
    "effects": EFFECTS.all,
    "snapshots": _read_snapshots,
    "usage": _read_usage,
    "attachments": _read_attachments,
    "size_bytes": _read_size,
}


def tags_of(tx: Tx, session_no: int) -> set[str]:
    """The tags by which the session can be found."""
    return {row[0] for row in tx.all(GET_TAGS, session_no)}


def usage_row(session_no: int, day: UsageDay, used: Usage) -> tuple[int | str, ...]:
    """A row of usage."""
    counts = (used.calls, used.input_tokens, used.output_tokens, used.cached_tokens, used.cost_micros)
    return (session_no, *day, *counts)


def _task_row(task: TaskFacts) -> tuple[object, ...]:
    document = strict_json.dump(task.document)
    return (task.context_id, task.state.value, document, task.version, task.created_at, task.updated_at)


def _child_tables(derived: Projection) -> tuple[tuple[ChildTable, Children], ...]:
    return (
        (GOALS, derived.goals),
        (AGENTS, derived.agents),
        (CHECKPOINTS, derived.checkpoints),
        (EFFECTS, derived.effects),
    )


def _many(tx: Tx, sql: str, rows: list[tuple[object, ...]]) -> None:
    if rows:
        tx.run_many(sql, rows)
