"""Requests of A2A 0.3, read: every object says its kind, and a part that is no object says so in its metadata."""

from typing import Any, Literal

import msgspec

from holdfast.a2a.protocol.shapes import Address, Count, Name, check_media_type, invalid, name_in, read
from holdfast.a2a.protocol.wire import (
    DataPart,
    Envelope,
    FilePart,
    Message,
    Part,
    PushConfig,
    PushRequest,
    Role,
    SendRequest,
    TaskRequest,
    TextPart,
)

VERSION = "0.3"

BOXED = "data_part_compat"
"""Data of this version is an object: any other value is in one, under `value`, and the part's metadata says so."""


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


class _Message(msgspec.Struct, rename="camel"):
    role: Literal["user"]
    message_id: Name
    parts: list[_Text | _Data | _File]
    kind: Literal["message"] = "message"
    context_id: str | None = None
    task_id: str | None = None
    reference_task_ids: list[str] | None = None
    metadata: dict[str, Any] | None = None
    extensions: list[str] | None = None


class _Authentication(msgspec.Struct):
    schemes: list[str] | None = None
    credentials: str | None = None


class _Push(msgspec.Struct):
    url: Address
    id: str | None = None
    token: str | None = None
    authentication: _Authentication | None = None


class _PushOfTask(msgspec.Struct, rename="camel"):
    task_id: Name
    push_notification_config: _Push


class _PushAsked(msgspec.Struct, rename="camel"):
    id: Name
    push_notification_config_id: str | None = None


class _Configuration(msgspec.Struct, rename="camel"):
    accepted_output_modes: list[str] | None = None
    blocking: bool | None = None
    history_length: Count | None = None
    push_notification_config: _Push | None = None


class _Send(msgspec.Struct):
    message: _Message
    configuration: _Configuration | None = None
    metadata: dict[str, Any] | None = None


class _Task(msgspec.Struct, rename="camel"):
    id: Name
    history_length: Count | None = None


def send_request(params: dict[str, Any]) -> SendRequest:
    """The params of `message/send` and `message/stream`."""
    asked = read(params, _Send)
    configuration = asked.configuration or _Configuration()
    push = configuration.push_notification_config
    return SendRequest(
        _message(asked.message, _envelope(asked)),
        configuration.blocking is not False,
        configuration.history_length,
        None if push is None else _push(push),
    )


def task_request(params: dict[str, Any]) -> TaskRequest:
    """The params of `tasks/get`, `tasks/cancel` and `tasks/resubscribe`, which ends as the stream does that it
    resumes: when the task rests."""
    asked = read(params, _Task)
    return TaskRequest(asked.id, asked.history_length, to_its_end=False)


def push_set(params: dict[str, Any]) -> tuple[str, PushConfig]:
    """The params of `tasks/pushNotificationConfig/set`: a task's id, and where its news are to go."""
    asked = read(params, _PushOfTask)
    return asked.task_id, _push(asked.push_notification_config)


def push_request(params: dict[str, Any]) -> PushRequest:
    """The params of the other methods about push notifications."""
    asked = read(params, _PushAsked)
    return PushRequest(asked.id, name_in(asked.push_notification_config_id, "the id of a push config"))


def _push(asked: _Push) -> PushConfig:
    authentication = asked.authentication or _Authentication()
    schemes = authentication.schemes or [""]
    if authentication.credentials and not schemes[0]:
        raise invalid("credentials need the scheme by which they are sent")
    return PushConfig(
        asked.url,
        asked.id or None,
        asked.token or None,
        schemes[0] or None,
        authentication.credentials or None,
        VERSION,
    )


def _envelope(asked: _Send) -> Envelope | None:
    modes = asked.configuration.accepted_output_modes if asked.configuration else None
    return Envelope(asked.metadata, tuple(modes or ())) if asked.metadata or modes else None


def _message(asked: _Message, envelope: Envelope | None) -> Message:
    if not asked.parts:
        raise invalid("a message has at least one part - at `$.message.parts`")
    return Message(
        Role.USER,
        asked.message_id,
        tuple(_part(piece) for piece in asked.parts),
        asked.context_id or None,
        asked.task_id or None,
        tuple(asked.reference_task_ids or ()),
        asked.metadata,
        tuple(asked.extensions or ()),
        envelope,
    )


def _part(asked: _Text | _Data | _File) -> Part:
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
                raise invalid("a file has either bytes or a uri")
            check_media_type(file.mimeType)
            return FilePart(file.bytes, file.uri, file.name, file.mimeType or None, asked.metadata)
