"""How a task ends: its last state, what it leaves in its document, and the messages that go into the log with it."""

import logging
from dataclasses import dataclass
from typing import Any

from holdfast.a2a.persist import until_written
from holdfast.a2a.records import artifact_record, message_record
from holdfast.a2a.wire import Artifact, Message, Role, TextPart
from holdfast.core import IdSource, Lease, NewEvent, Task, TaskState, types
from holdfast.core.errors import TaskEnded
from holdfast.store import Store

log = logging.getLogger("holdfast.a2a")


@dataclass(frozen=True, slots=True)
class Ending:
    """An end that is not written yet."""

    state: TaskState
    changes: dict[str, Any]
    messages: tuple[NewEvent, ...] = ()


def answered(task: Task, text: str, ids: IdSource) -> Ending:
    """The end of a turn that gave an answer, which may be no words at all."""
    if not text:
        return Ending(TaskState.COMPLETED, {})
    message = _said(task, text, ids)
    artifact = artifact_record(Artifact(ids(), message.parts))
    event = NewEvent(types.MESSAGE, message_record(message))
    return Ending(TaskState.COMPLETED, {"artifacts": [artifact]}, (event,))


def broken_off(task: Task, state: TaskState, why: str, ids: IdSource) -> Ending:
    """The end of a turn without an answer; its status says why."""
    return Ending(state, {"statusMessage": message_record(_said(task, why, ids))})


async def record(store: Store, task: Task, ending: Ending, lease: Lease) -> None:
    """Write the end in one transaction; nothing happens if the task has ended already."""
    try:
        await until_written(
            lambda: store.tasks.update(task, ending.state, ending.changes, messages=ending.messages, lease=lease)
        )
    except TaskEnded as ended:
        log.info("task %s keeps its first end: %s", task.task_id, ended)


def _said(task: Task, text: str, ids: IdSource) -> Message:
    return Message(Role.AGENT, ids(), (TextPart(text),), task.context_id, task.task_id)
