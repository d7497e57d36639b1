"""The sources that are known here, and which of them a folder is."""

from collections.abc import Sequence
from pathlib import Path

from holdfast.core.errors import InvalidInput
from holdfast.transcripts.guard.source import FileSource
from holdfast.transcripts.legacy import LegacySource
from holdfast.transcripts.programs.claude_code import ClaudeCode
from holdfast.transcripts.programs.codex import Codex
from holdfast.transcripts.programs.llm_logs import LlmLogs
from holdfast.transcripts.programs.openclaw import OpenClaw
from holdfast.transcripts.source import TranscriptSource

SOURCES: tuple[TranscriptSource, ...] = (OpenClaw(), ClaudeCode(), Codex(), LlmLogs(), LegacySource())
"""In the order in which they are asked: other programs have folders like our older layout, and are asked first."""


def file_source(name: str) -> FileSource:
    """The source of this name whose sessions are files that can be followed; InvalidInput if there is none."""
    sources: tuple[FileSource, ...] = (ClaudeCode(), Codex(), OpenClaw())
    found = next((source for source in sources if source.name == name), None)
    if found is None:
        known = ", ".join(source.name for source in sources)
        raise InvalidInput(f"{name!r:.80} cannot be guarded", hint=f"--source is one of {known}")
    return found


def recognise(folder: Path, sources: Sequence[TranscriptSource] = SOURCES) -> TranscriptSource | None:
    """The source that this folder, or file, is one of; None if none knows it."""
    return next((source for source in sources if source.recognises(folder)), None)


def source_of(folder: Path, sources: Sequence[TranscriptSource] = SOURCES) -> TranscriptSource:
    """The same; InvalidInput that says what was looked for."""
    found = recognise(folder, sources)
    if found is None:
        known = "; ".join(f"{source.name}: {source.looks_like}" for source in sources)
        raise InvalidInput(f"there are no sessions in {folder} that are known here", hint=f"looked for {known}")
    return found
