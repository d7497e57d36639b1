"""A2A 0.3 on the wire: a `kind` in every object, states in small letters, a result that is the bare task."""

from typing import Any, Literal

import msgspec

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
from holdfast.core.clock import to_iso

OPERATIONS = {
    "message/send": Operation.SEND,
    "message/stream": Operation.STREAM,
    "tasks/get": Operation.GET,
    "tasks/cancel": Operation.CANCEL,
    "tasks/resubscribe": Operation.STREAM,
    "tasks/pushNotificationConfig/set": Operation.PUSH,
    "tasks/pushNotificationConfig/get": Operation.PUSH,
    "tasks/pushNotificationConfig/list": Operation.PUSH,
    "tasks/pushNotificationConfig/delete": Operation.PUSH,
    "agent/getAuthenticatedExtendedCard": Operation.EXTENDED_CARD,
}


class _Text(msgspec.Struct, tag_field="kind", tag="text"):
    text: str
    metadata: dict[str, Any] | None = None


class _Data(msgspec.Struct, tag_field="kind", tag="data"):
    data: Any
    metadata: dict[str, Any] | None = None


class _Contents(msgspec.Struct):
    bytes: str | None = None
    uri: str | None = None
    name: str | None = None
    mimeType: str | None = None  # noqa: N815


class _File(msgspec.Struct, tag_field="kind", tag="file"):
    file: _Contents
    metadata: dict[str, Any] | None = None


class _Message(msgspec.Struct, rename="camel"):
    role: Literal["user"]
    message_id: Name
    parts: list[_Text | _Data | _File]
    kind: Literal["message"] = "message"
    context_id: str | None = None
    task_id: str | None = None
    reference_task_ids: list[str] | None = None
    metadata: dict[str, Any] | None = None


class _Configuration(msgspec.Struct, rename="camel"):
    blocking: bool | None = None
    history_length: Count | None = None


class _Send(msgspec.Struct):
    message: _Message
    configuration: _Configuration | None = None


class _Task(msgspec.Struct, rename="camel"):
    id: Name
    history_length: Count | None = None


def send_request(params: dict[str, Any]) -> SendRequest:
    """The params of `message/send`."""
    asked = read(params, _Send)
    configuration = asked.configuration or _Configuration()
    return SendRequest(_message(asked.message), configuration.blocking is not False, configuration.history_length)


def task_request(params: dict[str, Any]) -> TaskRequest:
    """The params of `tasks/get` and `tasks/cancel`."""
    asked = read(params, _Task)
    return TaskRequest(asked.id, asked.history_length)


def sent(view: TaskView) -> dict[str, Any]:
    """The result of `message/send`."""
    return task(view)


def task(view: TaskView) -> dict[str, Any]:
    """A task."""
    status: dict[str, Any] = {"state": view.state.value, "timestamp": to_iso(view.updated_at)}
    if view.message is not None:
        status["message"] = message(view.message)
    document: dict[str, Any] = {"kind": "task", "id": view.task_id, "contextId": view.context_id, "status": status}
    if view.artifacts:
        document["artifacts"] = [artifact(item) for item in view.artifacts]
    if view.history:
        document["history"] = [message(item) for item in view.history]
    return document


def message(item: Message) -> dict[str, Any]:
    """A message."""
    document: dict[str, Any] = {
        "kind": "message",
        "messageId": item.message_id,
        "role": item.role.value,
        "contextId": item.context_id,
        "taskId": item.task_id,
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
    document: dict[str, Any]
    match piece:
        case TextPart():
            document = {"kind": "text", "text": piece.text}
        case DataPart():
            document = {"kind": "data", "data": piece.data}
        case FilePart():
            members = {
                "bytes": piece.raw,
                "uri": piece.url,
                "name": piece.filename,
                "mimeType": piece.media_type,
            }
            document = {"kind": "file", "file": {name: value for name, value in members.items() if value is not None}}
    if piece.metadata is not None:
        document["metadata"] = piece.metadata
    return document


def _message(asked: _Message) -> Message:
    if not asked.parts:
        raise RpcError(INVALID_PARAMS, "Invalid params: a message has at least one part - at `$.message.parts`")
    return Message(
        Role.USER,
        asked.message_id,
        tuple(_part(piece) for piece in asked.parts),
        asked.context_id or None,
        asked.task_id or None,
        tuple(asked.reference_task_ids or ()),
        asked.metadata,
    )


def _part(asked: _Text | _Data | _File) -> Part:
    match asked:
        case _Text():
            return TextPart(asked.text, asked.metadata)
        case _Data():
            return DataPart(asked.data, asked.metadata)
        case _File(file=file):
            if (file.bytes is None) == (file.uri is None):
                raise RpcError(INVALID_PARAMS, "Invalid params: a file has either bytes or a uri")
            return FilePart(file.bytes, file.uri, file.name, file.mimeType, asked.metadata)
