"""Export: sessions as one portable archive, byte for byte.

Each session is exported up to the head it had when its turn came. Its log only grows, so what is written is a whole
session however many writers go on meanwhile. The same content gives the same archive.
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
from holdfast.store import memory_lines
from holdfast.store.attachments import Attachments
from holdfast.store.engine import Tx
from holdfast.store.keys import routes_to
from holdfast.store.memory_rows import Name
from holdfast.store.part import Part
from holdfast.store.portable import ArchiveWriter, SessionHeader, SessionWriter, Totals, write_archive
from holdfast.store.reading import Head, existing_head, stretch
from holdfast.store.rows import GET_USES

PAGE = 500
SPOOL = 1024 * 1024

NEXT = """
    SELECT session_id FROM sessions
    WHERE tenant = ?1 AND session_id > ?2 AND life = 'live' ORDER BY session_id LIMIT ?3"""
HEADER = "SELECT created_at, updated_at FROM sessions WHERE session_no = ?1"

Told = Callable[[str, int], None]
"""Told which session's turn it is and how many events it has."""


@dataclass(frozen=True, slots=True)
class _Found:
    head: Head
    header: SessionHeader
    digests: tuple[str, ...]


class Exporting(Part):
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
        async for session_id in self._ids() if chosen is None else _each(chosen):
            try:
                found = await self.workers.read(lambda tx, name=session_id: self._find(tx, name))  # type: ignore[misc]
            except (NotFound, SessionGone):
                if chosen is not None:
                    raise
                continue  # deleted since it was listed
            if told is not None:
                told(session_id, found.head.seq)
            with archive.session(found.header) as session:
                await self._events(session, session_id, found.head)
            digests.update(found.digests)
        attachments = Attachments(self.tenant, self.workers, self.clock, self.ids)
        for digest in sorted(digests):
            with tempfile.SpooledTemporaryFile(SPOOL) as spool:
                async for part in attachments.read(digest):
                    await asyncio.to_thread(spool.write, part)
                spool.seek(0)
                await asyncio.to_thread(archive.attachment, digest, iter(partial(spool.read, SPOOL), b""))
        if chosen is None:
            await self._memories(archive)
        return await asyncio.to_thread(archive.close)

    async def _events(self, session: SessionWriter, session_id: str, head: Head) -> None:
        after = 0

        def next_page(tx: Tx) -> list[Event]:
            existing_head(tx, self.tenant, session_id)  # SessionGone, rather than a gap, if it was deleted meanwhile
            return stretch(tx, head, after, None, PAGE).events

        def add(events: list[Event]) -> None:
            for event in events:
                session.event(event)

        while after < head.seq:
            page = await self.workers.read(next_page)
            await asyncio.to_thread(add, page)
            after = page[-1].seq

    async def _memories(self, archive: ArchiveWriter) -> None:
        after = ("", "")

        def page(tx: Tx) -> tuple[list[bytes], tuple[str, str] | None]:
            names = memory_lines.names_after(tx, self.tenant, after, PAGE)
            return [memory_lines.encode(tx, Name(self.tenant, *name)) for name in names], names[-1] if names else None

        while True:
            lines, last = await self.workers.read(page)
            for line in lines:
                archive.memory(line)
            if last is None:
                return
            after = last

    async def _ids(self) -> AsyncIterator[str]:
        after = ""
        while True:
            rows = await self.workers.read(lambda tx, after=after: tx.all(NEXT, self.tenant, after, PAGE))  # type: ignore[misc]
            for row in rows:
                yield row[0]
            if len(rows) < PAGE:
                return
            after = rows[-1][0]

    def _find(self, tx: Tx, session_id: str) -> _Found:
        head = existing_head(tx, self.tenant, session_id)
        times = tx.one(HEADER, head.session_no)
        assert times is not None
        routes = tuple(routes_to(tx, head.session_no))
        header = SessionHeader(session_id, times[0], times[1], head.seq, head.hash, routes)
        return _Found(head, header, tuple(row[0] for row in tx.all(GET_USES, head.session_no)))


async def _each(names: list[str]) -> AsyncIterator[str]:
    for name in names:
        yield name
