"""Calls and results that a runtime tells in words, as the messages that other runtimes send for them.

Some runtimes have one message of the assistant's say which tools it called, and one of the user's hold what they
brought back, what went wrong, and the tasks. Here each of these is a message of its own: a task is the user's, and a
result is a tool's, under the id of its call. What was given to the tool for the last word is the assistant's own, and
no result.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from holdfast.models.messages import SUMMARY_MARK, TEXT_PARTS, Part, PromptMessage, PromptRole, ToolCall
from holdfast.models.simulator.attachments import mentions

FINAL = "final_answer"
"""The tool that takes the last word of a turn."""

CALLS = re.compile(r"^Calling tools:\n(?P<calls>\[.*\])\s*\Z", re.DOTALL | re.MULTILINE)
CALL_ID = r"(?:Call id: \S+\s+)?"
TASK = r"^New task:\n"
OBSERVATION = rf"\A\s*{CALL_ID}Observation:\s*"
FAILURE = rf"^{CALL_ID}Error:\n(?P<failure>(?s:.*?))\nNow let's retry: [^\n]*\n?"
MARK = re.compile(rf"(?P<task>{TASK})|(?P<observation>{OBSERVATION})|(?:{FAILURE})", re.MULTILINE)


@dataclass(slots=True)
class _Piece:
    """What the user or a tool said; one that nothing announced is there only if it has content."""

    role: PromptRole
    announced: bool = False
    parts: list[Part] = field(default_factory=list)

    def add(self, text: str) -> None:
        if text.strip():
            self.parts.append(_words(text))


def as_messages(messages: Sequence[PromptMessage]) -> Iterator[tuple[int, PromptMessage]]:
    """All messages in order, those that tell of several things in their pieces; each with its place in the prompt."""
    calls: list[ToolCall] = []
    for index, message in enumerate(messages):
        if message.role == PromptRole.ASSISTANT:
            calls = [] if message.tool_calls else calls_in(message.text)
            yield index, replace(message, tool_calls=calls) if calls else message
            continue
        pieces = _pieces(message) if message.role == PromptRole.USER else []
        if not pieces:
            yield index, message
        for piece in pieces:
            if piece.role == PromptRole.TOOL:
                yield from ((index, result) for result in _results(piece.parts, calls))
                calls = []
            else:
                yield index, PromptMessage(piece.role, piece.parts)


def calls_in(text: str) -> list[ToolCall]:
    """The calls that an assistant's words say it made, as the list of Python's that they are written as."""
    match = CALLS.search(text)
    try:
        told = ast.literal_eval(match["calls"]) if match else []
        return [ToolCall(str(call["id"]), str(call["function"]["name"]), _arguments(call)) for call in told]
    except (ValueError, SyntaxError, KeyError, TypeError, MemoryError, RecursionError):
        return []


def _arguments(call: dict[str, Any]) -> dict[str, Any]:
    arguments = call["function"].get("arguments")
    return arguments if isinstance(arguments, dict) else {}


def _pieces(message: PromptMessage) -> list[_Piece]:
    """A user message in its pieces; none if it tells of nothing else. What is no text goes with the text before it."""
    content = message.content if isinstance(message.content, list) else [_words(message.content)]
    if message.text.lstrip().startswith(SUMMARY_MARK) or not any(_marks(part) for part in content):
        return []
    pieces = [_Piece(PromptRole.USER)]
    for part in content:
        if part["type"] not in TEXT_PARTS:
            pieces[-1].parts.append(part)
            continue
        start = 0
        for mark in _marks(part):
            pieces[-1].add(part["text"][start : mark.start()])
            start = mark.end()
            if mark["failure"] is not None:
                pieces += [_Piece(PromptRole.TOOL, True, [_words(mark["failure"])]), _Piece(PromptRole.USER)]
            elif mark["observation"] is not None:
                # The pictures of a step stand in front of what it observed.
                pieces[-1].role, pieces[-1].announced = PromptRole.TOOL, True
            else:
                pieces.append(_Piece(PromptRole.USER, True))
        pieces[-1].add(part["text"][start:])
    return [piece for piece in pieces if piece.announced or piece.parts]


def _marks(part: Part) -> list[re.Match[str]]:
    """Where a piece begins in a part, but not in a file that stands in the words."""
    if part["type"] not in TEXT_PARTS:
        return []
    files = mentions(part["text"])
    found = MARK.finditer(part["text"])
    return [mark for mark in found if not any(file.start < mark.start() < file.end for file in files)]


def _results(parts: list[Part], calls: list[ToolCall]) -> list[PromptMessage]:
    """What the calls brought back: a line for each, and for the last one all that is left."""
    if any(call.name == FINAL for call in calls):
        return []
    words = PromptMessage(PromptRole.TOOL, parts).text.strip()
    files = [part for part in parts if part["type"] not in TEXT_PARTS]
    ids: list[str | None] = [call.id for call in calls] or [None]
    lines = words.split("\n", len(ids) - 1)
    return [
        PromptMessage(PromptRole.TOOL, [*([] if number else files), _words(line)], tool_call_id=call_id)
        for number, (line, call_id) in enumerate(zip([*lines, *[""] * (len(ids) - len(lines))], ids, strict=True))
    ]


def _words(text: str) -> Part:
    return {"type": "text", "text": text}
