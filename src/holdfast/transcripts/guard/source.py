"""A source that can be guarded: one whose sessions are files of lines that grow."""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from holdfast.transcripts.files.folder_walk import Names
from holdfast.transcripts.files.json_lines import JsonLines
from holdfast.transcripts.source import Transcript, TranscriptSource


class FileSource(TranscriptSource, Protocol):
    """A source with one file for each session."""

    def paths(self, folder: Path, names: Names = ...) -> Iterator[Path]:
        """The file of every session, parents before their children; `names` lists folders, and nothing is read."""
        ...

    def transcript(self, path: Path) -> Transcript:
        """What the session of this file is, as far as its first lines say."""
        ...

    def reader(self, path: Path) -> JsonLines:
        """The lines of a session's file, as they come."""
        ...
