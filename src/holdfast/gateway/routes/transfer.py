"""Sessions in and out: a session's log as lines, archives, and their import.

Archives are made and read on threads, so that the loop goes on, and never held in memory: what the client does not
take is not made, and what it sends goes to a file first.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Sequence
from contextlib import aclosing, suppress
from contextvars import copy_context
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from holdfast.core import Event
from holdfast.core.errors import Busy, Closing
from holdfast.core.race import first_of
from holdfast.gateway.api.answers import json_answer
from holdfast.gateway.api.openapi import described
from holdfast.gateway.api.operation import LINES, Bytes
from holdfast.gateway.api.parameters import TenantStore
from holdfast.gateway.api.pipe import Pipe
from holdfast.gateway.api.spool import spooled
from holdfast.gateway.api.streams import BodyStream, begun
from holdfast.gateway.connections.unsent_output import PIECE
from holdfast.gateway.gateway import Gateway
from holdfast.gateway.wire.types import MAX_SEQ, Document
from holdfast.gateway.wire.upkeep import ImportedView
from holdfast.store import ImportResult, Store
from holdfast.store.portable import ArchiveWriter, encode_event, event_parts

LOG_PAGE = 250
MOST_EXPORTS = 4
"""At one time: each holds some large events, whether its client takes them or not."""
MOST_OF_A_TENANT = MOST_EXPORTS - 1
"""So that whoever comes next finds one."""
ARCHIVE = "application/zip"
GIVE_UP_SECONDS = 3.0
"""How long a stop waits for an import to take back what it has begun; the next start does the rest."""


def add_routes(routes: APIRouter, gateway: Gateway) -> None:
    """Serve a session's log, `/api/export` and `/api/import`."""

    @routes.get(
        "/api/sessions/{session_id}/log",
        summary="The session's events as the lines of an archive, with their hashes",
        **described({200: Document}, media=LINES),
    )
    async def get_log(
        store: TenantStore,
        session_id: str,
        after: Annotated[int, Query(ge=0, le=MAX_SEQ, description="only events with a larger seq")] = 0,
        limit: Annotated[int | None, Query(ge=1, le=MAX_SEQ, description="so many at most; all if left out")] = None,
    ) -> Response:
        return BodyStream(await begun(log_lines(store, session_id, after, limit)), LINES, gateway.stopping)

    @routes.get(
        "/api/export",
        summary="Sessions as one portable archive; all of them, with memories, if none is named",
        **described({200: Bytes}, media=ARCHIVE),
    )
    async def export_sessions(
        store: TenantStore,
        session: Annotated[list[str] | None, Query(description="an id; as often as there are sessions")] = None,
    ) -> Response:
        for session_id in session or ():
            await store.sessions.get(session_id)
        if gateway.exports.total() >= MOST_EXPORTS or gateway.exports[store.tenant] >= MOST_OF_A_TENANT:
            raise Busy(f"{gateway.exports.total()} exports are under way", retry_after=10)
        made = counted(gateway, store.tenant, archive_bytes(store, session))
        return BodyStream(await begun(made), ARCHIVE, gateway.stopping)

    @routes.post(
        "/api/import",
        summary="Import an archive; sessions that are here already are left alone",
        **described({200: ImportedView}, body=Bytes),
    )
    async def import_archive(store: TenantStore, request: Request) -> Response:
        async with spooled(request.stream(), gateway.data) as path:
            done = await unless_stopping(gateway, store.importing.archive(path))
        brought = (done.events, done.attachments, done.memories)
        return json_answer(ImportedView(done.sessions, done.there_before, *brought, done.keys_taken))


async def log_lines(store: Store, session_id: str, after: int, limit: int | None) -> AsyncGenerator[bytes, None]:
    """The lines of the events after a seq, up to the log's end as it is now."""
    end = (await store.sessions.get(session_id)).head_seq
    if limit is not None:
        end = min(end, after + limit)
    while after < end:
        events = (await store.stretch(session_id, after=after, before=end + 1, limit=LOG_PAGE)).events
        after = events[-1].seq
        pieces = _pieces(events)
        del events  # a client that takes nothing keeps what is held here
        while pieces:
            yield pieces.pop()


def _pieces(events: Sequence[Event]) -> list[bytes]:
    """The lines of events, the last piece first: small ones together, and of a large one the payload as it is."""
    pieces: list[bytes] = []
    small: list[bytes] = []
    for event in events:
        if len(event.payload) <= PIECE:
            small += (encode_event(event), b"\n")
        else:
            beginning, payload, end = event_parts(event)
            pieces += (b"".join((*small, beginning)), payload)
            small = [end, b"\n"]
    return [*pieces, b"".join(small)][::-1]


async def counted(gateway: Gateway, tenant: str, made: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """The pieces of an export, which counts among those under way until it ends."""
    gateway.exports[tenant] += 1
    try:
        async with aclosing(made):
            async for piece in made:
                yield piece
    finally:
        gateway.exports[tenant] -= 1
        if not gateway.exports[tenant]:
            del gateway.exports[tenant]


async def archive_bytes(store: Store, session_ids: Sequence[str] | None) -> AsyncGenerator[bytes, None]:
    """An archive, as fast as it is taken; left before its end, it is made no further."""
    pipe = Pipe()
    exporting: list[asyncio.Task[Any]] = []

    async def export(archive: ArchiveWriter) -> None:
        exporting.append(asyncio.create_task(store.exporting.into(archive, session_ids)))
        await exporting[0]

    def make() -> None:
        try:
            with ArchiveWriter(pipe) as archive:
                asyncio.run(export(archive))
            pipe.end()
        except BaseException as error:
            pipe.end(error)

    # In this context, so that what it reads counts as its caller's.
    threading.Thread(target=copy_context().run, args=(make,), name="holdfast-export", daemon=True).start()
    try:
        async for data in pipe.read():
            yield data
    finally:
        pipe.leave()
        for task in exporting:
            with suppress(RuntimeError):  # its loop has ended
                task.get_loop().call_soon_threadsafe(task.cancel)


async def unless_stopping(gateway: Gateway, work: Awaitable[ImportResult]) -> ImportResult:
    """The work's result; when the gateway stops it is given up, and Closing says so."""
    done, _ = await first_of(work, gateway.stopping.wait(), patience=GIVE_UP_SECONDS)
    if done is not None:
        return done.result()
    raise Closing(
        "the gateway stops: sessions that were imported whole stay, the others are not here",
        hint="import the same archive again once the service has restarted",
    )
