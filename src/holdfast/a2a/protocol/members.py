"""The members of params under their own names, however a client spelt them.

A2A is described in a proto file, and ProtoJSON reads a member under its JSON name (`contextId`) and under its name in
that file (`context_id`). What nobody knows is let be, as the standard asks; but an id that is nearly one of ours is
refused, because a request without it would quietly begin another conversation or task. Only members that a shape
describes are looked at: what is in metadata or data is the client's own.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from msgspec.inspect import AnyType, IntType, ListType, StrType, StructType, Type, UnionType, type_info

from holdfast.a2a.protocol.rpc import invalid_params

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,30})(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,3})?")
_CAPITAL = re.compile(r"(?=[A-Z])")
_SEPARATORS = str.maketrans("", "", "_- ")
SHORTEST_GUESS = 6
"""Letters that a name has at least for another to be nearly it."""
LONGEST_GUESS = 40


@dataclass(frozen=True, slots=True)
class _Members:
    """What a shape has: the type of each member, its name by every spelling, and its ids by every slip."""

    kinds: dict[str, Type]
    names: dict[str, str]
    slips: dict[str, str]


def under_own_names(value: Any, shape: type, *, text_numbers: bool = False) -> Any:
    """The JSON value with its members as `shape` names them and its whole numbers as such, `text_numbers` also where
    they are written as text; RpcError names a member that comes twice, or an id that is misspelt."""
    return _read(value, _described(shape), text_numbers)


@cache
def _described(shape: type) -> Type:
    return type_info(shape)


def _read(value: Any, kind: Type, text_numbers: bool) -> Any:
    match kind:
        case UnionType():
            return _read(value, _meant(value, kind), text_numbers)
        case StructType() if isinstance(value, dict):
            return _object(value, _members_of(kind.cls), text_numbers)
        case ListType() if isinstance(value, list):
            return [_read(item, kind.item_type, text_numbers) for item in value]
        case IntType():
            return _whole(value, text_numbers)
    return value


def _meant(value: Any, union: UnionType) -> Type:
    """Which type of a union a value is of, as far as that matters here."""
    for kind in union.types:
        match kind:
            case StructType() if isinstance(value, dict) and kind.tag in (None, value.get(kind.tag_field)):
                return kind
            case ListType() if isinstance(value, list):
                return kind
            case IntType() if not (isinstance(value, str) and any(isinstance(each, StrType) for each in union.types)):
                return kind
    return AnyType()


def _object(value: dict[str, Any], members: _Members, text_numbers: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    written: dict[str, str] = {}
    for name, item in value.items():
        own = members.names.get(name)
        if own is None:
            _check_spelling(name, members)
            found[name] = item
            continue
        if own in written:
            raise invalid_params(f"`{own}` comes twice, as `{written[own]}` and as `{name}`")
        written[own] = name
        found[own] = _read(item, members.kinds[own], text_numbers)
    return found


def _check_spelling(name: str, members: _Members) -> None:
    if len(name) > LONGEST_GUESS:
        return
    meant = next((members.slips[slip] for slip in _slips(_letters(name)) if slip in members.slips), None)
    if meant is not None:
        raise invalid_params(f"`{name}` is misspelt: `{meant}` is meant")


@cache
def _members_of(shape: type) -> _Members:
    described = _described(shape)
    assert isinstance(described, StructType)
    kinds = {field.encode_name: field.type for field in described.fields}
    names = {_in_the_proto_file(name): name for name in kinds} | {name: name for name in kinds}
    ids = [name for name in kinds if name == "id" or name.endswith(("Id", "Ids"))]
    return _Members(kinds, names, {slip: name for name in ids for slip in _slips(_letters(name))})


def _in_the_proto_file(name: str) -> str:
    return _CAPITAL.sub("_", name).lower()


def _letters(name: str) -> str:
    return name.translate(_SEPARATORS).lower()


def _slips(letters: str) -> Iterator[str]:
    """The letters, and, of a name that is long enough, all but one: what two names share that differ in one."""
    yield letters
    if len(letters) >= SHORTEST_GUESS:
        yield from (letters[:at] + letters[at + 1 :] for at in range(len(letters)))


def _whole(value: Any, text_numbers: bool) -> Any:
    """A number as a whole one, if it is; whatever else it is, as it came."""
    if text_numbers and isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value
