"""Reading params into the shape that a method expects: validated once, here, at the edge."""

from typing import Annotated, Any, TypeVar

import msgspec

from holdfast.a2a.rpc import INVALID_PARAMS, RpcError

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=512)]
Count = Annotated[int, msgspec.Meta(ge=0)]

Shape = TypeVar("Shape")


def read(params: dict[str, Any], shape: type[Shape]) -> Shape:
    """The params as `shape`; RpcError says which member is wrong. Members that we do not know are let be."""
    try:
        return msgspec.convert(params, shape)
    except msgspec.ValidationError as error:
        raise RpcError(INVALID_PARAMS, f"Invalid params: {error}") from None
