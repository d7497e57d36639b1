"""Export: sessions as one portable archive, byte for byte.

Each session is exported up to the head it had when its turn came. Its log only grows, so what is written is a whole
session however many writers go on meanwhile. Small sessions are read many at a time: between two reads others have
their turn, which costs more than the read. The same content gives the same archive.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from holdfast.core import Event
from holdfast.core.errors import NotFound, SessionGone
from holdfast.core.ids import check_session_id
from holdfast.store.attachments.attachments import Attachments
from holdfast.store.engine import Tx
from holdfast.store.log.log_reader import Head, existing_head, stretch
from holdfast.store.log.rows import GET_USES
from holdfast.store.memory import memory_lines
from holdfast.store.memory.memory_rows import MemoryName
from holdfast.store.part import Part
from holdfast.store.portable import ArchiveWriter, SessionHeader, SessionWriter, Totals, write_archive
from holdfast.store.sessions.keys import routes_to

SPOOL = 1024 * 1024

NEXT = """
    SELECT session_id FROM sessions
    WHERE tenant = ?1 AND session_id > ?2 AND life = 'live' ORDER BY session_id LIMIT ?3"""
HEADER = "SELECT created_at, updated_at FROM sessions WHERE session_no = ?1"

Told = Callable[[str, int], None]
"""Told which session's turn it is and how many events it has."""


@dataclass(frozen=True, slots=True)
class _Taken:
    """A session, its attachments, and the first of its events."""

    head: Head
    header: SessionHeader
    digests: tuple[str, ...]
    events: list[Event]

    @property
    def whole(self) -> bool:
        """Whether these are all of its events."""
        return len(self.events) == self.head.seq

    def write(self, archive: ArchiveWriter) -> None:
        """Put a whole session into the archive."""
        with archive.session(self.header) as session:
            _add(session, self.events)


class Exports(Part):
    """`store.exporting`."""

    __slots__ = ()

    async def archive(
        self, path: Path, session_ids: Iterable[str] | None = None, *, told: Told | None = None
    ) -> Totals:
        """Write the sessions, or all of them with the tenant's memories, and their attachments to a new file."""
        with write_archive(path) as archive:
            return await self.into(archive, session_ids, told=told)

    async def into(
        self, archive: ArchiveWriter, session_ids: Iterable[str] | None = None, *, told: Told | None = None
    ) -> Totals:
        """The same into an archive that is open; it is complete when this returns."""
        digests: set[str] = set()
        chosen = None if session_ids is None else sorted({check_session_id(each) for each in session_ids})
        async for listed in self._ids() if chosen is None else _at_once(chosen):
            left = listed
            while left:
                taken = await self.workers.read(partial(self._take, session_ids=left, known=chosen is None))
                left = left[len(taken) :]
                sessions = [session for session in taken if session is not None]
                digests.update(digest for session in sessions for digest in session.digests)
                await self._write(archive, sessions, told or _nobody)
        attachments = Attachments(self.tenant, self.workers, self.clock, self.ids, self.tuning)
        for digest in sorted(digests):
            with tempfile.SpooledTemporaryFile(SPOOL) as spool:
                async for part in attachments.read(digest):
                    await asyncio.to_thread(spool.write, part)
                spool.seek(0)
                await asyncio.to_thread(archive.attachment, digest, iter(partial(spool.read, SPOOL), b""))
        if chosen is None:
            await self._memories(archive)
        return await asyncio.to_thread(archive.close)

    async def _write(self, archive: ArchiveWriter, sessions: list[_Taken], told: Told) -> None:
        """Put sessions into the archive; of the last, what is left is read in pages."""

        def write() -> None:
            for session in sessions:
                if session.whole:
                    session.write(archive)

        for session in sessions:
            told(session.header.session_id, session.head.seq)
        await asyncio.to_thread(write)
        for session in sessions:
            if not session.whole:
                with archive.session(session.header) as writer:
                    await asyncio.to_thread(_add, writer, session.events)
                    await self._rest(writer, session)

    async def _rest(self, writer: SessionWriter, session: _Taken) -> None:
        after = session.events[-1].seq

        def next_page(tx: Tx) -> list[Event]:
            # SessionGone, rather than a gap, if it was deleted meanwhile
            existing_head(tx, self.tenant, session.header.session_id)
            return stretch(tx, session.head, after, None, self.tuning.export_page).events

        while after < session.head.seq:
            page = await self.workers.read(next_page)
            await asyncio.to_thread(_add, writer, page)
            after = page[-1].seq

    async def _memories(self, archive: ArchiveWriter) -> None:
        after = ("", "")

        def page(tx: Tx) -> tuple[list[bytes], tuple[str, str] | None]:
            names = memory_lines.names_after(tx, self.tenant, after, self.tuning.export_page)
            lines = [memory_lines.encode(tx, MemoryName(self.tenant, *name)) for name in names]
            return lines, names[-1] if names else None

        while True:
            lines, last = await self.workers.read(page)
            for line in lines:
                archive.memory(line)
            if last is None:
                return
            after = last

    async def _ids(self) -> AsyncIterator[list[str]]:
        after, page = "", self.tuning.export_page
        while True:
            rows = await self.workers.read(lambda tx, after=after: tx.all(NEXT, self.tenant, after, page))  # type: ignore[misc]
            yield [row[0] for row in rows]
            if len(rows) < page:
                return
            after = rows[-1][0]

    def _take(self, tx: Tx, session_ids: list[str], known: bool) -> list[_Taken | None]:
        """The first of these sessions, as many as make a page, the last perhaps in part.

        None stands for one that was deleted since it was listed; one that was asked for by name is missed.
        """
        taken: list[_Taken | None] = []
        events = size = 0
        for session_id in session_ids:
            try:
                session = self._first(tx, session_id)
            except (NotFound, SessionGone):
                if not known:
                    raise
                taken.append(None)
                continue
            taken.append(session)
            events, size = events + len(session.events), size + session.head.size
            if events >= self.tuning.export_page or size >= self.tuning.export_bytes or not session.whole:
                break
        return taken

    def _first(self, tx: Tx, session_id: str) -> _Taken:
        head = existing_head(tx, self.tenant, session_id)
        times = tx.one(HEADER, head.session_no)
        assert times is not None
        routes = tuple(routes_to(tx, head.session_no))
        header = SessionHeader(session_id, times[0], times[1], head.seq, head.hash, routes)
        digests = tuple(row[0] for row in tx.all(GET_USES, head.session_no))
        return _Taken(head, header, digests, stretch(tx, head, 0, None, self.tuning.export_page).events)


def _add(writer: SessionWriter, events: list[Event]) -> None:
    for event in events:
        writer.event(event)


async def _at_once(names: list[str]) -> AsyncIterator[list[str]]:
    yield names


def _nobody(session_id: str, events: int) -> None:
    """Told to nobody."""
