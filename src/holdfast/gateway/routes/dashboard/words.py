"""The words of an event, for people: what a user or the agent said, or what an action is about."""

from typing import Any, Literal, NamedTuple

from holdfast.core import strict_json, types
from holdfast.core.errors import InvalidJson

Voice = Literal["user", "agent", "action"]
USERS = frozenset({"user", "human"})
SYSTEM = "system"
CUT = "…"
MOST = 4_000


class EventWords(NamedTuple):
    """Who says something, and what."""

    role: Voice
    text: str


def words_in(type: str, payload: bytes | None, *, most: int | None = MOST) -> EventWords | None:
    """What an event says, in so many characters; None if it is one of the store's own, or says nothing. One without a
    payload is too large to be looked at, or was erased: of that only an action's type is told."""
    if type.startswith(types.PREFIX) and type != types.RESPONSE:
        return None
    value = _value(payload)
    if type == types.MESSAGE:
        return message_words(value, most)
    text = text_of(value, most)
    if type == types.RESPONSE:
        return EventWords("agent", text) if text else None
    return EventWords("action", f"{type}: {text}" if text else type)


def message_words(value: Any, most: int | None = MOST) -> EventWords | None:
    """What a message says, whoever wrote it; None if it is none, or says nothing to people."""
    from holdfast.transcripts.words import speaker_of

    text = text_of(value, most) or _file_names(value)
    speaker = speaker_of(value)
    if not text or speaker == SYSTEM:
        return None
    return EventWords("user" if speaker in USERS else "agent", text)


def text_of(value: Any, most: int | None = MOST) -> str:
    """The words in a JSON value, if it has some."""
    from holdfast.transcripts import words_of

    return words_of(value, most=most)


def one_line(text: str, most: int) -> str:
    """The text in one line, cut."""
    line = " ".join(text[: most * 4].split())
    return line if len(line) <= most else line[: most - len(CUT)] + CUT


def _file_names(value: Any) -> str:
    """The names of the files of a message that has no words."""
    parts = value.get("parts") if isinstance(value, dict) else None
    names = (part.get("filename") for part in parts if isinstance(part, dict)) if isinstance(parts, list) else ()
    return ", ".join(name for name in names if isinstance(name, str))


def _value(payload: bytes | None) -> Any:
    try:
        return strict_json.parse(payload) if payload else None
    except InvalidJson:
        return None
