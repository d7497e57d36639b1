"""The recorded history of one proof: what was done to the target, and what was seen, in order.

A checker reads nothing but this, so a verdict can be reached again from the evidence alone.
"""

from dataclasses import dataclass
from typing import Any, Literal

from holdfast.prove.replies import Reply


@dataclass(frozen=True, slots=True)
class Turn:
    """A message that was sent and the reply that came."""

    step: str
    context_id: str
    said: str
    reply: Reply
    seconds: float
    curl: str


@dataclass(frozen=True, slots=True)
class Look:
    """A question for a task's state and the reply that came; `within` is how long one was ready to ask."""

    step: str
    task_id: str
    reply: Reply
    within: float
    curl: str


@dataclass(frozen=True, slots=True)
class Power:
    """The target was started, stopped or killed; `trouble` says what went wrong, if anything."""

    step: str
    action: Literal["start", "stop", "kill"]
    seconds: float
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class FileSeen:
    """How often a line is in a file of the target's workspace.

    `path` is empty where the workspace cannot be seen, `count` is None where the file cannot be read.
    """

    step: str
    path: str
    line: str
    count: int | None


@dataclass(frozen=True, slots=True)
class Page:
    """A GET and what came: `document` is the JSON object in it, None if there is none."""

    step: str
    url: str
    status: int
    start_of_body: str
    document: dict[str, Any] | None


Entry = Turn | Look | Power | FileSeen | Page


class History:
    """One proof's entries, looked up by step. A step that was not taken has no entry."""

    def __init__(self, *entries: Entry) -> None:
        self.entries: list[Entry] = list(entries)

    def add(self, entry: Entry) -> None:
        """Record what just happened."""
        self.entries.append(entry)

    def took(self, step: str) -> bool:
        """Whether the step was taken at all."""
        return any(entry.step == step for entry in self.entries)

    def turn(self, step: str) -> Turn:
        """The turn of a step."""
        return next(entry for entry in self.entries if isinstance(entry, Turn) and entry.step == step)

    def last_look(self, step: str) -> Look:
        """The newest sight of a task in a step."""
        return next(entry for entry in reversed(self.entries) if isinstance(entry, Look) and entry.step == step)

    def power(self, step: str) -> Power:
        """The start, stop or kill of a step."""
        return next(entry for entry in self.entries if isinstance(entry, Power) and entry.step == step)

    def file(self, step: str) -> FileSeen:
        """What a step saw in the workspace."""
        return next(entry for entry in self.entries if isinstance(entry, FileSeen) and entry.step == step)

    def pages(self) -> list[Page]:
        """Every GET, in order."""
        return [entry for entry in self.entries if isinstance(entry, Page)]
