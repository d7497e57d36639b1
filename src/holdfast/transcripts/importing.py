"""Importing transcripts: every line becomes an event once, and the record says what was read and what came of it.

A session that is new arrives whole, from an archive of it, small ones many at a time. One that is there is gone on
with, by what it lacks. One that cannot be read, or is refused, is named with its reason, and the others arrive. The
record is on the disk before anything is written, so an import that was killed is run again and is then complete, and
can be taken back as if it had never been interrupted.

Much is read by another process, ahead of the store by a little: that process only reads, and ends with this one.

Files of other programs are copied to the record and never touched; those of sessions whose secrets are masked are not
copied. Only those of a source that is `ours` are moved there, once their sessions are in the store.
"""

import asyncio
import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, Protocol

from holdfast.core import HoldfastError
from holdfast.core.errors import InvalidInput, SessionArriving
from holdfast.core.event_bodies import SessionCreated
from holdfast.core.ids import check_session_id
from holdfast.core.problem import problem
from holdfast.store.transfer import (
    ImportDestination,
    ImportRecord,
    MissingDocuments,
    SessionDocuments,
    begin_record,
    is_of_the_session,
    origin,
    unfinished_record,
)
from holdfast.transcripts.files.folder_walk import refuse_links
from holdfast.transcripts.kept_lines import LineNotes, kept_lines
from holdfast.transcripts.line_versions import append_lines, next_batch
from holdfast.transcripts.masking import is_masked
from holdfast.transcripts.new_session import TranscriptLog, TranscriptReader, name_below
from holdfast.transcripts.reader import ReaderProcess
from holdfast.transcripts.relinks import relinks_of
from holdfast.transcripts.source import RefusedTranscript, Transcript, TranscriptSource

APART_BYTES = 4 * 1024 * 1024
"""More bytes of files than these are read by another process; to start it for fewer takes longer than it saves."""
PACK_SESSIONS = 200
"""New sessions arrive together, up to so many, and so many bytes as suit their destination."""
AGAIN_SECONDS = 0.1
ARRIVAL_SECONDS = 60.0
"""How long to wait for sessions that another import brings, or has left half-way: the store undoes those by itself."""

OnProgress = Callable[[int, int], None]
"""Called with how many transcripts are done, and of how many."""


@dataclass(slots=True)
class TranscriptImport:
    """What an import did, and where its record is."""

    record: Path
    source: str
    sessions: list[str] = field(default_factory=list)
    there_before: list[str] = field(default_factory=list)
    events: int = 0
    notes: LineNotes = field(default_factory=LineNotes)
    refused: list[RefusedTranscript] = field(default_factory=list)
    moved: int = 0


class TranscriptDestination(ImportDestination, Protocol):
    """Where imported transcripts go."""

    async def masked(self, session_ids: Sequence[str]) -> set[str]:
        """Those of these sessions that are there and were begun with their secrets masked."""
        ...


async def import_transcripts(
    destination: TranscriptDestination,
    source: TranscriptSource,
    folder: Path,
    place: Path,
    progress: OnProgress | None = None,
    *,
    moves: bool = False,
    masks: bool = False,
    relinks: Mapping[str, str] | None = None,
    pack: int = PACK_SESSIONS,
    apart: int = APART_BYTES,
) -> TranscriptImport:
    """Import every transcript of a source; the record is a folder of `place`, and files are moved there if asked.

    With `masks` the secrets in new sessions are masked; one that is there goes on as it was begun.
    `relinks` are folders that were renamed or moved, old to new. So many new sessions as `pack` says arrive together.
    If the files have more than `apart` bytes, another process reads them; half as many are read here while it starts.
    ReaderFailed if it dies.
    """
    about = {**origin(source.name, folder), "moves": moves, **({"masks": True} if masks else {})}
    finished = await asyncio.to_thread(finish_moves, place, about) if moves else None
    found = await asyncio.to_thread(lambda: list(map(partial(_refused_link, folder), source.transcripts(folder))))
    if not found:
        if finished is not None:
            return finished
        raise InvalidInput(f"there is no session in {folder}", hint=f"looked for {source.looks_like}")
    transcripts = [each for each in found if isinstance(each, Transcript)]
    masked = set() if masks or moves else await destination.masked([each.session_id for each in transcripts])
    files = names_in_record(folder, [] if masks else transcripts, without=masked)  # a copy would have the secrets
    reader = TranscriptReader(source, folder, masks, relinks or {})
    with await asyncio.to_thread(begin_record, place, about, files) as record, ReaderProcess(reader) as process:
        if await asyncio.to_thread(any, beyond(transcripts, apart)):
            await asyncio.to_thread(process.start)
        if not moves:
            await asyncio.to_thread(record.copy)
        done = TranscriptImport(record.path, source.name)
        run = _Import(destination, reader, process, record, done, pack)
        run.done.refused += [each for each in found if isinstance(each, RefusedTranscript)]
        heads = await destination.heads([each.session_id for each in transcripts])
        new = [each for each in transcripts if each.session_id not in heads]
        await asyncio.to_thread(process.order, beyond(new, apart // 2))
        for number, transcript in enumerate(transcripts):
            if progress is not None:
                progress(number, len(transcripts))
            await run.take(transcript, heads.get(transcript.session_id))
        await run.flush()
        await run.wait_for_others()
        if progress is not None:
            progress(len(transcripts), len(transcripts))
        if moves:
            await asyncio.to_thread(run.move, transcripts)
        earlier = None if run.changed else await asyncio.to_thread(record.give_way)
        if earlier is not None:
            run.done.record = earlier
        else:
            await asyncio.to_thread(record.end)
    return run.done


def finish_moves(place: Path, about: dict[str, Any]) -> TranscriptImport | None:
    """Go on with the moves of an import that died after its sessions were in the store; None if there is none."""
    record = unfinished_record(place, about)
    if record is None:
        return None
    with record:
        if record.moving is None:
            return None
        record.move(())
        record.end()
        return TranscriptImport(record.path, about["source"], list(record.made), moved=len(record.moving))


def _refused_link(folder: Path, found: Transcript | RefusedTranscript) -> Transcript | RefusedTranscript:
    """A transcript, refused if a link leads out of the folder to one of its files."""
    if isinstance(found, RefusedTranscript):
        return found
    try:
        for file in found.files:
            refuse_links(folder, file)
    except HoldfastError as error:
        return RefusedTranscript(found.session_id, str(found.files[0]), error.code, error.message)
    return found


def beyond(transcripts: Iterable[Transcript], size: int) -> Iterator[Transcript]:
    """The transcripts after those at the beginning whose files have so many bytes."""
    for transcript in transcripts:
        if size <= 0:
            yield transcript
            continue
        with contextlib.suppress(OSError):
            size -= transcript.files[0].lstat().st_size if transcript.files else 0


def names_in_record(
    folder: Path, transcripts: Sequence[Transcript], *, without: Collection[str] = ()
) -> list[tuple[Path, str]]:
    """Every file of these transcripts once, with the name that it has in a record; without those of some sessions."""
    files = dict.fromkeys(file for transcript in transcripts for file in transcript.files)
    left_out = {file for transcript in transcripts if transcript.session_id in without for file in transcript.files}
    return [(file, f"files/{name_below(folder, file)}") for file in files if file not in left_out]


@dataclass(slots=True)
class _Import:
    destination: TranscriptDestination
    reader: TranscriptReader
    process: ReaderProcess
    record: ImportRecord
    done: TranscriptImport
    most: int
    """So many new sessions arrive together."""
    supplied: bool = False
    """Whether a session that was there got something beside its lines."""
    _pack: list[TranscriptLog] = field(default_factory=list)
    """New sessions that wait to be brought in; then their ids, and the bytes of their payloads."""
    _packed: set[str] = field(default_factory=set)
    _size: int = 0
    _seen: set[str] = field(default_factory=set)
    _arriving: list[Transcript] = field(default_factory=list)

    @property
    def changed(self) -> bool:
        """Whether anything came of the import."""
        return bool(self.record.made or self.record.moving or self.done.events or self.supplied)

    async def take(self, transcript: Transcript, head: int | None) -> None:
        """Import one transcript, which has a session with this head or none; perhaps later, together with others."""
        try:
            session_id = check_session_id(transcript.session_id)
            if session_id in self._packed or transcript.parent_session in self._packed:
                await self.flush()
            if session_id in self._seen:
                head = await self.destination.head(session_id)
            self._seen.add(session_id)
            if head is None:
                new = await asyncio.to_thread(self.process.read, transcript)
                self._pack.append(new)
                self._packed.add(session_id)
                self._size += new.log.size
            else:
                await self._go_on(transcript, head)
        except HoldfastError as error:
            self._refuse(transcript, error)
        if len(self._pack) >= self.most or self._size >= self.destination.pack_bytes:
            await self.flush()

    async def flush(self) -> None:
        """Bring in the new sessions that wait: together, or each by itself if one of them is refused."""
        pack, self._pack, self._packed, self._size = self._pack, [], set(), 0
        if not pack:
            return
        try:
            heads = {new.transcript.session_id: new.header.head_seq for new in pack}
            await asyncio.to_thread(self.record.making, heads)
            try:
                await self._add(pack)
            except HoldfastError as error:
                if not is_of_the_session(error):
                    raise
                await self._add_each(pack)
            else:
                for new in pack:
                    self._made(new)
        finally:
            for new in pack:
                new.log.close()

    async def wait_for_others(self) -> None:
        """Go on with sessions that were arriving by another import; one that died is undone by the store meanwhile."""
        until = monotonic() + ARRIVAL_SECONDS
        while self._arriving:
            again, self._arriving = self._arriving, []
            if monotonic() > until:
                self.done.refused += map(_still_arriving, again)
                return
            await asyncio.sleep(AGAIN_SECONDS)
            for transcript in again:
                try:
                    head = await self.destination.head(transcript.session_id)
                except HoldfastError as error:
                    self._refuse(transcript, error)
                else:
                    await self.take(transcript, head)
            await self.flush()

    def move(self, transcripts: Sequence[Transcript]) -> None:
        """Move the files of which every session is in the store, those of single sessions first."""
        refused = {each.session_id for each in self.done.refused}
        stays = {file.absolute() for each in transcripts if each.session_id in refused for file in each.files}
        stays |= {Path(each.file).absolute() for each in self.done.refused if each.file is not None}
        last = {file.absolute() for each in transcripts for file in each.files[1:]}
        files = [file for file in self.record.files if file.source not in stays]
        self.record.move(sorted(files, key=lambda file: file.source in last))
        self.done.moved = len(files)

    async def _add_each(self, pack: Sequence[TranscriptLog]) -> None:
        for new in pack:
            session_id = new.transcript.session_id
            try:
                if await self.destination.head(session_id) is None:
                    await self._add([new])
            except HoldfastError as error:
                self.record.not_made(session_id)
                await self._refuse_or_go_on(new.transcript, error)
            else:
                self._made(new)

    async def _refuse_or_go_on(self, transcript: Transcript, error: HoldfastError) -> None:
        """Refuse a new session, unless that is because somebody else has made it meanwhile: then go on with it."""
        try:
            head = await self.destination.head(transcript.session_id)
            if head is None:
                raise error
            await self._go_on(transcript, head)
        except HoldfastError as why:
            self._refuse(transcript, why)

    async def _add(self, pack: Sequence[TranscriptLog]) -> None:
        await self.destination.add_logs([(new.header, new.log) for new in pack])

    def _made(self, new: TranscriptLog) -> None:
        self.done.sessions.append(new.transcript.session_id)
        self.done.events += new.lines
        self.done.notes.add_all(new.notes)

    async def _go_on(self, transcript: Transcript, head: int) -> None:
        """Write what a session that is there lacks of its transcript."""
        session_id, notes = transcript.session_id, LineNotes()
        made = session_id in self.record.made
        if not made:
            self.record.extending(session_id, head)
        here = await self.destination.documents(session_id)
        masks, known = is_masked(here.metadata), is_from(self.reader.source, here.metadata)
        count = 0
        if all(file.exists() for file in transcript.files[:1]):  # else it has moved, or was removed, since it came here
            events = kept_lines(self.reader.source, transcript, notes, masks=masks)
            while batch := await asyncio.to_thread(next_batch, events):
                count += await append_lines(self.destination, session_id, batch, rewritten=known)
            moved = {**relinks_of(here.metadata), **self.reader.relinks}
            body = self.reader.description(transcript, moved, masks=masks)
            await self._supply(session_id, here, body)
        if made:
            now = await self.destination.head(session_id)
            if now is not None and now != self.record.made[session_id]:
                self.record.making({session_id: now})
        self.done.events += count
        self.done.notes.add_all(notes)
        (self.done.sessions if made else self.done.there_before).append(session_id)

    async def _supply(self, session_id: str, here: SessionDocuments, body: SessionCreated) -> None:
        """Give a session that is there what it lacks of its description."""
        metadata = {name: value for name, value in (body.metadata or {}).items() if here.metadata.get(name) != value}
        known = here.metadata.get("source")
        if "source" in metadata and isinstance(known, dict):
            metadata["source"] = {**dict.fromkeys(known), **metadata["source"]}
        tags = [tag for tag in body.tags or () if tag not in here.tags]
        if metadata or tags:
            self.supplied = True
            await self.destination.supply(session_id, MissingDocuments(metadata, tags, {}, None))

    def _refuse(self, transcript: Transcript, error: HoldfastError) -> None:
        """Say why one session was refused; the error itself if it is no matter of that session."""
        if not is_of_the_session(error):
            raise error
        said = problem(error)
        if said["code"] == SessionArriving.code:
            self._arriving.append(transcript)
            return
        file = str(transcript.files[0]) if transcript.files else None
        self.done.refused.append(RefusedTranscript(transcript.session_id, file, said["code"], said["detail"]))


def is_from(source: TranscriptSource, metadata: Mapping[str, Any]) -> bool:
    """Whether a session was read from this source before."""
    said = metadata.get("source")
    return isinstance(said, Mapping) and said.get("name") == source.name


def _still_arriving(transcript: Transcript) -> RefusedTranscript:
    file = str(transcript.files[0]) if transcript.files else None
    reason = "another import has begun it and has not ended"
    return RefusedTranscript(transcript.session_id, file, SessionArriving.code, reason)
