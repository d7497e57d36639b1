"""What every source of transcripts gives: sessions, and their lines as events.

A line's event has the line's bytes as its payload, unchanged, and an id that follows from where the line is: the
line's own uuid, or its place in its file, never its body. So a line that is read twice is one event, and two lines
that say the same are two.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from holdfast.core import NewEvent


class TranscriptLine(NamedTuple):
    """A line, or row, that became an event."""

    file: Path
    line: int
    event: NewEvent


class UnreadableLine(NamedTuple):
    """A line that is torn, or not JSON as we keep it."""

    file: Path
    line: int
    reason: str
    event: NewEvent | None = None
    """Its text, where that can be kept."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """One session of a source, as far as it is known before its lines are read."""

    session_id: str
    files: tuple[Path, ...]
    """What it is read from, its main file first."""
    key: str | None = None
    """The key that routes to it, where the source has such keys."""
    other_keys: tuple[str, ...] = ()
    agent: str | None = None
    parent_session: str | None = None
    created_at: int | None = None
    updated_at: int | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()


class RefusedTranscript(NamedTuple):
    """A session that cannot be imported, and why."""

    session_id: str
    file: str | None
    code: str
    reason: str


class TranscriptSource(Protocol):
    """A program's way to keep sessions. Its methods block; every error of one session is a HoldfastError."""

    name: str
    """What users call it: "claude-code"."""
    looks_like: str
    """What such a folder has, in a few words: "projects/<folder>/<session>.jsonl"."""

    def recognises(self, folder: Path) -> bool:
        """Whether this folder, or file, is one of the program's."""
        ...

    def transcripts(self, folder: Path) -> Iterator[Transcript | RefusedTranscript]:
        """Every session in it, parents before their children; one that is already known to be none is refused."""
        ...

    def lines(self, transcript: Transcript) -> Iterator[TranscriptLine | UnreadableLine]:
        """The session's lines in their order."""
        ...
