"""What a user can tell the simulator to do: append a line to a file through a tool, or say something."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.models.messages import Tool

APPEND = re.compile(
    r"\bappend the line (?P<quote>[\"'`]?)(?P<text>[^\n]{1,2000}?)(?P=quote)"
    r" to the file [\"'`]?(?P<file>[^\s\"'`]*\w)[\"'`]?",
    re.IGNORECASE,
)
SAY = re.compile(r"\Asay[: ]\s*(.+)", re.IGNORECASE | re.DOTALL)

APPEND_TOOL = "append_file"


@dataclass(frozen=True, slots=True)
class Append:
    """A line to be appended to a file."""

    file_path: str
    text: str


def appends(words: str) -> list[Append]:
    """The lines that some words ask to append, in order."""
    if SAY.match(words):
        return []
    return [Append(match["file"], match["text"]) for match in APPEND.finditer(words)]


def to_say(words: str) -> str:
    """What some words ask to say: all of them, unless they begin with `say`."""
    match = SAY.match(words)
    return match[1] if match else words


def without_commands(words: str) -> str:
    """Some words without what they ask to write or to say, which the user does not mean."""
    return APPEND.sub("", SAY.sub("", words))


def can_append(tools: Sequence[Tool]) -> bool:
    """Whether a tool is offered that appends a line to a file."""
    return any(
        tool.name == APPEND_TOOL and {"file_path", "text"} <= set(tool.parameters.get("properties", {}))
        for tool in tools
    )
