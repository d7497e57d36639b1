"""Lines of JSON as events: the bytes of a line are its event's payload, and its place or uuid is the event's id.

A line that is not one JSON value as we keep them, from its first byte to its last, is an event with its text, so that
nothing of a file is lost and the file can be written again. What is wrong with it is said.
"""

import base64
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from holdfast.core import NewEvent, strict_json, types
from holdfast.core.clock import from_iso
from holdfast.core.errors import InvalidInput, InvalidJson
from holdfast.core.ids import check_name
from holdfast.transcripts.files.line_file import LONGEST, WHOLE, FileLine, TranscriptFile, last_line
from holdfast.transcripts.source import TranscriptLine, UnreadableLine

LINE = "line"
"""The type of a line that names none."""
TEXT = "line_text"
"""The type of a line that is kept as text, or in base64 if it is none: `{"text", "more"}`, more if the next goes on."""
PREFIX = "line-"
LONGEST_NAME = 200
LAST_MS = 253_402_300_799_999
SPACE = 0x20
"""The last of the bytes that may stand around a JSON value."""

NameOf = Callable[[Mapping[str, Any]], str | None]
"""The name of a line in its file, such as its uuid; None if it has none."""


def line_id(name: str) -> str:
    """The event id of the line of this name."""
    return PREFIX + name


class JsonLines:
    """The lines of one file as events; what was given once is not given again, unless the file was written anew."""

    def __init__(self, path: Path, name_of: NameOf, parent_of: NameOf) -> None:
        self.file = TranscriptFile(path)
        self._name_of = name_of
        self._parent_of = parent_of
        self._rewrites = 0
        self._begin()

    def lines(self, *, to_the_end: bool = True) -> Iterator[TranscriptLine | UnreadableLine]:
        """The lines that came since; `to_the_end` reports a last one that is torn, else it is waited for."""
        for line in self.file.lines(to_the_end=to_the_end):
            if self.file.rewrites != self._rewrites:
                self._rewrites = self.file.rewrites
                self._begin()
            yield self._event(line)

    def last_id(self) -> str | None:
        """The event id of the last line that is ended, without reading those before; None if it cannot be told."""
        found = last_line(self.file.path)
        if found is None:
            return None
        try:
            value = _value(found.raw.removesuffix(b"\r"))
        except InvalidInput:
            return line_id(f"@{found.offset}")
        name = self._name_of(value) if isinstance(value, dict) else None
        return line_id(_usable(name) or f"@{found.offset}")

    def _begin(self) -> None:
        self._time: int | None = None
        self._end = b""

    def _event(self, line: FileLine) -> TranscriptLine | UnreadableLine:
        if line.too_long:
            return self._unreadable(line, f"more than {LONGEST:,} bytes, or its end is missing")
        if line.piece:
            return TranscriptLine(self.file.path, line.number, self._text_event(line))
        if line.number == 1 and line.raw.endswith(b"\r"):
            self._end = b"\r"  # this line itself is kept as text, so that whoever writes the file again can see it
            return TranscriptLine(self.file.path, line.number, self._text_event(line))
        raw = line.raw.removesuffix(self._end) if self._end and line.ended else line.raw
        try:
            value = _value(raw)
        except InvalidInput as error:
            if not line.ended:
                return self._unreadable(line, "torn: the file ends in the middle of it")
            kept = self._text_event(line)
            return UnreadableLine(self.file.path, line.number, error.message, kept)
        kind = value_type(value)
        unlike = self._end and line.ended and raw + self._end != line.raw
        if unlike or _is_padded(raw) or kind == TEXT:
            return TranscriptLine(self.file.path, line.number, self._text_event(line))
        return TranscriptLine(self.file.path, line.number, self._json_event(line, kind, raw, value))

    def _json_event(self, line: FileLine, kind: str, raw: bytes, value: Any) -> NewEvent:
        found = value if isinstance(value, dict) else {}
        self._time = _time_of(found, self._time)
        name = _usable(self._name_of(found))
        parent = _usable(self._parent_of(found))
        return NewEvent(
            kind,
            strict_json.CheckedJson(raw),
            line_id(name or f"@{line.offset}"),
            parent_id=None if parent is None else line_id(parent),
            created_at=self._time,
        )

    def _text_event(self, line: FileLine) -> NewEvent:
        body: dict[str, Any]
        try:
            body = {"text": line.raw.decode()}
        except UnicodeDecodeError:
            body = {"base64": base64.b64encode(line.raw).decode()}
        if not line.last:
            body["more"] = True
        place = f"@{line.offset}.{line.piece}" if line.piece else f"@{line.offset}"
        return NewEvent(TEXT, strict_json.dump(body), line_id(place), created_at=self._time)

    def _unreadable(self, line: FileLine, reason: str) -> UnreadableLine:
        return UnreadableLine(self.file.path, line.number, reason)


def value_type(value: Any) -> str:
    """The event type of a line: the type that it names, if it may be one."""
    kind = value.get("type") if isinstance(value, dict) else None
    usable = isinstance(kind, str) and _usable(kind) is not None and not kind.startswith(types.PREFIX)
    return str(kind) if usable else LINE


def text_of(payload: Mapping[str, Any]) -> bytes:
    """The bytes of a line, or piece, that was kept as text."""
    return base64.b64decode(payload["base64"]) if "base64" in payload else str(payload["text"]).encode()


def time_of(said: Any) -> int | None:
    """Milliseconds for a time that a line or row says, as text or as a number of them; None if it is none."""
    try:
        ms = from_iso(said) if isinstance(said, str) else said
    except (InvalidInput, OverflowError, ValueError):
        return None
    return ms if isinstance(ms, int) and not isinstance(ms, bool) and 0 <= ms <= LAST_MS else None


def is_piece(event: NewEvent) -> bool:
    """Whether this is a piece of a line that fits no event."""
    return event.type == TEXT and "." in str(event.event_id)


def _value(raw: bytes) -> Any:
    if not raw.strip():
        raise InvalidJson("an empty line", reason="syntax")
    if len(raw) > WHOLE:
        raise InvalidJson(f"a line of {len(raw):,} bytes", reason="size")
    return strict_json.parse(raw)


def _is_padded(raw: bytes) -> bool:
    """Whether there is more in these bytes than their JSON value itself, or a line end within it."""
    return raw[0] <= SPACE or raw[-1] <= SPACE or b"\r" in raw


def _usable(name: Any) -> str | None:
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
        return None
    if name.isascii() and "\0" not in name:
        return name
    try:
        return check_name(name, "a line's name")
    except InvalidInput:
        return None


def _time_of(value: Mapping[str, Any], otherwise: int | None) -> int | None:
    """The line's own time, else that of the line before."""
    found = time_of(value.get("timestamp"))
    return otherwise if found is None else found
