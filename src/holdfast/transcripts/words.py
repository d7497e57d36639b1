"""What a line of a transcript says in words, whichever program wrote it: for titles, and for people who look.

The words are those of a message: a text, or a list of parts with texts, calls of tools and what these gave back.
"""

from collections.abc import Mapping
from typing import Any

TITLE = 80
MOST = 4_000
MESSAGES = ("message", "payload")
"""Where lines have their message, if they are none themselves."""
WORDS = ("content", "text", "messages", "parts", "summary", "prompt", "lastPrompt", "message", "output")
CALLS = frozenset({"tool_use", "toolCall", "function_call", "custom_tool_call"})
RESULTS = frozenset({"tool_result", "toolResult", "function_call_output", "custom_tool_call_output"})


def words_of(line: Any, *, most: int | None = MOST) -> str:
    """The words of a line, the first of them if they are many; empty if it has none that are meant for people."""
    return _said(line, 6)[:most].strip()


def speaker_of(line: Any) -> str | None:
    """Who says them: the role of the message; None if the line names none."""
    if not isinstance(line, Mapping):
        return None
    inner = (line.get(name) for name in MESSAGES)
    roles = (each.get("role") for each in (*inner, line) if isinstance(each, Mapping))
    return next((role for role in roles if isinstance(role, str)), None)


def title_of(words: str) -> str:
    """The words as a title: one line, cut."""
    line = " ".join(words.split())
    return line if len(line) <= TITLE else line[: TITLE - 1] + "…"


def _said(value: Any, levels: int) -> str:
    if isinstance(value, str):
        return value
    if not levels:
        return ""
    if isinstance(value, list):
        return "\n".join(filter(None, (_said(each, levels - 1) for each in value)))
    if not isinstance(value, Mapping):
        return ""
    kind = value.get("type")
    if kind in CALLS:
        given = value.get("input", value.get("arguments", ""))
        return f"{value.get('name', 'tool')} {given if isinstance(given, str) else _values(given)}".strip()
    if kind in RESULTS:
        return _said(value.get("content", value.get("output", "")), levels - 1)
    if "prompt" in value and "response" in value:
        return "\n".join(filter(None, (_said(value[name], levels - 1) for name in ("prompt", "response"))))
    for name in MESSAGES:
        if isinstance(value.get(name), Mapping):
            return _said(value[name], levels - 1)
    return next((said for name in WORDS if (said := _said(value.get(name), levels - 1))), "")


def _values(given: Any) -> str:
    if not isinstance(given, Mapping):
        return ""
    return " ".join(str(each) for each in given.values() if isinstance(each, str | int | float))
