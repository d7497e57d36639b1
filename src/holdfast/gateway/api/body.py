"""Requests read once and strictly: the body by the JSON rules of the store, then into its type.

Nothing of a body is dropped: a member that its type does not have is refused, except that an action or a response
without `details` keeps such members as its details. A large body is checked by another process and then read on a
thread of its own, where tenants take turns, so that nobody else waits for it. The texts of a batch are looked at many
together: if all are as we would write them, nothing more is checked, there or here.
"""

from collections.abc import Callable, Container
from enum import Enum
from typing import Any, TypeVar

import msgspec
from starlette.datastructures import QueryParams
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.types import Receive

from holdfast.core import json_batch, large_json, strict_json
from holdfast.core.errors import InvalidInput, TooLarge
from holdfast.core.json_batch import BLANK
from holdfast.core.large_json import LARGE_JSON
from holdfast.gateway.access.auth import store_of
from holdfast.gateway.api.unknown_members import unknown_member
from holdfast.gateway.wire.sessions import NewAction, NewResponse
from holdfast.store import MAX_EVENTS

MAX_LINES = 2 * MAX_EVENTS
"""Of a batch: blank ones are allowed, but not any number."""
MAX_PLAIN = 1024 * 1024
"""Bytes of a batch that is looked at here, in case it is plain, before another process checks it."""
NO_PARAMS = QueryParams()

Result = TypeVar("Result")
Shape = TypeVar("Shape")
Entry = TypeVar("Entry", NewAction, NewResponse)


class _Typed(msgspec.Struct, gc=False):
    """The least that an action has."""

    type: str


_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_encode = msgspec.json.Encoder().encode
_action_lines = msgspec.json.Decoder(NewAction).decode_lines
_typed = msgspec.json.Decoder(list[_Typed]).decode
DECODERS: dict[Any, Callable[[bytes], Any]] = {
    shape: msgspec.json.Decoder(shape).decode for shape in (NewAction, NewResponse)
}


class BodyUse(Enum):
    """What becomes of a body."""

    VALUES = "all of it becomes values, of which it may not have too many"
    OUTLINE = "its members are read, and what is in them is kept as it came"
    BATCH = "the same for each of several"


async def read_body(request: Request, parse: Callable[[bytes], Result], use: BodyUse = BodyUse.VALUES) -> Result:
    """What `parse` makes of the request's body."""
    raw = await whole_body(request.receive)
    if len(raw) <= large_json.LARGE:
        return parse(raw)
    owner = store_of(request).tenant
    if use is BodyUse.BATCH:
        made = await LARGE_JSON.make(lambda: _parsed_if_plain(raw, parse), owner)
        if made is not None:
            return made
    number = await LARGE_JSON.check(raw, owner, batch=use is BodyUse.BATCH)
    if use is BodyUse.VALUES:
        large_json.check_values(number)
    return await LARGE_JSON.make(lambda: parse(strict_json.CheckedJson(raw)), owner)


async def whole_body(receive: Receive) -> bytes:
    """All of a body; ClientDisconnect if its client goes before."""
    pieces: list[bytes] = []
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        pieces.append(message.get("body", b""))
        more = message.get("more_body", False)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def parse_action(raw: bytes) -> NewAction:
    """The body of one action; its details are the very bytes that came, or made of all that is not an action's own."""
    return _entry(raw, NewAction, "not an action", hint='for example {"type":"note","details":{}}')


def parse_response(raw: bytes) -> NewResponse:
    """The body of a response; its details as an action's."""
    return _entry(raw, NewResponse, "not a response", hint='for example {"details":{"text":"done"}}')


def parse_actions(raw: bytes) -> list[NewAction]:
    """The body of a batch: a JSON array, or one action per line; TooLarge if there are more than one append takes."""
    _check_number(raw)
    checked = isinstance(raw, strict_json.CheckedJson)
    together = _actions_together(raw) if checked or json_batch.is_plain(raw) else None
    if together is not None:
        return together
    texts = json_batch.texts(raw)
    _check_few(len(texts))
    return [_at(place, strict_json.CheckedJson(text) if checked else text) for place, text in texts]


def parse_into(shape: type[Shape]) -> Callable[[bytes], Shape]:
    """A parser of bodies of this type."""

    return lambda raw: shaped(strict_json.parse(raw), shape)


def or_empty(parse: Callable[[bytes], Result]) -> Callable[[bytes], Result]:
    """The same parser, for bodies that may be left out: nothing at all is an empty object."""
    return lambda raw: parse(raw or b"{}")


def shaped(value: Any, shape: type[Shape], what: str = "the body") -> Shape:
    """The value as this type, or InvalidInput that names what is wrong with it."""
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        raise unknown_member(error, shape, what) or InvalidInput(f"{what} does not fit: {error}") from None


def query_parser(shape: type[Shape]) -> Callable[[HTTPConnection], Shape]:
    """A parser of queries of this type; what the type does not name, and what is empty, is ignored."""
    fields = msgspec.inspect.type_info(shape).fields  # type: ignore[attr-defined]
    repeated = {field.encode_name for field in fields if "ListType" in repr(field.type)}

    def parse(request: HTTPConnection) -> Shape:
        params = request.query_params if request.scope["query_string"] else NO_PARAMS
        found: dict[str, Any] = {
            name: params.getlist(name) if name in repeated else value for name, value in params.items() if value
        }
        try:
            return msgspec.convert(found, shape, strict=False)
        except msgspec.ValidationError as error:
            raise InvalidInput(f"the query does not fit: {error}") from None

    return parse


def _parsed_if_plain(raw: bytes, parse: Callable[[bytes], Result]) -> Result | None:
    """What `parse` makes of a batch that need not be checked by another process; None if it must be."""
    _check_number(raw)
    if len(raw) > MAX_PLAIN or not json_batch.is_plain(raw):
        return None
    return parse(strict_json.CheckedJson(raw))


def _actions_together(raw: bytes) -> list[NewAction] | None:
    """The actions of a batch whose texts were checked, many read at once; None if they must be read one by one."""
    found: list[NewAction] = []
    try:
        for chunk in json_batch.chunks(raw):
            found += _action_lines(chunk)
            _check_few(len(found))
    except msgspec.DecodeError:
        return None
    for action in found:
        if action.details is msgspec.UNSET:
            action.details = msgspec.Raw(b"{}")
    return found


def _entry(raw: bytes, shape: type[Entry], otherwise: str, *, hint: str) -> Entry:
    there = _names(raw)
    own, details = raw, b"{}"
    try:
        if there is not None and "details" not in there:
            known, members = shape.__struct_encode_fields__, _members(raw)
            ours = {name: found for name, found in members.items() if name in known}
            others = {name: found for name, found in members.items() if name not in known}
            own, details = _encode(ours), _encode(others) if ours else raw.strip(BLANK)
        found: Entry = DECODERS[shape](own)
    except msgspec.DecodeError as error:
        raise unknown_member(error, shape, "the body") or InvalidInput(f"{otherwise}: {error}", hint=hint) from None
    if found.details is msgspec.UNSET:
        found.details = msgspec.Raw(details)
    return found


def _names(raw: bytes) -> Container[str] | None:
    """The members that a body has, if it is an object; of one that was checked before, nothing more is read."""
    if isinstance(raw, strict_json.CheckedJson):
        return _members(raw) if raw.lstrip(BLANK).startswith(b"{") else None
    value = strict_json.parse(raw)
    return value if isinstance(value, dict) else None


def _at(where: str, raw: bytes) -> NewAction:
    try:
        return parse_action(raw)
    except InvalidInput as error:
        raise type(error)(f"{where}: {error.message}", hint=error.hint, **error.details) from None


def _check_number(raw: bytes) -> None:
    """TooLarge if a batch is of too many, of which as little as can be is kept to count them."""
    if not json_batch.is_array(raw):
        if raw.count(b"\n") > MAX_LINES:
            raise TooLarge(f"a batch of more than {MAX_LINES} lines", limit=MAX_LINES)
    elif raw.count(b",") >= MAX_EVENTS:
        try:
            number = len(_typed(raw))
        except msgspec.ValidationError as error:
            raise InvalidInput(f"not a batch of actions: {error}") from None
        except (msgspec.DecodeError, RecursionError):
            return  # what is not JSON is found out later
        _check_few(number)


def _check_few(number: int) -> None:
    if number > MAX_EVENTS:
        raise TooLarge(f"{number} actions in one batch", limit=MAX_EVENTS)
