"""What the package keeps in the store, and reads back: messages in the log, results in a task's document.

A stored part has the shape of version 1.0, whichever version it came in. Messages that others appended to the log
are read if they have our shape, and are otherwise none of our business.
"""

from typing import Any

import msgspec

from holdfast.a2a import v10
from holdfast.a2a.rpc import RpcError
from holdfast.a2a.wire import Artifact, Message, Part, Role, TaskView
from holdfast.core import Event, Task


class _Stored(msgspec.Struct, rename="camel"):
    role: Role
    parts: list[v10.PartShape]
    message_id: str = ""
    context_id: str | None = None
    task_id: str | None = None
    reference_task_ids: tuple[str, ...] = ()
    metadata: dict[str, Any] | None = None


class _StoredArtifact(msgspec.Struct, rename="camel"):
    artifact_id: str
    parts: list[v10.PartShape]


class _Document(msgspec.Struct, rename="camel"):
    status_message: _Stored | None = None
    artifacts: list[_StoredArtifact] = []
    message_seq: int | None = None


def message_record(message: Message) -> dict[str, Any]:
    """A message as an event's payload."""
    return v10.message(message) | {"role": message.role.value}


def message_in(event: Event) -> Message | None:
    """The message in an event; None if it has another shape."""
    try:
        return _message(msgspec.convert(event.value(), _Stored))
    except (msgspec.ValidationError, RpcError):
        return None


def artifact_record(artifact: Artifact) -> dict[str, Any]:
    """An artifact as a task's document keeps it."""
    return v10.artifact(artifact)


def message_seq(task: Task) -> int | None:
    """Where in the log the message is that began the task; None until its turn runs."""
    return msgspec.convert(task.document, _Document).message_seq


def view(task: Task, history: tuple[Message, ...] = ()) -> TaskView:
    """A stored task as a client is shown it."""
    document = msgspec.convert(task.document, _Document)
    return TaskView(
        task.task_id,
        task.context_id,
        task.state,
        task.updated_at,
        _message(document.status_message) if document.status_message else None,
        tuple(Artifact(item.artifact_id, _parts(item.parts)) for item in document.artifacts),
        history,
    )


def _message(stored: _Stored) -> Message:
    return Message(
        stored.role,
        stored.message_id,
        _parts(stored.parts),
        stored.context_id,
        stored.task_id,
        stored.reference_task_ids,
        stored.metadata,
    )


def _parts(stored: list[v10.PartShape]) -> tuple[Part, ...]:
    return tuple(v10.part_in(part) for part in stored)
