"""A batch: several JSON texts in one, as the items of an array or as lines."""

from typing import NamedTuple

import msgspec

from holdfast.core import strict_json
from holdfast.core.errors import InvalidJson

BLANK = b" \t\r\n"

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


def _items(raw: bytes) -> list[bytes]:
    try:
        return [bytes(item) for item in _array(raw)]
    except (msgspec.DecodeError, RecursionError) as error:
        strict_json.parse(raw)  # says which rule the array breaks
        raise InvalidJson(f"not JSON: {error}", reason="syntax") from None
