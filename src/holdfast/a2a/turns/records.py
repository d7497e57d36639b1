"""What the package keeps in the store, and reads back: messages in the log, results in a task's document.

A stored part has the shape of version 1.0, whichever version it came in, and a file that was taken in also the digest
of its bytes. An artifact is a member of the document by itself, so that recording one more repeats none. Messages that
others appended to the log are read if they have our shape, and are otherwise none of our business.
"""

from typing import Any

import msgspec

from holdfast.a2a.protocol import v10
from holdfast.a2a.protocol.rpc import RpcError
from holdfast.a2a.protocol.wire import Artifact, Envelope, FilePart, Message, Part, Role, TaskView
from holdfast.a2a.turns.imported_messages import imported_message
from holdfast.core import Event, Task, TaskState

ARTIFACT = "artifact-"


class _StoredPart(v10.PartShape, rename="camel"):
    digest: str | None = None
    size: int | None = None


class _StoredEnvelope(msgspec.Struct, rename="camel"):
    metadata: dict[str, Any] | None = None
    output_modes: tuple[str, ...] = ()


class _Stored(msgspec.Struct, rename="camel"):
    role: Role
    parts: list[_StoredPart]
    message_id: str = ""
    context_id: str | None = None
    task_id: str | None = None
    reference_task_ids: tuple[str, ...] = ()
    metadata: dict[str, Any] | None = None
    extensions: tuple[str, ...] = ()
    request: _StoredEnvelope | None = None


class _StoredArtifact(msgspec.Struct, rename="camel"):
    artifact_id: str
    parts: list[_StoredPart]
    name: str | None = None
    description: str | None = None
    metadata: dict[str, Any] | None = None


class _Document(msgspec.Struct, rename="camel"):
    status_message: _Stored | None = None
    artifacts: list[_StoredArtifact] = []
    message_seq: int | None = None
    last_seq: int | None = None
    underway: bool | None = None
    plain: bool = False
    interrupted: bool = False
    tries: int = 0


def message_record(message: Message) -> dict[str, Any]:
    """A message as an event's payload."""
    record = v10.message(message) | {"role": message.role.value, "parts": [part_record(part) for part in message.parts]}
    if message.envelope is not None:
        asked = {"metadata": message.envelope.metadata, "outputModes": list(message.envelope.output_modes)}
        record["request"] = {name: value for name, value in asked.items() if value}
    return record


def message_in(event: Event) -> Message | None:
    """The message in an event, ours or one that was imported; None if it has another shape."""
    value = event.value()
    try:
        return _message(msgspec.convert(value, _Stored))
    except (msgspec.ValidationError, RpcError):
        return imported_message(value)


def part_record(part: Part) -> dict[str, Any]:
    """A part as it is kept."""
    record = v10.part(part)
    if isinstance(part, FilePart) and part.digest is not None:
        record |= {"digest": part.digest, "size": part.size}
    return record


def parts_in(stored: list[dict[str, Any]]) -> tuple[Part, ...]:
    """Parts that were kept; a ValidationError or RpcError if they have another shape."""
    return _parts(msgspec.convert(stored, list[_StoredPart]))


def artifact_change(task: Task, artifact: Artifact) -> dict[str, Any]:
    """One more artifact as a change of the task's document; it replaces one with the same id."""
    numbered = [name for name in task.document if name.startswith(ARTIFACT)]
    same = [name for name in numbered if task.document[name]["artifactId"] == artifact.artifact_id]
    record = v10.artifact(artifact) | {"parts": [part_record(part) for part in artifact.parts]}
    return {(same or [f"{ARTIFACT}{len(numbered):06}"])[0]: record}


def span(task: Task) -> tuple[int, int] | None:
    """Where in the log the messages that it was sent are, from the first to the last; None until it runs."""
    document = _document(task)
    if document.message_seq is None:
        return None
    return document.message_seq, document.last_seq or document.message_seq


def at_work(task: Task, message_seq: int) -> dict[str, Any]:
    """That a turn has begun to answer the message at a seq, as a change of the task's document."""
    first = span(task)
    return {"messageSeq": first[0] if first else message_seq, "lastSeq": message_seq, "underway": True}


AT_REST: dict[str, Any] = {"underway": False}
"""That a turn has answered its message, as a change of the document of a task that may go on."""
NO_STATUS: dict[str, Any] = {"statusMessage": None}
"""That what the status said is no longer so, as a change of the task's document."""
FIRST_TRY: dict[str, Any] = NO_STATUS | {"tries": 0}
"""That a turn is begun for the first time, as a change of the task's document."""
INTERRUPTED: dict[str, Any] = {"interrupted": True}
"""That a turn was broken off and nobody meant it to be, as a change of the task's document."""


def underway(task: Task) -> bool:
    """Whether a turn was begun and has not come to its end: else the task waits to begin, or to go on."""
    begun = _document(task).underway
    return task.state is TaskState.WORKING if begun is None else begun


def interrupted(task: Task) -> bool:
    """Whether the task ended because its turn was broken off, by a death or a stop of its process."""
    return _document(task).interrupted


def tries(task: Task) -> int:
    """How many times its turn was begun again after a process died in it."""
    return _document(task).tries


def reply(task: Task) -> Message | None:
    """The message that a task was answered with, if it was answered with a plain one."""
    document = _document(task)
    return _message(document.status_message) if document.plain and document.status_message else None


def view(task: Task, history: tuple[Message, ...] = ()) -> TaskView:
    """A stored task as a client is shown it."""
    document = _document(task)
    return TaskView(
        task.task_id,
        task.context_id,
        task.state,
        task.updated_at,
        _message(document.status_message) if document.status_message else None,
        artifacts(task),
        history,
    )


def artifacts(task: Task) -> tuple[Artifact, ...]:
    """The task's artifacts, in the order in which they were recorded."""
    numbered = [task.document[name] for name in sorted(task.document) if name.startswith(ARTIFACT)]
    stored = [*_document(task).artifacts, *msgspec.convert(numbered, list[_StoredArtifact])]
    return tuple(
        Artifact(_parts(item.parts), item.artifact_id, item.name, item.description, item.metadata) for item in stored
    )


def _document(task: Task) -> _Document:
    return msgspec.convert(task.document, _Document)


def _message(stored: _Stored) -> Message:
    return Message(
        stored.role,
        stored.message_id,
        _parts(stored.parts),
        stored.context_id,
        stored.task_id,
        stored.reference_task_ids,
        stored.metadata,
        stored.extensions,
        None if stored.request is None else Envelope(stored.request.metadata, stored.request.output_modes),
    )


def _parts(stored: list[_StoredPart]) -> tuple[Part, ...]:
    return tuple(_part(part) for part in stored)


def _part(stored: _StoredPart) -> Part:
    if stored.digest is None:
        return v10.part_in(stored)
    return FilePart(None, stored.url, stored.filename, stored.media_type, stored.metadata, stored.digest, stored.size)
