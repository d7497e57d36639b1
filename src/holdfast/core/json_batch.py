"""A batch: several JSON texts in one, as the items of an array or as lines."""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from holdfast.core import strict_json
from holdfast.core.errors import InvalidJson, TooLarge

BLANK = b" \t\r\n"
CHUNK = 64 * 1024
"""Bytes of texts that are read together: whoever reads them keeps the interpreter for a millisecond or two."""

_array = msgspec.json.Decoder(list[msgspec.Raw]).decode


class JsonText(NamedTuple):
    """One of them, and where it is."""

    place: str
    raw: bytes


def is_array(raw: bytes) -> bool:
    """Whether it is an array, and not lines."""
    return raw.lstrip(BLANK).startswith(b"[")


def texts(raw: bytes) -> list[JsonText]:
    """The texts of a batch, blank lines left out; InvalidJson if it is an array that is none."""
    if is_array(raw):
        return [JsonText(f"item {number}", item) for number, item in enumerate(_items(raw), 1)]
    lines = enumerate(raw.split(b"\n"), 1)
    return [JsonText(f"line {number}", line) for number, line in lines if line.strip(BLANK)]


def is_plain(raw: bytes) -> bool:
    """Whether every text of a batch is known to be one that we keep, by a look that is quick and never long at a time;
    of others it says nothing."""
    try:
        strict_json.check_count(raw)
        return all(len(chunk) <= CHUNK and strict_json.are_plain(chunk) for chunk in chunks(raw))
    except (TooLarge, msgspec.DecodeError, RecursionError):
        return False


def chunks(raw: bytes) -> Iterator[bytes]:
    """The texts of a batch as lines, as many together as fit CHUNK, or a longer one alone.

    DecodeError or RecursionError if it is an array that is none. An item with line ends in it may be cut at one.
    """
    lines = b"\n".join(_array(raw)) if is_array(raw) else raw
    start = 0
    while start < len(lines):
        end = lines.rfind(b"\n", start, start + CHUNK) if len(lines) - start > CHUNK else len(lines)
        if end < 0:
            end = lines.find(b"\n", start)
        end = len(lines) if end < 0 else end + 1
        yield lines[start:end]
        start = end


def _items(raw: bytes) -> list[bytes]:
    try:
        return [bytes(item) for item in _array(raw)]
    except (msgspec.DecodeError, RecursionError) as error:
        strict_json.parse(raw)  # says which rule the array breaks
        raise InvalidJson(f"not JSON: {error}", reason="syntax") from None
