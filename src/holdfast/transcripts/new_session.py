"""A transcript as a new session: its log, sealed and ready to arrive, and what it says of itself.

This only reads, so it may be done ahead of the store, and by another process.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.core import Route
from holdfast.core.event_bodies import SessionCreated
from holdfast.core.ids import check_name
from holdfast.store.portable import SealedLog, SessionHeader
from holdfast.transcripts.kept_lines import LineNotes, kept_lines
from holdfast.transcripts.line_ends import line_ends
from holdfast.transcripts.masking import masked_metadata
from holdfast.transcripts.relinks import relinked
from holdfast.transcripts.source import Transcript, TranscriptSource


class TranscriptLog(NamedTuple):
    """The log of a session that is not in the store yet. Close it when it has arrived."""

    transcript: Transcript
    header: SessionHeader
    log: SealedLog
    lines: int
    notes: LineNotes


@dataclass(frozen=True, slots=True)
class TranscriptReader:
    """Reads the transcripts of a source, which lie in a folder, as one import asks. It blocks."""

    source: TranscriptSource
    folder: Path
    masks: bool
    relinks: Mapping[str, str]

    def read(self, transcript: Transcript) -> TranscriptLog:
        """A transcript as the log of a new session; a HoldfastError if it cannot be read."""
        log, notes = SealedLog(transcript.session_id), LineNotes()
        try:
            events = kept_lines(self.source, transcript, notes, masks=self.masks)
            first = next(events, None)
            created_at = transcript.created_at
            if created_at is None:
                created_at = first.created_at or 0 if first is not None else 0
            last = max(created_at, transcript.updated_at or 0)
            body = self.description(transcript, self.relinks, masks=self.masks)
            log.own(body, _description_id(transcript.session_id), created_at)
            for event in chain([] if first is None else [first], events):
                log.add(event)
                last = max(last, event.created_at or 0)
            keys = () if transcript.key is None else (transcript.key, *transcript.other_keys)
            routes = [Route(key, transcript.session_id, created_at, None) for key in keys]
            header = log.header(created_at, last, routes)
        except BaseException:
            log.close()
            raise
        return TranscriptLog(transcript, header, log, log.head_seq - 1, notes)

    def description(self, transcript: Transcript, relinks: Mapping[str, str], *, masks: bool) -> SessionCreated:
        """What a session says of itself, with the folders that it names where these are now."""
        body = description(self.source, self.folder, transcript, masks=masks)
        metadata = relinked(body.metadata or {}, relinks)
        if not masks and transcript.files:
            metadata["source"] |= line_ends(transcript.files[0])
        body.metadata = metadata
        return body


def description(
    source: TranscriptSource, folder: Path, transcript: Transcript, *, masks: bool = False
) -> SessionCreated:
    """What an imported session says of itself; `source` in its metadata tells where it was read."""
    read_from: dict[str, Any] = {"name": source.name, "folder": str(folder.absolute())}
    if transcript.files:
        read_from["file"] = name_below(folder, transcript.files[0])
    metadata = {**transcript.metadata, "source": read_from}
    body = SessionCreated(metadata=masked_metadata(metadata) if masks else metadata, tags=list(transcript.tags))
    if transcript.agent is not None:
        body.agent = check_name(transcript.agent, "an agent's name")
    if transcript.parent_session is not None:
        body.parent_session = transcript.parent_session
    return body


def name_below(folder: Path, file: Path) -> str:
    """A file's path below the folder; for one that is elsewhere, a name made from its path."""
    try:
        name = file.relative_to(folder).as_posix()
        return file.name if name == "." else name
    except ValueError:
        return f"{sha256(str(file).encode()).hexdigest()[:16]}-{file.name}"


def _description_id(session_id: str) -> str:
    return f"import-{sha256(session_id.encode()).hexdigest()[:40]}"
