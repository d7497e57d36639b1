"""Exporting sessions as plain files, for tools that read files: each time a folder goes on after what it has.

Where the sessions come from is a source's matter: a gateway's API for a command.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from holdfast.core import Event, HoldfastError, Session, State, types
from holdfast.core.problem import problem
from holdfast.store.portable import FolderWriter

PAGE = 1_000
MISSING = frozenset({404, 410})
"""Statuses of refusals that say that there is no such session, or no longer."""

OnProgress = Callable[[int, int], None]
"""Called with how many sessions and how many new events are written."""


class ExportSource(Protocol):
    """Where exported sessions come from; every error is a HoldfastError."""

    def session_ids(self) -> AsyncIterator[str]:
        """All sessions."""
        ...

    async def session(self, session_id: str) -> tuple[Session, State]:
        """A session's row and its state, read at one moment."""
        ...

    def events(self, session_id: str, after: int, limit: int) -> AsyncIterator[Event]:
        """The first events after a seq."""
        ...


class FolderExport(NamedTuple):
    """How many sessions and new events an export wrote."""

    sessions: int
    events: int


class SessionExport(NamedTuple):
    """Up to where a session's lines and documents agree, and how many events were written."""

    seq: int
    events: int


class LinesOutdated(Exception):
    """Lines that a folder has may say what was erased since, or are of another log: it has to be written anew."""


async def export_folders(
    source: ExportSource,
    root: Path,
    session_ids: Sequence[str],
    progress: OnProgress | None = None,
    *,
    one_file: bool = False,
) -> FolderExport:
    """Bring the folders of these sessions, or of all, up to now; one that is named must be there."""
    sessions = events = 0
    async for session_id in _chosen(source, session_ids):
        done = await export_folder(source, root, session_id, must_exist=bool(session_ids), one_file=one_file)
        sessions, events = sessions + (done is not None), events + (done.events if done else 0)
        if progress is not None:
            progress(sessions, events)
    return FolderExport(sessions, events)


async def export_folder(
    source: ExportSource, root: Path, session_id: str, *, must_exist: bool, one_file: bool, exact: bool = False
) -> SessionExport | None:
    """Bring one session's folder up to now; None if the session was deleted, unless it must be there.

    If it is to be `exact`, lines that were written before an erasure are not left as they are: LinesOutdated, and the
    folder does not say that it is complete.
    """
    try:
        session, state = await source.session(session_id)
        with FolderWriter(root, session_id, one_file=one_file) as folder:
            before = folder.seq
            if exact and before > session.head_seq:
                raise LinesOutdated
            clean = before or session.head_seq  # what a new folder is given was read after all erasures up to here
            while folder.seq < session.head_seq:
                async for event in source.events(session_id, folder.seq, PAGE):
                    if exact and event.type == types.EVENTS_ERASED and event.seq > clean:
                        raise LinesOutdated
                    folder.event(event)
                folder.flush()
            folder.documents(session, state)
            return SessionExport(session.head_seq, folder.seq - before)
    except HoldfastError as error:
        if must_exist or problem(error)["status"] not in MISSING:
            raise
        return None


async def _chosen(source: ExportSource, session_ids: Sequence[str]) -> AsyncIterator[str]:
    for session_id in session_ids:
        yield session_id
    if not session_ids:
        async for session_id in source.session_ids():
            yield session_id
