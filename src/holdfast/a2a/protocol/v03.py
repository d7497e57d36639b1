"""A2A 0.3 on the wire: a `kind` in every object, states in small letters, a result that is the bare task.

Data of this version is an object: any other value is in one, under `value`, and the part's metadata says so.
"""

from typing import Any, Literal

import msgspec

from holdfast.a2a.protocol.documents import DocumentWriter, push_members, without_none
from holdfast.a2a.protocol.rpc import invalid_params
from holdfast.a2a.protocol.shapes import (
    ConfigurationShape,
    MessageShape,
    Name,
    PushShape,
    TaskShape,
    check_media_type,
    envelope_in,
    message_in,
    push_in,
    push_request_in,
    read,
)
from holdfast.a2a.protocol.wire import (
    ArtifactUpdate,
    DataPart,
    FilePart,
    Message,
    News,
    Operation,
    Part,
    PushConfig,
    PushRequest,
    Role,
    SendRequest,
    Sent,
    StatusUpdate,
    TaskRequest,
    TaskView,
    TextPart,
)
from holdfast.core import TaskState

VERSION = "0.3"

OPERATIONS = {
    "message/send": Operation.SEND,
    "message/stream": Operation.STREAM,
    "tasks/get": Operation.GET,
    "tasks/cancel": Operation.CANCEL,
    "tasks/resubscribe": Operation.SUBSCRIBE,
    "tasks/pushNotificationConfig/set": Operation.PUSH_SET,
    "tasks/pushNotificationConfig/get": Operation.PUSH_GET,
    "tasks/pushNotificationConfig/list": Operation.PUSH_LIST,
    "tasks/pushNotificationConfig/delete": Operation.PUSH_DELETE,
    "agent/getAuthenticatedExtendedCard": Operation.EXTENDED_CARD,
}

NOTHING = None
"""The result of what has none."""

BOXED = "data_part_compat"
"""What the metadata of a part says whose data is no object."""


class _Text(msgspec.Struct, tag_field="kind", tag="text"):
    text: str
    metadata: dict[str, Any] | None = None


class _Data(msgspec.Struct, tag_field="kind", tag="data"):
    data: dict[str, Any]
    metadata: dict[str, Any] | None = None


class _Contents(msgspec.Struct):
    bytes: str | None = None
    uri: str | None = None
    name: str | None = None
    mimeType: str | None = None  # noqa: N815


class _File(msgspec.Struct, tag_field="kind", tag="file"):
    file: _Contents
    metadata: dict[str, Any] | None = None


class _Message(MessageShape, kw_only=True):
    role: Literal["user"]
    parts: list[_Text | _Data | _File]
    kind: Literal["message"] = "message"


class _Authentication(msgspec.Struct):
    schemes: list[str] | None = None
    credentials: str | None = None


class _Push(PushShape, kw_only=True):
    authentication: _Authentication | None = None


class _PushOfTask(msgspec.Struct, rename="camel"):
    task_id: Name
    push_notification_config: _Push


class _PushQuestion(msgspec.Struct, rename="camel"):
    id: Name
    push_notification_config_id: str | None = None


class _Configuration(ConfigurationShape, kw_only=True):
    blocking: bool | None = None
    push_notification_config: _Push | None = None


class _Send(msgspec.Struct):
    message: _Message
    configuration: _Configuration | None = None
    metadata: dict[str, Any] | None = None


def send_request(params: dict[str, Any]) -> SendRequest:
    """The params of `message/send` and `message/stream`."""
    asked = read(params, _Send)
    configuration = asked.configuration or _Configuration()
    push = configuration.push_notification_config
    parts = tuple(_part_in(piece) for piece in asked.message.parts)
    return SendRequest(
        message_in(asked.message, parts, envelope_in(asked.metadata, configuration)),
        configuration.blocking is not False,
        configuration.history_length,
        None if push is None else _push(push),
    )


def task_request(params: dict[str, Any]) -> TaskRequest:
    """The params of `tasks/get`, `tasks/cancel` and `tasks/resubscribe`, which ends as the stream does that it
    resumes: when the task rests."""
    asked = read(params, TaskShape)
    return TaskRequest(asked.id, asked.history_length, to_its_end=False)


def push_set(params: dict[str, Any]) -> tuple[str, PushConfig]:
    """The params of `tasks/pushNotificationConfig/set`: a task's id, and where its news are to go."""
    asked = read(params, _PushOfTask)
    return asked.task_id, _push(asked.push_notification_config)


def push_request(params: dict[str, Any]) -> PushRequest:
    """The params of the other methods about push notifications."""
    asked = read(params, _PushQuestion)
    return push_request_in(asked.id, asked.push_notification_config_id)


def send_result(item: Sent) -> dict[str, Any]:
    """The result of `message/send`."""
    return news(item)


def news(item: News) -> dict[str, Any]:
    """An item of a stream."""
    match item:
        case TaskView():
            return task(item)
        case Message():
            return message(item)
        case StatusUpdate():
            update = _writer.update(item, "status-update")
            return update | {"status": _writer.status(item), "final": item.final}
        case ArtifactUpdate():
            members = {"artifact": artifact(item.artifact), "append": item.append, "lastChunk": item.last_chunk}
            return _writer.update(item, "artifact-update") | members


def push_document(item: News, view: TaskView) -> dict[str, Any]:
    """What is posted of a piece of news: the task as it then stands."""
    return task(view)


def push_config(task_id: str, config: PushConfig) -> dict[str, Any]:
    """Where a task's news are posted."""
    members = push_members(task_id, config, {"schemes": [config.scheme]})
    return {"taskId": task_id, "pushNotificationConfig": members}


def push_configs(task_id: str, configs: list[PushConfig]) -> list[dict[str, Any]]:
    """The result of `tasks/pushNotificationConfig/list`."""
    return [push_config(task_id, config) for config in configs]


def part(piece: Part) -> dict[str, Any]:
    document: dict[str, Any]
    metadata = piece.metadata
    match piece:
        case TextPart():
            document = {"kind": "text", "text": piece.text}
        case DataPart() if isinstance(piece.data, dict):
            document = {"kind": "data", "data": piece.data}
        case DataPart():
            document = {"kind": "data", "data": {"value": piece.data}}
            metadata = (metadata or {}) | {BOXED: True}
        case FilePart():
            members = {
                "bytes": piece.raw,
                "uri": piece.url,
                "name": piece.filename,
                "mimeType": piece.media_type,
            }
            document = {"kind": "file", "file": without_none(members)}
    return document if metadata is None else document | {"metadata": metadata}


_writer = DocumentWriter(
    part, {role: role.value for role in Role}, {state: state.value for state in TaskState}, kinds=True
)
task, message, artifact = _writer.task, _writer.message, _writer.artifact


def _part_in(asked: _Text | _Data | _File) -> Part:
    match asked:
        case _Text():
            return TextPart(asked.text, asked.metadata)
        case _Data(data={"value": value}, metadata={"data_part_compat": True}):
            rest = {name: kept for name, kept in (asked.metadata or {}).items() if name != BOXED}
            return DataPart(value, rest or None)
        case _Data():
            return DataPart(asked.data, asked.metadata)
        case _File(file=file):
            if (file.bytes is None) == (file.uri is None):
                raise invalid_params("a file has either bytes or a uri")
            check_media_type(file.mimeType)
            return FilePart(file.bytes, file.uri, file.name, file.mimeType or None, asked.metadata)


def _push(asked: _Push) -> PushConfig:
    authentication = asked.authentication or _Authentication()
    schemes = authentication.schemes or [""]
    return push_in(asked, schemes[0], authentication.credentials, VERSION)
