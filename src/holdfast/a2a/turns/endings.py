"""How a turn comes to rest: its task's state, what it leaves in the task's document, and the messages that go into the
log with it."""

import logging
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from holdfast.a2a.protocol.wire import Artifact, Message, Part, Role, TextPart
from holdfast.a2a.turns.records import AT_REST, NO_STATUS, artifact_change, message_record
from holdfast.core import IdSource, Lease, NewEvent, Task, TaskState, types
from holdfast.core.errors import StaleState, TaskEnded
from holdfast.core.retry import until_written
from holdfast.core.statuses import SessionStatus
from holdfast.store import Store
from holdfast.store.tasks import WAITING, waiting

log = logging.getLogger("holdfast.a2a")


@dataclass(frozen=True, slots=True)
class TurnEnding:
    """A rest that is not written yet; `key` is the same however often it is tried. `results` are what it adds to the
    task's document also if the task does not rest, because a message waits that it may take: `final` if it may not."""

    key: str
    state: TaskState
    changes: dict[str, Any]
    messages: tuple[NewEvent, ...] = ()
    results: dict[str, Any] = field(default_factory=dict)
    final: bool = False


def answer_ending(task: Task, artifact: Artifact | None, ids: IdSource) -> TurnEnding:
    """The end of a turn that gave its answer, which may be no words at all."""
    results, messages = _said_so_far(task, artifact, ids)
    return TurnEnding(ids(), TaskState.COMPLETED, results | NO_STATUS, messages, results)


def reply_ending(
    task: Task, parts: tuple[Part, ...], artifact: Artifact | None, plain: bool, ids: IdSource
) -> TurnEnding:
    """The end of a turn that was answered with a message, a plain one if nothing came before it."""
    results, messages = _said_so_far(task, artifact, ids)
    said = agent_message(task, parts, ids)
    changes = results | {"statusMessage": message_record(said), "plain": plain}
    beside = artifact_change(replace(task, document=task.document | results), Artifact(parts, ids()))
    return TurnEnding(ids(), TaskState.COMPLETED, changes, (*messages, _event(said)), results | beside)


def question_ending(task: Task, text: str, artifact: Artifact | None, ids: IdSource) -> TurnEnding:
    """The rest of a turn that needs to know more, with the text that came before the question."""
    results, messages = _said_so_far(task, artifact, ids)
    said = agent_message(task, (TextPart(text),), ids)
    changes = results | AT_REST | {"statusMessage": message_record(said)}
    return TurnEnding(ids(), TaskState.INPUT_REQUIRED, changes, (*messages, _event(said)), results)


def rejection_ending(task: Task, text: str, artifact: Artifact | None, ids: IdSource) -> TurnEnding:
    """The end of a turn that the agent refuses."""
    changes, messages = _said_so_far(task, artifact, ids)
    said = agent_message(task, (TextPart(text),), ids)
    changes |= {"statusMessage": message_record(said)}
    return TurnEnding(ids(), TaskState.REJECTED, changes, (*messages, _event(said)), final=True)


def cut_ending(task: Task, state: TaskState, why: str, artifact: Artifact | None, ids: IdSource) -> TurnEnding:
    """The end of a turn without an answer, with the text that had come; its status says why."""
    changes, messages = _said_so_far(task, artifact, ids)
    changes |= {"statusMessage": message_record(agent_message(task, (TextPart(why),), ids))}
    return TurnEnding(ids(), state, changes, messages, final=True)


async def record(
    store: Store,
    task: Task,
    ending: TurnEnding,
    lease: Lease,
    *,
    session_status: SessionStatus | None = None,
    owned_by: str | None = None,
) -> Task:
    """Write the rest in one transaction, and how it leaves the session, if that is given; the task as it then stands,
    by its first end if it has ended already, and at work still if a message waits in it. LeaseLost if the lease was,
    or the task is not this owner's any more."""
    while True:
        now = await until_written(lambda: store.tasks.get(task.task_id))
        left = 0 if ending.final else waiting(now)
        state, changes, key = ending.state, ending.changes, ending.key
        if left:
            state, key = TaskState.WORKING, f"{ending.key}:on"
            changes = ending.results | NO_STATUS | AT_REST | {WAITING: left - 1}
        write = partial(
            store.tasks.update,
            *(task, state, changes),
            messages=ending.messages,
            lease=lease,
            session_status=session_status,
            owned_by=owned_by,
            version=None if ending.final else now.version,
            idempotency_key=key,
        )
        try:
            return await until_written(write)
        except StaleState:
            continue
        except TaskEnded as ended:
            log.info("task %s keeps its first end: %s", task.task_id, ended)
            return await store.tasks.get(task.task_id)


def agent_message(task: Task, parts: tuple[Part, ...], ids: IdSource) -> Message:
    """A message of the agent in a task."""
    return Message(Role.AGENT, ids(), parts, task.context_id, task.task_id)


def _said_so_far(task: Task, artifact: Artifact | None, ids: IdSource) -> tuple[dict[str, Any], tuple[NewEvent, ...]]:
    """The text of a turn as it goes into the task's document, and into the log."""
    if artifact is None:
        return {}, ()
    return artifact_change(task, artifact), (_event(agent_message(task, artifact.parts, ids)),)


def _event(message: Message) -> NewEvent:
    return NewEvent(types.MESSAGE, message_record(message))
