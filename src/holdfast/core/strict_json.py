"""JSON, read strictly and once.

Refused, each with its own reason: bad UTF-8 or syntax, NaN and Infinity, lone surrogates, duplicate keys, more than
64 levels, integers of more than 4,300 digits. What passes is a value that every JSON reader understands alike, so
its bytes can be stored as they came.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, NoReturn

import msgspec

from holdfast.core.errors import InvalidJson, TooLarge

MAX_DEPTH = 64
MAX_DIGITS = 4300
LONG = 64 * 1024
MAX_COUNT = 500_000
"""Arrays and objects of one body."""
MAX_OPENINGS = 4_096
"""Brackets of lines that are looked at together: to tell the depth of more of them takes long."""

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.S)
"""A string, or what begins one and never ends: trying again at each of its quotes would take for ever."""
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
"""The only way for a surrogate into a text that was UTF-8."""
_TOO_DEEP = b"[" * (MAX_DEPTH + 1)
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_NOT_OPENINGS = bytes(set(range(256)) - set(b"[{\n"))
_ALIKE = bytes.maketrans(b"{}", b"[]")

_decode = msgspec.json.Decoder().decode
_decode_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_encode = msgspec.json.Encoder().encode
_decode_lines = msgspec.json.Decoder().decode_lines
_encode_lines = msgspec.json.Encoder().encode_lines


class CheckedJson(bytes):
    """JSON bytes that were parsed strictly, or cut out of such: nobody need parse them again."""

    __slots__ = ()


class PlainObject(dict[str, Any]):
    """A JSON object that was parsed, or made of such: nobody need look whether it has a JSON value."""

    __slots__ = ()


def parse(raw: bytes) -> Any:
    """The value of JSON bytes; InvalidJson says what is wrong with them."""
    if isinstance(raw, CheckedJson):
        return parse_own(raw)
    if _may_be_deep(raw):
        _check_depth(raw)
    try:
        value = _decode(raw)
        # What we would write ourselves, but for white space, has no duplicate keys; only others need the slow look.
        written = _encode(value)
        if written == raw or written == msgspec.json.format(raw, indent=-1):
            return value
        del value, written  # or it would be there twice
    except (msgspec.DecodeError, OverflowError, UnicodeDecodeError, ValueError):
        pass
    return _parse_slowly(raw)


def are_plain(lines: bytes) -> bool:
    """Whether these lines are each a text that `parse` takes, as far as one look at all of them tells: none is too
    deep, and each is what we would write ourselves, but for white space."""
    try:
        openings = lines.translate(None, _NOT_OPENINGS)
        if max(map(len, openings.split(b"\n"))) > MAX_DEPTH:
            if len(openings) > MAX_OPENINGS:
                return False
            for line in lines.split(b"\n"):
                if _may_be_deep(line):
                    _check_depth(line)
        written = _encode_lines(_decode_lines(lines))
        if written == lines or written[:-1] == lines:
            return True
        texts = lines.removesuffix(b"\n").split(b"\n")
        return written[:-1] == b"\n".join([msgspec.json.format(text, indent=-1) for text in texts])
    except (InvalidJson, msgspec.DecodeError, OverflowError, UnicodeDecodeError, ValueError, RecursionError):
        return False


def check_count(raw: bytes) -> None:
    """TooLarge if the bytes have so many arrays and objects that parsing them takes many times their room."""
    count = raw.count(b"[") + raw.count(b"{") if len(raw) > MAX_COUNT and _may_be_deep(raw) else 0
    if count > MAX_COUNT:
        raise TooLarge(
            f"the body has {count} arrays and objects",
            hint="send it in several requests, or large data as an attachment",
            limit=MAX_COUNT,
        )


def parse_own(raw: bytes) -> Any:
    """The value of bytes that `dump` wrote: what it checked then is not looked for again."""
    try:
        return _decode(raw)
    except (msgspec.DecodeError, OverflowError, UnicodeDecodeError, ValueError):
        return _parse_slowly(raw)


def members(raw: bytes) -> dict[str, msgspec.Raw]:
    """The members of a JSON object that was checked before, each as its bytes: what is inside them is not parsed."""
    return _decode_members(raw)


def join(members: Mapping[str, Any]) -> bytes:
    """The JSON object that has these members, each as its bytes or a value that has been one of JSON's."""
    return _encode(members)


def check(raw: bytes) -> CheckedJson:
    """The bytes themselves if they are JSON that we keep."""
    if isinstance(raw, CheckedJson):
        return raw
    parse(raw)
    return CheckedJson(raw)


def dump(value: Any) -> bytes:
    """Compact JSON bytes for a value that is to be kept; InvalidJson if it has none, or is nested too deeply."""
    raw = encode(value)
    if _may_be_deep(raw):
        _check_depth(raw)
    return raw


def encode(value: Any) -> bytes:
    """Compact JSON bytes for a value, however deep: what is shown may hold what is kept; InvalidJson if it has none."""
    try:
        raw = _encode(value)
    except (TypeError, OverflowError, UnicodeEncodeError, ValueError, RecursionError):
        raw = _dump_slowly(value)
    # msgspec writes NaN and Infinity as null: the value would change quietly.
    if b"null" in raw:
        _dump_slowly(value)
    return raw


def plain(value: Any) -> Any:
    """The value as whoever reads its JSON gets it: names are text, tuples are lists; InvalidJson if it has none."""
    return parse(dump(value))


def canonical(value: Any) -> bytes:
    """The same bytes for the same value, whatever the order of its keys; InvalidJson if it has none."""
    return _canonical(dump(value)).encode()


def same_value(one: bytes, other: bytes) -> bool:
    """Whether two JSON texts mean the same value; order of keys and white space do not count, 1 and 1.0 differ."""
    return one == other or _canonical(one) == _canonical(other)


def sorted_text(value: Any) -> str:
    """The same text for the same value, whatever the order of its keys."""
    return json.dumps(value, sort_keys=True)


def _canonical(raw: bytes) -> str:
    return sorted_text(json.loads(raw))


def _dump_slowly(value: Any) -> bytes:
    if isinstance(value, msgspec.Struct):
        value = msgspec.to_builtins(value)
    try:
        return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        raise InvalidJson("text with a lone surrogate cannot be stored", reason="surrogate") from None
    except RecursionError:
        raise _too_deep() from None
    except (TypeError, ValueError) as error:
        reason = "not_finite" if "JSON compliant" in str(error) else "not_json"
        raise InvalidJson(f"not a JSON value: {error}", reason=reason) from None


def _parse_slowly(raw: bytes) -> Any:
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise InvalidJson(f"not UTF-8 at byte {error.start}", reason="encoding") from None
    if text.startswith("\ufeff"):
        raise InvalidJson("starts with a byte order mark", reason="encoding")
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise InvalidJson(
            f"not JSON: {error.msg} at line {error.lineno} column {error.colno}", reason="syntax"
        ) from None
    except InvalidJson:
        raise
    except ValueError:
        raise InvalidJson(f"an integer of more than {MAX_DIGITS} digits", reason="digits") from None
    if _SURROGATE.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise InvalidJson("a lone surrogate is not text", reason="surrogate") from None
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise InvalidJson(f"the key {key[:80]!r} is there twice", reason="duplicate_key")
            seen.add(key)
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise InvalidJson(f"{name} is not JSON", reason="not_finite")


def _finite(text: str) -> float:
    value = float(text)
    if value in {float("inf"), float("-inf")}:
        raise InvalidJson(f"{text[:80]} is larger than a number can be", reason="not_finite")
    return value


def _may_be_deep(raw: bytes) -> bool:
    """Whether more opens than levels are allowed; in a long text, to find is quicker than to count."""
    if len(raw) < LONG:
        return raw.count(b"[") + raw.count(b"{") > MAX_DEPTH
    left = MAX_DEPTH
    for sign in (b"[", b"{"):
        at = raw.find(sign)
        while at >= 0:
            if not left:
                return True
            left -= 1
            at = raw.find(sign, at + 1)
    return False


def _check_depth(raw: bytes) -> None:
    """Take away the innermost brackets as often as levels are allowed; what then still closes is too deep."""
    brackets = _STRING.sub(b"", raw).translate(_ALIKE, _NOT_BRACKETS)
    for _ in range(MAX_DEPTH):
        if _TOO_DEEP in brackets:
            break
        shorter = brackets.replace(b"[]", b"")
        if len(shorter) == len(brackets):
            break
        brackets = shorter
    if b"[]" in brackets or _TOO_DEEP in brackets:
        raise _too_deep()


def _too_deep() -> InvalidJson:
    return InvalidJson(f"nested more than {MAX_DEPTH} levels deep", reason="depth")
