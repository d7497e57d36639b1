"""Keeps what changed: the lines of a file that the store does not have yet, in their order.

What the store has is the only state that counts. A file that this process has not read yet, and that is not known from
an earlier run (`known_files`), is compared with the last line that the store has of it; if they differ, all of it is
offered, and lines that are there already are recognised by their ids. So whoever is killed, wherever, misses nothing
and writes nothing twice. A file that is shorter than before, or another one, is offered again from its beginning: what
was kept stays, what is new is added, and it is said.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from holdfast.core import HoldfastError, NewEvent
from holdfast.core.errors import NotFound, SessionGone
from holdfast.core.event_bodies import SessionCreated
from holdfast.core.problem import problem
from holdfast.store.transfer import ImportDestination, is_of_the_session
from holdfast.transcripts.files.folder_walk import refuse_links
from holdfast.transcripts.files.json_lines import JsonLines
from holdfast.transcripts.guard.known_files import KnownFile, KnownFiles, LogEnd
from holdfast.transcripts.guard.watch import FileSignature, FolderWatch
from holdfast.transcripts.kept_lines import LINE_REFUSED, KeptLines, LineNote, LineNotes
from holdfast.transcripts.line_versions import append_lines, next_batch
from holdfast.transcripts.new_session import description
from holdfast.transcripts.source import Transcript

MOST_FOLLOWED = 64
"""How many files are gone on with where they were left; of others, what the store has is offered again."""

REWRITTEN = "file_rewritten"
ANEW = "the file was written anew: what was kept stays, and what is new in it is added"
OTHER_LINE = "another line was kept in this place: both stay"


class NewestLine(NamedTuple):
    """What a session has: the id of its newest line, if that is near its end, and whether its secrets are masked."""

    event_id: str | None
    masked: bool


class GuardDestination(ImportDestination, Protocol):
    """Where guarded sessions go."""

    async def newest_line(self, session_id: str) -> NewestLine | None:
        """What there is of a session; None if there is no such session. SessionGone if it was deleted."""
        ...

    async def describe(self, session_id: str, body: SessionCreated) -> None:
        """Make a session with this description."""
        ...

    async def log_ends(self, session_ids: Sequence[str]) -> dict[str, LogEnd]:
        """Where the logs of those of these sessions end that are there."""
        ...


@dataclass(slots=True)
class GuardReport:
    """What a guard has done so far."""

    sessions: int = 0
    """Those that are new here."""
    lines: int = 0
    masked: int = 0
    """How many of these had a secret in them that was masked."""
    notes: LineNotes = field(default_factory=LineNotes)
    refused: dict[str, str] = field(default_factory=dict)
    """Sessions that could not be kept, and why."""


@dataclass(slots=True)
class _Followed:
    transcript: Transcript
    reader: JsonLines
    lines: KeptLines


class TranscriptGuard:
    """Keeps the files of one watch in a destination that is named at every call."""

    def __init__(self, watch: FolderWatch, *, masks: bool, known: KnownFiles | None = None) -> None:
        self.watch = watch
        self.report = GuardReport()
        self._masks = masks
        self._known = known
        self.recalled = known is None
        """Whether what an earlier run has kept is known by now."""
        self._kept: dict[Path, tuple[FileSignature, str]] = {}
        """Files that were kept, and their sessions, which are not noted as known yet."""
        self._followed: OrderedDict[Path, _Followed] = OrderedDict()

    async def recall(
        self, destination: GuardDestination, changes: Mapping[Path, FileSignature]
    ) -> dict[Path, FileSignature]:
        """The changes without the files that an earlier run has kept as they are; those are known from now on."""
        rest = dict(changes)
        if self._known is not None and not self.recalled:
            known = await asyncio.to_thread(self._known.unchanged, changes)
            ends = await destination.log_ends([each.session_id for each in known.values()]) if known else {}
            for path, each in known.items():
                if ends.get(each.session_id) == each.end:
                    self.watch.keep(path, rest.pop(path))
        self.recalled = True
        return rest

    async def remember(self, destination: GuardDestination) -> None:
        """Note what was kept since this was last done, for whoever guards these files next."""
        kept, self._kept = self._kept, {}
        if self._known is not None and kept:
            ends = await destination.log_ends([session_id for _, session_id in kept.values()])
            found = {
                path: KnownFile(signature, session_id, ends[session_id])
                for path, (signature, session_id) in kept.items()
                if session_id in ends
            }
            await asyncio.to_thread(self._known.note, found)

    async def keep(self, destination: GuardDestination, path: Path, signature: FileSignature) -> int:
        """Keep what is new in a file; how many lines. An error that is no matter of one session is raised."""
        refused = self.report.notes.counts[LINE_REFUSED]
        self._kept.pop(path, None)
        try:
            session_id, count = await self._keep(destination, path)
        except HoldfastError as error:
            if isinstance(error, NotFound):
                return 0  # it was deleted meanwhile
            if not is_of_the_session(error):
                raise
            self.report.refused[str(path)] = problem(error)["detail"]
            count = 0
        else:
            self.report.refused.pop(str(path), None)
            if self.watch.is_settled(signature) and self.report.notes.counts[LINE_REFUSED] == refused:
                self._kept[path] = signature, session_id
        self.watch.keep(path, signature)
        return count

    async def _keep(self, destination: GuardDestination, path: Path) -> tuple[str, int]:
        """The session of a file, and how many of its lines are new there."""
        refuse_links(self.watch.folder, path)
        followed = self._followed.pop(path, None) or await self._follow(destination, path)
        if isinstance(followed, str):
            return followed, 0
        events, count = _Events(followed, self.report.notes), 0
        while batch := await asyncio.to_thread(next_batch, events):
            new = await self._append(destination, followed, batch)
            self.report.masked += sum(event.event_id in followed.lines.masked for event in batch[len(batch) - new :])
            count += new
        self.report.lines += count
        self._followed[path] = followed  # only now: whoever fails before this begins again
        if len(self._followed) > MOST_FOLLOWED:
            self._followed.popitem(last=False)
        return followed.transcript.session_id, count

    async def _follow(self, destination: GuardDestination, path: Path) -> _Followed | str:
        """A file from its beginning; only its session if the store has its last line already."""
        source = self.watch.source
        transcript = await asyncio.to_thread(source.transcript, path)
        reader = source.reader(path)
        last = await asyncio.to_thread(reader.last_id)
        here = await destination.newest_line(transcript.session_id)
        if here is not None and last is not None and here.event_id == last:
            return transcript.session_id
        if here is None:
            await destination.describe(
                transcript.session_id, description(source, self.watch.folder, transcript, masks=self._masks)
            )
            self.report.sessions += 1
        masks = self._masks if here is None else here.masked
        lines = KeptLines(transcript.session_id, self.report.notes, transcript.created_at or 0, masks=masks)
        return _Followed(transcript, reader, lines)

    async def _append(self, destination: GuardDestination, followed: _Followed, batch: list[NewEvent]) -> int:
        """Append lines together, or each by itself if one of them is refused, which is then told and left out."""
        session_id, file = followed.transcript.session_id, followed.reader.file

        def told(code: str, said: str) -> None:
            self.report.notes.add(LineNote(code, session_id, file.path, file.number, said))

        def versioned(event: NewEvent) -> None:
            told(REWRITTEN, f"{event.event_id}: {OTHER_LINE}")

        try:
            return await append_lines(destination, session_id, batch, versioned=versioned)
        except HoldfastError as error:
            if not is_of_the_session(error) or problem(error)["code"] == SessionGone.code:
                raise
        count = 0
        for event in batch:
            try:
                count += await append_lines(destination, session_id, [event], versioned=versioned)
            except HoldfastError as error:
                if not is_of_the_session(error):
                    raise
                told(LINE_REFUSED, f"{event.event_id}: {error.message}")
        return count


class _Events:
    """The events of the lines that are new in a file; whether it was written anew is told, and it begins again."""

    def __init__(self, followed: _Followed, notes: LineNotes) -> None:
        self._followed = followed
        self._notes = notes
        self._lines = followed.reader.lines(to_the_end=False)

    def __iter__(self) -> Iterator[NewEvent]:
        return self

    def __next__(self) -> NewEvent:
        file = self._followed.reader.file
        while True:
            before = file.rewrites
            line = next(self._lines, None)
            if file.rewrites != before:
                self._followed.lines.begin_again()
                session_id = self._followed.transcript.session_id
                self._notes.add(LineNote(REWRITTEN, session_id, file.path, file.number, ANEW))
            if line is None:
                raise StopIteration
            event = self._followed.lines.event(line)
            if event is not None:
                return event
