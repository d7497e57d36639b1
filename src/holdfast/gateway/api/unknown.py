"""Members that a body does not have: the refusal names the member and the nearest one that there is."""

import re
from typing import Any

import msgspec
from msgspec import inspect

from holdfast.core.errors import InvalidInput
from holdfast.core.nearest import did_you_mean

UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>.*?)`(?: - at `(?P<path>[^`]*)`)?\Z", re.DOTALL)
STEP = re.compile(r"\.(\w+)|\[[^\]]*\]")


def unknown_member(error: msgspec.DecodeError, shape: Any, what: str) -> InvalidInput | None:
    """The refusal of a member that the type does not have, if that is what is wrong."""
    found = UNKNOWN.match(str(error))
    if found is None:
        return None
    known = _members_at(shape, found["path"] or "$")
    where = what if not found["path"] else f"{what}, at {found['path'].removeprefix('$.')},"
    return InvalidInput(
        f"{where} has no member {found['name']!r:.200}", hint=did_you_mean(found["name"], known), member=found["name"]
    )


def _members_at(shape: Any, path: str) -> tuple[str, ...]:
    """The members of the type at a path such as `$.attachments[...]`."""
    found: inspect.Type = inspect.type_info(shape)
    for step in STEP.finditer(path):
        found = _struct_in(found)
        if step[1] is not None:
            found = next(field.type for field in found.fields if field.encode_name == step[1])
    return tuple(field.encode_name for field in _struct_in(found).fields)


def _struct_in(found: inspect.Type) -> inspect.StructType:
    """The struct that a type is, or that a list, a union or an annotation of it is of."""
    if isinstance(found, inspect.StructType):
        return found
    inner = [found.item_type] if isinstance(found, inspect.ListType) else []
    inner += [found.type] if isinstance(found, inspect.Metadata) else []
    inner += found.types if isinstance(found, inspect.UnionType) else []
    return next(struct for struct in map(_try_struct, inner) if struct is not None)


def _try_struct(found: inspect.Type) -> inspect.StructType | None:
    try:
        return _struct_in(found)
    except StopIteration:
        return None
