"""A2A 1.0 on the wire: ProtoJSON, where a member's name says what it is, null means absent, and states shout."""

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from holdfast.a2a.rpc import INVALID_PARAMS, RpcError
from holdfast.a2a.shapes import Count, Name, read
from holdfast.a2a.wire import (
    Artifact,
    DataPart,
    FilePart,
    Message,
    Operation,
    Part,
    Role,
    SendRequest,
    TaskRequest,
    TaskView,
    TextPart,
)
from holdfast.core import TaskState
from holdfast.core.clock import to_iso

OPERATIONS = {
    "SendMessage": Operation.SEND,
    "SendStreamingMessage": Operation.STREAM,
    "GetTask": Operation.GET,
    "ListTasks": Operation.LIST,
    "CancelTask": Operation.CANCEL,
    "SubscribeToTask": Operation.STREAM,
    "CreateTaskPushNotificationConfig": Operation.PUSH,
    "GetTaskPushNotificationConfig": Operation.PUSH,
    "ListTaskPushNotificationConfigs": Operation.PUSH,
    "DeleteTaskPushNotificationConfig": Operation.PUSH,
    "GetExtendedAgentCard": Operation.EXTENDED_CARD,
}

STATES = {state: "TASK_STATE_" + state.value.upper().replace("-", "_") for state in TaskState}
ROLES = {Role.USER: "ROLE_USER", Role.AGENT: "ROLE_AGENT"}


class PartShape(msgspec.Struct, rename="camel"):
    """A part as it comes: one of text, raw, url and data."""

    text: str | None = None
    raw: str | None = None
    url: str | None = None
    data: Any | UnsetType = UNSET  # null is a value here, as nowhere else
    filename: str | None = None
    media_type: str | None = None
    metadata: dict[str, Any] | None = None


class _Message(msgspec.Struct, rename="camel"):
    role: Literal["ROLE_USER"]
    message_id: Name
    parts: list[PartShape]
    context_id: str | None = None
    task_id: str | None = None
    reference_task_ids: list[str] | None = None
    metadata: dict[str, Any] | None = None


class _Configuration(msgspec.Struct, rename="camel"):
    return_immediately: bool | None = None
    history_length: Count | None = None


class _Send(msgspec.Struct):
    message: _Message
    configuration: _Configuration | None = None


class _Task(msgspec.Struct, rename="camel"):
    id: Name
    history_length: Count | None = None


def send_request(params: dict[str, Any]) -> SendRequest:
    """The params of `SendMessage`."""
    asked = read(params, _Send)
    configuration = asked.configuration or _Configuration()
    return SendRequest(_message(asked.message), not configuration.return_immediately, configuration.history_length)


def task_request(params: dict[str, Any]) -> TaskRequest:
    """The params of `GetTask` and `CancelTask`."""
    asked = read(params, _Task)
    return TaskRequest(asked.id, asked.history_length)


def sent(view: TaskView) -> dict[str, Any]:
    """The result of `SendMessage`."""
    return {"task": task(view)}


def task(view: TaskView) -> dict[str, Any]:
    """A task."""
    status: dict[str, Any] = {"state": STATES[view.state], "timestamp": to_iso(view.updated_at)}
    if view.message is not None:
        status["message"] = message(view.message)
    document: dict[str, Any] = {"id": view.task_id, "contextId": view.context_id, "status": status}
    if view.artifacts:
        document["artifacts"] = [artifact(item) for item in view.artifacts]
    if view.history:
        document["history"] = [message(item) for item in view.history]
    return document


def message(item: Message) -> dict[str, Any]:
    """A message."""
    document: dict[str, Any] = {
        "messageId": item.message_id,
        "contextId": item.context_id,
        "taskId": item.task_id,
        "role": ROLES[item.role],
        "parts": [part(piece) for piece in item.parts],
    }
    if item.reference_task_ids:
        document["referenceTaskIds"] = list(item.reference_task_ids)
    if item.metadata is not None:
        document["metadata"] = item.metadata
    return document


def artifact(item: Artifact) -> dict[str, Any]:
    """An artifact."""
    return {"artifactId": item.artifact_id, "parts": [part(piece) for piece in item.parts]}


def part(piece: Part) -> dict[str, Any]:
    """A part."""
    members: dict[str, Any]
    match piece:
        case TextPart():
            members = {"text": piece.text}
        case DataPart():
            members = {"data": piece.data}
        case FilePart():
            named = {
                "raw": piece.raw,
                "url": piece.url,
                "filename": piece.filename,
                "mediaType": piece.media_type,
            }
            members = {name: value for name, value in named.items() if value is not None}
    if piece.metadata is not None:
        members["metadata"] = piece.metadata
    return members


def _message(asked: _Message) -> Message:
    if not asked.parts:
        raise RpcError(INVALID_PARAMS, "Invalid params: a message has at least one part - at `$.message.parts`")
    return Message(
        Role.USER,
        asked.message_id,
        tuple(part_in(piece) for piece in asked.parts),
        asked.context_id or None,
        asked.task_id or None,
        tuple(asked.reference_task_ids or ()),
        asked.metadata,
    )


def part_in(asked: PartShape) -> Part:
    """The part that was sent; RpcError if it is none, or several."""
    contents = [asked.text is not None, asked.raw is not None, asked.url is not None, asked.data is not UNSET]
    if sum(contents) != 1:
        raise RpcError(INVALID_PARAMS, "Invalid params: a part has exactly one of text, raw, url and data")
    if asked.text is not None:
        return TextPart(asked.text, asked.metadata)
    if asked.data is not UNSET:
        return DataPart(asked.data, asked.metadata)
    return FilePart(asked.raw, asked.url, asked.filename, asked.media_type, asked.metadata)
