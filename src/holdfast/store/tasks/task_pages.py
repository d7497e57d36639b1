"""Pages of a tenant's tasks, whichever agent's, the last changed first, each with a session key to find it by."""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from typing import Any

from holdfast.core import Task, TaskState
from holdfast.core.errors import InvalidInput
from holdfast.core.ids import check_name
from holdfast.store.engine import Row, Tx
from holdfast.store.log.log_reader import existing_head, page_length
from holdfast.store.tasks.tasks import COLUMNS, LAST, SOURCE, as_task

KEY = "(SELECT min(k.key) FROM session_entries k WHERE k.session_no = t.session_no)"
LISTED = f"""
    SELECT {{columns}} {SOURCE}
    WHERE t.tenant = ?1 AND s.life = 'live' AND (t.updated_at, t.task_id) < (?2, ?3) {{narrower}}
    ORDER BY t.updated_at DESC, t.task_id DESC LIMIT ?4"""
KEY_OF = f"SELECT {KEY} FROM tasks t WHERE t.tenant = ?1 AND t.task_id = ?2"


@dataclass(frozen=True, slots=True)
class KeyedTask:
    """A task, and a session key that routes to its session now, if there is one."""

    task: Task
    key: str | None


@dataclass(frozen=True, slots=True)
class KeyedTasks:
    """One page of tasks; `cursor` asks for the next, None at the end."""

    tasks: list[KeyedTask]
    cursor: str | None


def page(
    tx: Tx, tenant: str, *, state: TaskState | None, session_id: str | None, cursor: str | None, limit: int
) -> KeyedTasks:
    """The tasks that fit, fewer rather than a large page; NotFound if there is no such session."""
    narrower, values = "", list[Any]()
    if state is not None:
        narrower += f" AND t.state = '{state.value}'"  # written out: only so does the index of those that wait serve
    if session_id is not None:
        values.append(existing_head(tx, tenant, session_id).session_no)
        narrower += " AND t.session_no = ?5"
    before = LAST if cursor is None else place_of(cursor)

    def some(columns: str, most: int) -> list[Row]:
        return tx.all(LISTED.format(columns=columns, narrower=narrower), tenant, *before, most, *values)

    sizes = [size for (size,) in some("length(t.document)", limit + 1)]
    rows = some(f"{COLUMNS}, {KEY}", page_length(sizes, limit))
    tasks = [KeyedTask(as_task(row[:-1]), row[-1]) for row in rows]
    return KeyedTasks(tasks, cursor_of(tasks[-1].task) if len(sizes) > len(rows) else None)


def key_of(tx: Tx, tenant: str, task_id: str) -> str | None:
    """A session key that routes to a task's session now, if there is one."""
    row = tx.one(KEY_OF, tenant, task_id)
    return None if row is None else row[0]


def cursor_of(task: Task) -> str:
    """Where a page goes on after this task."""
    return urlsafe_b64encode(f"{task.updated_at}:{task.task_id}".encode()).decode()


def place_of(cursor: str) -> tuple[int, str]:
    """The place that a cursor names: when a task was changed, and its id; InvalidInput if it is none of ours."""
    try:
        changed, _, task_id = urlsafe_b64decode(cursor.encode()).decode().partition(":")
        if not 0 <= int(changed) < 2**63:
            raise ValueError(changed)
        return int(changed), check_name(task_id, "a task id")
    except (ValueError, binascii.Error, InvalidInput):
        raise InvalidInput(f"{cursor!r:.80} is not a cursor of this list", hint="use that of the page before") from None
