"""Importing plain files: each line becomes an event once, and what was read is kept, with a manifest.

A session that is new arrives whole, as from an archive, with the times and places that its files say; one that is
there already is gone on with, by what it lacks. A folder that cannot be read, or whose session is refused, is named
with its reason, and the others arrive.

An import says in its record which sessions it made, so it can be taken back: those sessions are deleted, archived
first, unless something else has been written to them since.

Where the sessions go is a destination's matter: a gateway's API for a command, the store itself for a gateway.
"""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, NamedTuple, Protocol

from holdfast.core import HoldfastError, NewEvent, SystemClock, TimeOrderedIds
from holdfast.core.errors import Conflict, InvalidInput
from holdfast.core.problem import problem
from holdfast.store.portable import (
    SealedLog,
    SessionFolder,
    SessionHeader,
    SkippedLine,
    is_session,
    read_folder,
    read_log,
    session_folders,
)
from holdfast.store.transfer.import_record import ImportRecord, begin_record, origin, sessions_made
from holdfast.store.transfer.missing_documents import MissingDocuments, SessionDocuments, missing_in
from holdfast.store.transfer.recorded_files import regular_files

BATCH = 500
OF_THE_SESSION = frozenset({400, 404, 409, 410, 413})
"""Statuses of refusals that are a matter of one session; others end the import."""
TAKEN_BACK = "import taken back"
LAYOUT = "files"
"""What a record says was imported."""

OnProgress = Callable[[int, int], None]
"""Called with how many folders are done, and of how many."""


class ImportDestination(Protocol):
    """Where imported sessions go; every error is a HoldfastError."""

    pack_bytes: int
    """Payloads of new sessions that are brought here together, and so many more as the last of them has."""

    async def head(self, session_id: str) -> int | None:
        """Where a session's log ends; None if there is no such session, or no longer."""
        ...

    async def heads(self, session_ids: Sequence[str]) -> dict[str, int]:
        """Where the logs of those of these sessions end that are there."""
        ...

    async def add(self, archive: IO[bytes]) -> None:
        """Bring in new sessions, from an archive of them alone."""
        ...

    async def add_logs(self, logs: Sequence[tuple[SessionHeader, SealedLog]]) -> None:
        """Bring in new sessions, from their logs."""
        ...

    async def append(self, session_id: str, events: Sequence[NewEvent]) -> int:
        """Append events in their order, each once by its id; how many are new."""
        ...

    async def documents(self, session_id: str) -> SessionDocuments:
        """What the session has beside its log."""
        ...

    async def supply(self, session_id: str, missing: MissingDocuments) -> None:
        """Give the session what it lacks, each under its `import_key`."""
        ...

    async def delete(self, session_id: str, reason: str) -> None:
        """Delete the session, archived first."""
        ...


@dataclass(frozen=True, slots=True)
class RefusedFolder:
    """A folder that was not imported: why, and where in it, if one place is to blame."""

    session: str
    file: str | None
    line: int | None
    code: str
    reason: str


@dataclass(slots=True)
class FolderImport:
    """What an import of folders did, and where it kept what it read."""

    record: Path
    sessions: list[str] = field(default_factory=list)
    there_before: list[str] = field(default_factory=list)
    events: int = 0
    skipped: list[SkippedLine] = field(default_factory=list)
    refused: list[RefusedFolder] = field(default_factory=list)


def has_session_folders(root: Path) -> bool:
    """Whether there is a session's folder under `root`."""
    return any(is_session(path) for path in session_folders(root) if not path.is_symlink())


async def import_folders(
    destination: ImportDestination, root: Path, place: Path, progress: OnProgress | None = None
) -> FolderImport:
    """Import every session folder under `root`; the record of it is a new folder of `place`."""
    folders = [path for path in session_folders(root) if path.is_symlink() or is_session(path)]
    if not folders:
        raise InvalidInput(
            f"there is no session in {root}", hint="name the folder that has sessions/<id>/actions.jsonl"
        )
    files = ((path, f"sessions/{folder.name}/{path.name}") for folder in folders for path in regular_files(folder))
    about = origin(LAYOUT, root)
    with await asyncio.to_thread(begin_record, place, about, files) as record:
        await asyncio.to_thread(record.copy)
        done = FolderImport(record.path)
        for number, path in enumerate(folders):
            if progress is not None:
                progress(number, len(folders))
            try:
                arrival = await _import(destination, path, record)
            except HoldfastError as error:
                done.refused.append(_refusal(path.name, error))
                continue
            done.events += arrival.events
            (done.there_before if arrival.head is None else done.sessions).append(path.name)
            done.skipped += [each._replace(file=f"{path.name}/{each.file}") for each in arrival.skipped]
        record.end()
    return done


class UndoneImport(NamedTuple):
    """The sessions that were deleted, and how many events the import had given them."""

    sessions: list[str]
    events: int


async def undo_import(destination: ImportDestination, record: Path) -> UndoneImport:
    """Delete the sessions that the import of this record made; Conflict if one of them has gone on since."""
    made = sessions_made(record)
    found = {session_id: await destination.head(session_id) for session_id in made}
    for session_id, head in found.items():
        if head not in (None, made[session_id]):
            raise Conflict(
                f"session {session_id!r} has gone on since it was imported", hint="delete it by name if you mean it"
            )
    deleted = [session_id for session_id, head in found.items() if head is not None]
    for session_id in deleted:
        await destination.delete(session_id, TAKEN_BACK)
    return UndoneImport(deleted, sum(made[session_id] for session_id in deleted))


class _Arrival(NamedTuple):
    """What an import did with one folder: new events, lines left out, and where the log of a new session ends."""

    events: int
    skipped: list[SkippedLine]
    head: int | None


async def _import(destination: ImportDestination, path: Path, record: ImportRecord) -> _Arrival:
    """Import one folder: as a new session, or into the one that is there."""
    log = await asyncio.to_thread(read_log, path, SystemClock(), TimeOrderedIds())
    before = await destination.head(log.session_id)
    if before is not None:
        if log.session_id not in record.made:
            record.extending(log.session_id, before)
        folder = read_folder(path)
        count = await _go_on(destination, folder)
        return _Arrival(count, list(dict.fromkeys([*log.skipped, *folder.skipped])), None)
    with tempfile.TemporaryFile() as file:
        head = await asyncio.to_thread(log.write, file)
        file.seek(0)
        record.making({log.session_id: head})
        try:
            await destination.add(file)
        except HoldfastError as error:
            if is_of_the_session(error):
                record.not_made(log.session_id)
            raise
    return _Arrival(log.lines, log.skipped, head)


async def _go_on(destination: ImportDestination, folder: SessionFolder) -> int:
    """Write what the session lacks of a folder; how many of the lines are new in it."""
    count = 0
    events = folder.events
    while batch := list(islice(events, BATCH)):
        count += await destination.append(folder.session_id, batch)
    here = await destination.documents(folder.session_id)
    await destination.supply(folder.session_id, missing_in(here, folder))
    return count


async def each_head(head_of: Callable[[str], Awaitable[int | None]], session_ids: Sequence[str]) -> dict[str, int]:
    """The heads of sessions, asked for one by one; those that cannot be told are left out, an import finds out why."""
    heads: dict[str, int] = {}
    for session_id in session_ids:
        try:
            head = await head_of(session_id)
        except HoldfastError as error:
            if not is_of_the_session(error):
                raise
            continue
        if head is not None:
            heads[session_id] = head
    return heads


def is_of_the_session(error: HoldfastError) -> bool:
    """Whether an error is a matter of one session, so that the import of others goes on."""
    return problem(error)["status"] in OF_THE_SESSION


def _refusal(session_id: str, error: HoldfastError) -> RefusedFolder:
    """Why one session was refused; the error itself if it is no matter of that session."""
    if not is_of_the_session(error):
        raise error
    refusal = problem(error)
    member = refusal.get("member")
    file = f"{session_id}/{member}" if member not in (None, session_id) else None
    return RefusedFolder(session_id, file, refusal.get("line"), refusal["code"], refusal["detail"])
