"""Reading params into the shape that a method expects: validated once, here, at the edge."""

import re
from typing import Annotated, Any, TypeVar

import msgspec

from holdfast.a2a.protocol.members import under_own_names
from holdfast.a2a.protocol.rpc import CONTENT_TYPE_NOT_SUPPORTED, INVALID_PARAMS, RpcError
from holdfast.core.clock import from_iso
from holdfast.core.errors import InvalidInput
from holdfast.core.ids import check_name

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=512)]
Address = Annotated[str, msgspec.Meta(min_length=1, max_length=8192)]
Count = Annotated[int, msgspec.Meta(ge=0)]

_MEDIA_TYPE = re.compile(r"[^\s/;]+/[^\s/;]+\s*(;.*)?")

Shape = TypeVar("Shape")


def read(params: dict[str, Any], shape: type[Shape]) -> Shape:
    """The params as `shape`; RpcError says which member is wrong. Members that we do not know are let be."""
    return _fitted(under_own_names(params, shape), shape)


def read_proto_json(params: dict[str, Any], shape: type[Shape]) -> Shape:
    """The same for params in ProtoJSON, where whole numbers may be text."""
    return _fitted(under_own_names(params, shape, text_numbers=True), shape)


def _fitted(params: Any, shape: type[Shape]) -> Shape:
    try:
        return msgspec.convert(params, shape)
    except msgspec.ValidationError as error:
        raise invalid(str(error)) from None


def moment(text: str) -> int:
    """The epoch milliseconds of a time on the wire."""
    try:
        return from_iso(text)
    except InvalidInput as error:
        raise invalid(error.message) from None


def check_media_type(text: str | None) -> None:
    """RpcError if a part says that it is of a kind that nobody could support."""
    if text and _MEDIA_TYPE.fullmatch(text) is None:
        raise RpcError(CONTENT_TYPE_NOT_SUPPORTED, f"Incompatible content types: {text!r:.80} is not a media type")


def name_in(text: str | None, what: str) -> str | None:
    """The name that is given, if one is; InvalidInput if the store could not hold it."""
    return check_name(text, what) if text else None


def invalid(why: str) -> RpcError:
    """The answer to params that a method does not take."""
    return RpcError(INVALID_PARAMS, f"Invalid params: {why}")


def without_none(members: dict[str, Any]) -> dict[str, Any]:
    """The members that are there: neither version writes null for what is absent."""
    return {name: value for name, value in members.items() if value is not None}
