"""How a turn comes to rest: its task's state, what it leaves in the task's document, and the messages that go into the
log with it."""

import logging
from dataclasses import dataclass
from typing import Any

from holdfast.a2a.persist import until_written
from holdfast.a2a.records import artifact_change, message_record
from holdfast.a2a.wire import Artifact, Message, Part, Role, TextPart
from holdfast.core import IdSource, Lease, NewEvent, Task, TaskState, types
from holdfast.core.errors import TaskEnded
from holdfast.store import Store

log = logging.getLogger("holdfast.a2a")


@dataclass(frozen=True, slots=True)
class Ending:
    """A rest that is not written yet; `key` is the same however often it is tried."""

    key: str
    state: TaskState
    changes: dict[str, Any]
    messages: tuple[NewEvent, ...] = ()


def answered(task: Task, artifact: Artifact | None, ids: IdSource) -> Ending:
    """The end of a turn that gave its answer, which may be no words at all."""
    if artifact is None:
        return Ending(ids(), TaskState.COMPLETED, {})
    said = spoken(task, artifact.parts, ids)
    return Ending(ids(), TaskState.COMPLETED, artifact_change(task, artifact), (_event(said),))


def replied(task: Task, parts: tuple[Part, ...], ids: IdSource) -> Ending:
    """The end of a turn that was answered with a plain message."""
    said = spoken(task, parts, ids)
    return Ending(ids(), TaskState.COMPLETED, {"statusMessage": message_record(said), "plain": True}, (_event(said),))


def asked_back(task: Task, text: str, artifact: Artifact | None, ids: IdSource) -> Ending:
    """The rest of a turn that needs to know more, with the text that came before the question."""
    before = answered(task, artifact, ids)
    said = spoken(task, (TextPart(text),), ids)
    changes = before.changes | {"statusMessage": message_record(said)}
    return Ending(ids(), TaskState.INPUT_REQUIRED, changes, (*before.messages, _event(said)))


def broken_off(task: Task, state: TaskState, why: str, ids: IdSource) -> Ending:
    """The end of a turn without an answer; its status says why."""
    return Ending(ids(), state, {"statusMessage": message_record(spoken(task, (TextPart(why),), ids))})


async def record(store: Store, task: Task, ending: Ending, lease: Lease, *, session_status: str | None = None) -> Task:
    """Write the rest in one transaction, and how it leaves the session, if that is given; the task as it then stands,
    by its first end if it has ended already."""
    try:
        return await until_written(
            lambda: store.tasks.update(
                task,
                ending.state,
                ending.changes,
                messages=ending.messages,
                lease=lease,
                session_status=session_status,
                idempotency_key=ending.key,
            )
        )
    except TaskEnded as ended:
        log.info("task %s keeps its first end: %s", task.task_id, ended)
        return await store.tasks.get(task.task_id)


def spoken(task: Task, parts: tuple[Part, ...], ids: IdSource) -> Message:
    """A message of the agent in a task."""
    return Message(Role.AGENT, ids(), parts, task.context_id, task.task_id)


def _event(message: Message) -> NewEvent:
    return NewEvent(types.MESSAGE, message_record(message))
