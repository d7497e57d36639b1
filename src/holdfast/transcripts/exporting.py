"""Imported sessions as the files that they came from, byte for byte.

A file is written from the lines that its session has; what happened in the session since is no line and is not in it. A
session whose secrets were masked gives its masked lines, which is told. So is one whose file was rewritten while it was
kept: lines of several versions are in it.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from holdfast.core import Event, strict_json
from holdfast.core.durable_files import make_folder
from holdfast.core.errors import Conflict, InvalidInput
from holdfast.store.portable import replacing
from holdfast.store.transfer import ExportSource, OnProgress
from holdfast.transcripts.files.json_lines import PREFIX, TEXT, text_of
from holdfast.transcripts.kept_lines import VERSION
from holdfast.transcripts.line_ends import LINES, line_end_of, tail_after
from holdfast.transcripts.masking import is_masked

PAGE = 1_000


@dataclass(slots=True)
class TranscriptExport:
    """What was written, which sessions came from no file of lines, and which files are not what they were."""

    sessions: int = 0
    events: int = 0
    others: list[str] = field(default_factory=list)
    masked: list[str] = field(default_factory=list)
    rewritten: list[str] = field(default_factory=list)


async def export_transcripts(
    sessions: ExportSource,
    root: Path,
    session_ids: Sequence[str],
    progress: OnProgress | None = None,
    *,
    force: bool = False,
) -> TranscriptExport:
    """Write the files of these sessions, or of all, below a folder; one that is named must have come from a file.

    Conflict if a file is there already, unless it is to be replaced.
    """
    done = TranscriptExport()
    async for session_id in _chosen(sessions, session_ids):
        session, _ = await sessions.session(session_id)
        name = file_of(session.metadata)
        if name is None:
            if session_ids:
                raise InvalidInput(f"session {session_id!r} was not imported from a file of lines")
            done.others.append(session_id)
            continue
        path = root / name
        if path.exists() and not force:
            raise Conflict(f"{path} is there already", hint="name a new folder, or use --force", path=str(path))
        make_folder(path.parent)
        written = await _write(sessions, session_id, session.head_seq, session.metadata["source"], path)
        done.events += written.lines
        done.sessions += 1
        if written.versions:
            done.rewritten.append(session_id)
        if is_masked(session.metadata):
            done.masked.append(session_id)
        if progress is not None:
            progress(done.sessions, done.events)
    return done


def file_of(metadata: Mapping[str, Any]) -> PurePosixPath | None:
    """The path of a session's file below its folder; None if it came from no file of lines."""
    source = metadata.get("source")
    said = source.get("file") if isinstance(source, dict) else None
    if not isinstance(said, str) or not said.endswith(LINES):
        return None
    path = PurePosixPath(said)
    return None if path.is_absolute() or ".." in path.parts or "\0" in said else path


class _Written(NamedTuple):
    lines: int
    versions: bool
    """Whether there are lines among them of a file that was rewritten."""


async def _write(sessions: ExportSource, session_id: str, head: int, source: Mapping[str, Any], path: Path) -> _Written:
    after = count = 0
    last, end, line_end = b"", b"", line_end_of(source)
    versions = False
    with replacing(path) as file:
        while after < head:
            async for event in sessions.events(session_id, after, PAGE):
                after = event.seq
                if event.event_id.startswith(PREFIX):
                    file.write(last + end)
                    last, end = _bytes(event, line_end)
                    if not count and event.type == TEXT and last.endswith(b"\r"):
                        line_end = b"\r\n"
                    versions = versions or VERSION in event.event_id
                    count += 1
        tail = tail_after(source, last)
        file.write(tail if tail and last == tail else last + end + tail)
    return _Written(count, versions)


def _bytes(event: Event, end: bytes) -> tuple[bytes, bytes]:
    """The bytes of a line and its end, or of a piece of one, which has none."""
    if event.type != TEXT:
        return event.payload, end
    said = strict_json.parse(event.payload)
    return text_of(said), b"" if said.get("more") else b"\n"


async def _chosen(sessions: ExportSource, session_ids: Sequence[str]) -> AsyncIterator[str]:
    for session_id in session_ids:
        yield session_id
    if not session_ids:
        async for session_id in sessions.session_ids():
            yield session_id
