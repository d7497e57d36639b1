"""Reading params into the shape that a method expects: validated once, here, at the edge.

What both wire versions ask for under the same names is here as well: each adds to these shapes what it says in its own
way.
"""

import re
from typing import Annotated, Any, TypeVar

import msgspec

from holdfast.a2a.protocol.members import under_own_names
from holdfast.a2a.protocol.rpc import CONTENT_TYPE_NOT_SUPPORTED, RpcError, invalid_params
from holdfast.a2a.protocol.wire import Envelope, Message, Part, PushConfig, PushRequest, Role
from holdfast.core.clock import from_iso
from holdfast.core.errors import InvalidInput
from holdfast.core.ids import check_name

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=512)]
Address = Annotated[str, msgspec.Meta(min_length=1, max_length=8192)]
Count = Annotated[int, msgspec.Meta(ge=0)]

_MEDIA_TYPE = re.compile(r"[^\s/;]+/[^\s/;]+\s*(;.*)?")

Shape = TypeVar("Shape")


class MessageShape(msgspec.Struct, rename="camel", kw_only=True):
    """A message without its parts, and who speaks."""

    message_id: Name
    context_id: str | None = None
    task_id: str | None = None
    reference_task_ids: list[str] | None = None
    metadata: dict[str, Any] | None = None
    extensions: list[str] | None = None


class ConfigurationShape(msgspec.Struct, rename="camel", kw_only=True):
    """How a message is to be answered."""

    accepted_output_modes: list[str] | None = None
    history_length: Count | None = None


class TaskShape(msgspec.Struct, rename="camel"):
    """A question about one task."""

    id: Name
    history_length: Count | None = None


class PushShape(msgspec.Struct, rename="camel", kw_only=True):
    """Where news are to be posted, without the credentials."""

    url: Address
    id: str | None = None
    token: str | None = None


def read(params: dict[str, Any], shape: type[Shape]) -> Shape:
    """The params as `shape`; RpcError says which member is wrong. Members that we do not know are let be."""
    return _fitted(under_own_names(params, shape), shape)


def read_proto_json(params: dict[str, Any], shape: type[Shape]) -> Shape:
    """The same for params in ProtoJSON, where whole numbers may be text."""
    return _fitted(under_own_names(params, shape, text_numbers=True), shape)


def message_in(shape: MessageShape, parts: tuple[Part, ...], envelope: Envelope | None) -> Message:
    """The user's message; RpcError if it has no parts."""
    if not parts:
        raise invalid_params("a message has at least one part - at `$.message.parts`")
    return Message(
        Role.USER,
        shape.message_id,
        parts,
        shape.context_id or None,
        shape.task_id or None,
        tuple(shape.reference_task_ids or ()),
        shape.metadata,
        tuple(shape.extensions or ()),
        envelope,
    )


def envelope_in(metadata: dict[str, Any] | None, configuration: ConfigurationShape) -> Envelope | None:
    """What a request says beside its message, if anything."""
    modes = tuple(configuration.accepted_output_modes or ())
    return Envelope(metadata, modes) if metadata or modes else None


def push_in(shape: PushShape, scheme: str | None, credentials: str | None, version: str) -> PushConfig:
    """Where news are to be posted, in which version; RpcError if nobody could say how to send the credentials."""
    if credentials and not scheme:
        raise invalid_params("credentials need the scheme by which they are sent")
    return PushConfig(
        shape.url, shape.id or None, shape.token or None, scheme or None, credentials or None, version=version
    )


def push_request_in(task_id: str, config_id: str | None) -> PushRequest:
    """A question about where a task's news are posted."""
    return PushRequest(task_id, name_in(config_id, "the id of a push config"))


def moment(text: str) -> int:
    """The epoch milliseconds of a time on the wire."""
    try:
        return from_iso(text)
    except InvalidInput as error:
        raise invalid_params(error.message) from None


def check_media_type(text: str | None) -> None:
    """RpcError if a part says that it is of a kind that nobody could support."""
    if text and _MEDIA_TYPE.fullmatch(text) is None:
        raise RpcError(CONTENT_TYPE_NOT_SUPPORTED, f"Incompatible content types: {text!r:.80} is not a media type")


def name_in(text: str | None, what: str) -> str | None:
    """The name that is given, if one is; InvalidInput if the store could not hold it."""
    return check_name(text, what) if text else None


def _fitted(params: Any, shape: type[Shape]) -> Shape:
    try:
        return msgspec.convert(params, shape)
    except msgspec.ValidationError as error:
        raise invalid_params(str(error)) from None
