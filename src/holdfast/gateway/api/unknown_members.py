"""Members that a body does not have: the refusal names the member and the nearest one that there is."""

import re
from typing import Any

import msgspec
from msgspec import inspect

from holdfast.core.errors import InvalidInput
from holdfast.core.nearest import did_you_mean

UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>.*?)`(?: - at `(?P<path>[^`]*)`)?\Z", re.DOTALL)
LONGEST = 200
"""Letters of a name that are shown."""
STEP = re.compile(r"\.(\w+)|\[[^\]]*\]")


def unknown_member(error: msgspec.DecodeError, shape: Any, what: str) -> InvalidInput | None:
    """The refusal of a member that the type does not have, if that is what is wrong."""
    found = UNKNOWN.match(str(error))
    if found is None:
        return None
    name, path = found["name"][:LONGEST], found["path"]
    known = _members_at(shape, path or "$")
    where = f"{what}, at {path.removeprefix('$.')}," if path and known else what
    return InvalidInput(
        f"{where} has no member {name!r}", hint=did_you_mean(name, known) if known else None, member=name
    )


def _members_at(shape: Any, path: str) -> tuple[str, ...]:
    """The members of the type at a path such as `$.attachments[...]`; none if it leads nowhere, because a client
    named a member so that it looks like a path."""
    found: inspect.Type | None = inspect.type_info(shape)
    for step in STEP.finditer(path):
        fields = _fields_in(found)
        if step[1] is not None:
            found = next((field.type for field in fields if field.encode_name == step[1]), None)
    return tuple(field.encode_name for field in _fields_in(found))


def _fields_in(found: inspect.Type | None) -> tuple[inspect.Field, ...]:
    """The fields of the struct that a type is, or that a list, a union or an annotation of it is of; none without."""
    match found:
        case inspect.StructType():
            return found.fields
        case inspect.ListType():
            return _fields_in(found.item_type)
        case inspect.Metadata():
            return _fields_in(found.type)
        case inspect.UnionType():
            return next(filter(None, map(_fields_in, found.types)), ())
    return ()
