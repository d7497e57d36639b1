"""A2A 1.0 on the wire: ProtoJSON, where a member's name says what it is, null means absent, and states shout.

An enum may be given by its number, and a number as text.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from holdfast.a2a.protocol.documents import DocumentWriter, push_members, without_none
from holdfast.a2a.protocol.rpc import invalid_params
from holdfast.a2a.protocol.shapes import (
    ConfigurationShape,
    Count,
    MessageShape,
    Name,
    PushShape,
    TaskShape,
    check_media_type,
    envelope_in,
    message_in,
    moment,
    name_in,
    push_in,
    push_request_in,
)
from holdfast.a2a.protocol.shapes import read_proto_json as read
from holdfast.a2a.protocol.wire import (
    ArtifactUpdate,
    DataPart,
    FilePart,
    ListRequest,
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
    TaskPage,
    TaskRequest,
    TaskView,
    TextPart,
)
from holdfast.core import TaskState

VERSION = "1.0"

OPERATIONS = {
    "SendMessage": Operation.SEND,
    "SendStreamingMessage": Operation.STREAM,
    "GetTask": Operation.GET,
    "ListTasks": Operation.LIST,
    "CancelTask": Operation.CANCEL,
    "SubscribeToTask": Operation.SUBSCRIBE,
    "CreateTaskPushNotificationConfig": Operation.PUSH_SET,
    "GetTaskPushNotificationConfig": Operation.PUSH_GET,
    "ListTaskPushNotificationConfigs": Operation.PUSH_LIST,
    "DeleteTaskPushNotificationConfig": Operation.PUSH_DELETE,
    "GetExtendedAgentCard": Operation.EXTENDED_CARD,
}

NOTHING: dict[str, Any] = {}
"""The result of what has none."""

ROLES = {Role.USER: "ROLE_USER", Role.AGENT: "ROLE_AGENT"}
STATES = {state: "TASK_STATE_" + state.value.upper().replace("-", "_") for state in TaskState}
STATES_BY_NAME = {name: state for state, name in STATES.items()}
STATES_BY_NUMBER = [
    "TASK_STATE_" + name
    for name in (
        *("UNSPECIFIED", "SUBMITTED", "WORKING", "COMPLETED", "FAILED"),
        *("CANCELED", "INPUT_REQUIRED", "REJECTED", "AUTH_REQUIRED"),
    )
]
ANY_STATE = "TASK_STATE_UNSPECIFIED"
NEVER_HERE = "TASK_STATE_AUTH_REQUIRED"
_USUAL = str.maketrans("-_", "+/")
END_OF_TIME = moment("9999-12-31T23:59:59Z")


class PartShape(msgspec.Struct, rename="camel"):
    """A part as it comes: one of text, raw, url and data."""

    text: str | None = None
    raw: str | None = None
    url: str | None = None
    data: Any | UnsetType = UNSET  # null is a value here, as nowhere else
    filename: str | None = None
    media_type: str | None = None
    metadata: dict[str, Any] | None = None


class _Message(MessageShape, kw_only=True):
    role: Literal["ROLE_USER", 1]
    parts: list[PartShape]


class _Authentication(msgspec.Struct):
    scheme: str | None = None
    credentials: str | None = None


class _Push(PushShape, kw_only=True):
    authentication: _Authentication | None = None


class _PushOfTask(_Push, kw_only=True):
    task_id: Name


class _PushQuestion(msgspec.Struct, rename="camel"):
    task_id: Name
    id: str | None = None


class _Configuration(ConfigurationShape, kw_only=True):
    return_immediately: bool | None = None
    task_push_notification_config: _Push | None = None


class _Send(msgspec.Struct):
    message: _Message
    configuration: _Configuration | None = None
    metadata: dict[str, Any] | None = None


class _List(msgspec.Struct, rename="camel"):
    context_id: str | None = None
    status: str | int | None = None
    page_size: Annotated[int, msgspec.Meta(ge=1, le=100)] | None = None
    page_token: str | None = None
    history_length: Count | None = None
    status_timestamp_after: str | None = None
    include_artifacts: bool | None = None


def send_request(params: dict[str, Any]) -> SendRequest:
    """The params of `SendMessage` and `SendStreamingMessage`."""
    asked = read(params, _Send)
    configuration = asked.configuration or _Configuration()
    push = configuration.task_push_notification_config
    for piece in asked.message.parts:
        check_media_type(piece.media_type)
        piece.raw = piece.raw and _base64(piece.raw)
    parts = tuple(part_in(piece) for piece in asked.message.parts)
    return SendRequest(
        message_in(asked.message, parts, envelope_in(asked.metadata, configuration)),
        not configuration.return_immediately,
        configuration.history_length,
        None if push is None else _push(push),
    )


def task_request(params: dict[str, Any]) -> TaskRequest:
    """The params of `GetTask`, `CancelTask` and `SubscribeToTask`."""
    asked = read(params, TaskShape)
    return TaskRequest(asked.id, asked.history_length)


def list_request(params: dict[str, Any]) -> ListRequest:
    """The params of `ListTasks`."""
    asked = read(params, _List)
    since = None if asked.status_timestamp_after is None else moment(asked.status_timestamp_after)
    state, wanted = None, asked.status
    if isinstance(wanted, int) and 0 <= wanted < len(STATES_BY_NUMBER):
        wanted = STATES_BY_NUMBER[wanted]
    if wanted == NEVER_HERE:  # a state that A2A has and our tasks are never in: nothing is found
        since = END_OF_TIME
    elif wanted not in (None, ANY_STATE):
        if wanted not in STATES_BY_NAME:
            raise invalid_params(f"{wanted!r:.80} is not the state of a task - at `$.status`")
        state = STATES_BY_NAME[wanted]
    return ListRequest(
        name_in(asked.context_id, "a context id"),
        state,
        since,
        asked.page_size or 50,
        asked.page_token or "",
        asked.history_length,
        bool(asked.include_artifacts),
    )


def push_set(params: dict[str, Any]) -> tuple[str, PushConfig]:
    """The params of `CreateTaskPushNotificationConfig`: a task's id, and where its news are to go."""
    asked = read(params, _PushOfTask)
    return asked.task_id, _push(asked)


def push_request(params: dict[str, Any]) -> PushRequest:
    """The params of the other methods about push notifications."""
    asked = read(params, _PushQuestion)
    return push_request_in(asked.task_id, asked.id)


def part_in(asked: PartShape) -> Part:
    """The part that was sent; RpcError if it is none, or several."""
    contents = [asked.text is not None, asked.raw is not None, asked.url is not None, asked.data is not UNSET]
    if sum(contents) != 1:
        raise invalid_params("a part has exactly one of text, raw, url and data")
    media = asked.media_type or None
    if asked.text is not None:
        return TextPart(asked.text, asked.metadata, media)
    if asked.data is not UNSET:
        return DataPart(asked.data, asked.metadata, media)
    return FilePart(asked.raw, asked.url, asked.filename, media, asked.metadata)


def send_result(item: Sent) -> dict[str, Any]:
    """The result of `SendMessage`."""
    return news(item)


def news(item: News) -> dict[str, Any]:
    """An item of a stream."""
    match item:
        case TaskView():
            return {"task": task(item)}
        case Message():
            return {"message": message(item)}
        case StatusUpdate():
            return {"statusUpdate": _writer.update(item, "statusUpdate") | {"status": _writer.status(item)}}
        case ArtifactUpdate():
            document = _writer.update(item, "artifactUpdate") | {"artifact": artifact(item.artifact)}
            if item.append:
                document["append"] = True
            if item.last_chunk:
                document["lastChunk"] = True
            return {"artifactUpdate": document}


def push_document(item: News, view: TaskView) -> dict[str, Any]:
    """What is posted of a piece of news: the piece itself."""
    return news(item)


def page(found: TaskPage) -> dict[str, Any]:
    """The result of `ListTasks`: every member is there, whatever its value."""
    return {
        "tasks": [task(view) for view in found.tasks],
        "nextPageToken": found.next_page_token,
        "pageSize": found.page_size,
        "totalSize": found.total_size,
    }


def push_config(task_id: str, config: PushConfig) -> dict[str, Any]:
    """Where a task's news are posted."""
    return {"taskId": task_id} | push_members(task_id, config, {"scheme": config.scheme})


def push_configs(task_id: str, configs: list[PushConfig]) -> dict[str, Any]:
    """The result of `ListTaskPushNotificationConfigs`."""
    return {"configs": [push_config(task_id, config) for config in configs]}


def part(piece: Part) -> dict[str, Any]:
    members: dict[str, Any]
    match piece:
        case TextPart():
            members = {"text": piece.text}
        case DataPart():
            members = {"data": piece.data}
        case FilePart():
            members = without_none({"raw": piece.raw, "url": piece.url, "filename": piece.filename})
    return members | without_none({"mediaType": piece.media_type, "metadata": piece.metadata})


_writer = DocumentWriter(part, ROLES, STATES)
task, message, artifact = _writer.task, _writer.message, _writer.artifact


def _push(asked: _Push) -> PushConfig:
    authentication = asked.authentication or _Authentication()
    return push_in(asked, authentication.scheme, authentication.credentials, VERSION)


def _base64(raw: str) -> str:
    """Bytes in the usual spelling of base64: ProtoJSON allows the one for URLs too, and either without its end."""
    return raw.translate(_USUAL) + "=" * (-len(raw) % 4)
