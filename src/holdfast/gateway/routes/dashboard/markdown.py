"""A session's transcript as Markdown, for people to keep: what was said and done, made while it is taken.

The store's own events are left out. What was said stays as it was said; details of actions are fenced.
"""

import re
from collections.abc import AsyncGenerator

from fastapi import APIRouter
from starlette.responses import Response

from holdfast.core import Event, Session, types
from holdfast.core.clock import to_iso
from holdfast.core.ids import check_session_id
from holdfast.gateway.api.openapi import described
from holdfast.gateway.api.operation import Bytes
from holdfast.gateway.api.parameters import TenantStore
from holdfast.gateway.api.streams import BodyStream, begun
from holdfast.gateway.gateway import Gateway
from holdfast.gateway.routes.dashboard.attachments import disposition
from holdfast.gateway.routes.dashboard.words import one_line, words_in
from holdfast.gateway.routes.window import is_entry
from holdfast.store import Store

MARKDOWN = "text/markdown"
PAGE = 250
MOST_DETAILS = 16 * 1024
SPEAKERS = {"user": "User", "agent": "Agent"}
TICKS = re.compile("`+")


def add_routes(routes: APIRouter, gateway: Gateway) -> None:
    """Serve `/api/sessions/{session_id}/markdown`."""

    @routes.get(
        "/api/sessions/{session_id}/markdown",
        summary="A session's transcript as Markdown",
        **described({200: Bytes}, media=MARKDOWN),
    )
    async def get_markdown(store: TenantStore, session_id: str) -> Response:
        session = await store.sessions.get(check_session_id(session_id))
        answer = BodyStream(await begun(transcript(store, session)), MARKDOWN, gateway.stopping)
        answer.headers["Content-Disposition"] = disposition(f"{session_id}.md")
        return answer


async def transcript(store: Store, session: Session) -> AsyncGenerator[bytes, None]:
    """The transcript, a page of the log at a time, up to its end as it is now."""
    given = session.metadata.get("title")
    title = one_line(given, 200) if isinstance(given, str) else ""
    yield f"# {title or session.session_id}\n\nSession `{session.session_id}`, {session.head_seq} events.\n".encode()
    after = 0
    while after < session.head_seq:
        page = await store.stretch(session.session_id, after=after, before=session.head_seq + 1, limit=PAGE)
        after = page.events[-1].seq
        if said := b"".join(section(event) for event in page.events if is_entry(event)):
            yield said


def section(event: Event) -> bytes:
    """One event of the transcript, under who says it or what it is."""
    head = f"{to_iso(event.created_at)}, event {event.seq}"
    if event.erased is not None:
        return f"\n## {event.type}\n\n*{head}*\n\nThis was erased.\n".encode()
    said = words_in(event.type, event.payload, most=None) if event.type in (types.MESSAGE, types.RESPONSE) else None
    if said is not None:
        return f"\n## {SPEAKERS[said.role]}\n\n*{head}*\n\n{said.text}\n".encode()
    return f"\n## {one_line(event.type, 200)}\n\n*{head}*\n\n{_fenced(event.payload)}\n".encode()


def _fenced(payload: bytes) -> str:
    """Details in a fence that nothing in them can end."""
    text = payload[:MOST_DETAILS].decode(errors="ignore")
    left = len(payload) - MOST_DETAILS
    fence = "`" * (max((len(found) for found in TICKS.findall(text)), default=2) + 1)
    fence = fence if len(fence) > 2 else "```"
    more = f"\n\n{left} more bytes are in the log." if left > 0 else ""
    return f"{fence}json\n{text}\n{fence}{more}"
