"""Requests of A2A 1.0, read: ProtoJSON, where a member's name says what it is and null means absent.

An enum may be given by its number, and a number as text.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from holdfast.a2a.protocol.shapes import Address, Count, Name, check_media_type, invalid, moment, name_in
from holdfast.a2a.protocol.shapes import read_proto_json as read
from holdfast.a2a.protocol.wire import (
    DataPart,
    Envelope,
    FilePart,
    ListRequest,
    Message,
    Part,
    PushConfig,
    PushRequest,
    Role,
    SendRequest,
    TaskRequest,
    TextPart,
)
from holdfast.core import TaskState

VERSION = "1.0"

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


class _Message(msgspec.Struct, rename="camel"):
    role: Literal["ROLE_USER", 1]
    message_id: Name
    parts: list[PartShape]
    context_id: str | None = None
    task_id: str | None = None
    reference_task_ids: list[str] | None = None
    metadata: dict[str, Any] | None = None
    extensions: list[str] | None = None


class _Authentication(msgspec.Struct):
    scheme: str | None = None
    credentials: str | None = None


class _Push(msgspec.Struct):
    url: Address
    id: str | None = None
    token: str | None = None
    authentication: _Authentication | None = None


class _PushOfTask(_Push, rename="camel", kw_only=True):
    task_id: Name


class _PushAsked(msgspec.Struct, rename="camel"):
    task_id: Name
    id: str | None = None


class _Configuration(msgspec.Struct, rename="camel"):
    accepted_output_modes: list[str] | None = None
    return_immediately: bool | None = None
    history_length: Count | None = None
    task_push_notification_config: _Push | None = None


class _Send(msgspec.Struct):
    message: _Message
    configuration: _Configuration | None = None
    metadata: dict[str, Any] | None = None


class _Task(msgspec.Struct, rename="camel"):
    id: Name
    history_length: Count | None = None


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
    return SendRequest(
        _message(asked.message, _envelope(asked)),
        not configuration.return_immediately,
        configuration.history_length,
        None if push is None else _push(push),
    )


def task_request(params: dict[str, Any]) -> TaskRequest:
    """The params of `GetTask`, `CancelTask` and `SubscribeToTask`."""
    asked = read(params, _Task)
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
            raise invalid(f"{wanted!r:.80} is not the state of a task - at `$.status`")
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
    asked = read(params, _PushAsked)
    return PushRequest(asked.task_id, name_in(asked.id, "the id of a push config"))


def _push(asked: _Push) -> PushConfig:
    authentication = asked.authentication or _Authentication()
    if authentication.credentials and not authentication.scheme:
        raise invalid("credentials need the scheme by which they are sent")
    return PushConfig(
        asked.url,
        asked.id or None,
        asked.token or None,
        authentication.scheme or None,
        authentication.credentials or None,
        VERSION,
    )


def _envelope(asked: _Send) -> Envelope | None:
    modes = asked.configuration.accepted_output_modes if asked.configuration else None
    return Envelope(asked.metadata, tuple(modes or ())) if asked.metadata or modes else None


def _message(asked: _Message, envelope: Envelope | None) -> Message:
    if not asked.parts:
        raise invalid("a message has at least one part - at `$.message.parts`")
    for piece in asked.parts:
        check_media_type(piece.media_type)
        piece.raw = piece.raw and _base64(piece.raw)
    return Message(
        Role.USER,
        asked.message_id,
        tuple(part_in(piece) for piece in asked.parts),
        asked.context_id or None,
        asked.task_id or None,
        tuple(asked.reference_task_ids or ()),
        asked.metadata,
        tuple(asked.extensions or ()),
        envelope,
    )


def _base64(raw: str) -> str:
    """Bytes in the usual spelling of base64: ProtoJSON allows the one for URLs too, and either without its end."""
    return raw.translate(_USUAL) + "=" * (-len(raw) % 4)


def part_in(asked: PartShape) -> Part:
    """The part that was sent; RpcError if it is none, or several."""
    contents = [asked.text is not None, asked.raw is not None, asked.url is not None, asked.data is not UNSET]
    if sum(contents) != 1:
        raise invalid("a part has exactly one of text, raw, url and data")
    media = asked.media_type or None
    if asked.text is not None:
        return TextPart(asked.text, asked.metadata, media)
    if asked.data is not UNSET:
        return DataPart(asked.data, asked.metadata, media)
    return FilePart(asked.raw, asked.url, asked.filename, media, asked.metadata)
