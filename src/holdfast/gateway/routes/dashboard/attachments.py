"""Attachments of a session: which its events name, and their bytes.

Bytes came from anybody, so a browser is never to run them: they are a download, of a type that is no program.
"""

from typing import Annotated
from urllib.parse import quote

import msgspec
from fastapi import APIRouter, Path, Query
from msgspec import UNSET, UnsetType
from starlette.responses import Response

from holdfast.core import types
from holdfast.core.errors import NotFound
from holdfast.core.event_bodies import AttachmentAdded, decode
from holdfast.core.ids import check_session_id
from holdfast.gateway.api.answers import json_answer
from holdfast.gateway.api.openapi import described
from holdfast.gateway.api.operation import Bytes
from holdfast.gateway.api.parameters import PageLimit, TenantStore
from holdfast.gateway.api.streams import BodyStream, begun
from holdfast.gateway.gateway import Gateway
from holdfast.gateway.wire.looks import AttachmentList, AttachmentView
from holdfast.gateway.wire.types import MAX_SEQ
from holdfast.store import MAX_PAGE, EventGlance, SessionSnapshot, StoreSnapshot, check_digest

OCTETS = "application/octet-stream"
SAFE = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "text/plain"})
"""Types that a browser shows without running anything; all others are octets."""
POLICY = "sandbox; default-src 'none'; frame-ancestors 'none'"


def add_routes(routes: APIRouter, gateway: Gateway) -> None:
    """Serve `/api/sessions/{session_id}/attachments`."""

    @routes.get(
        "/api/sessions/{session_id}/attachments",
        summary="The attachments that a session's events name",
        **described({200: AttachmentList}),
    )
    async def get_attachments(
        store: TenantStore,
        session_id: str,
        before: Annotated[int | None, Query(ge=0, le=MAX_SEQ, description="only those with a smaller seq")] = None,
        limit: PageLimit = MAX_PAGE,
    ) -> Response:
        check_session_id(session_id)

        def look(snapshot: StoreSnapshot) -> AttachmentList:
            session = snapshot.session(session_id)
            found = _newest(session, MAX_SEQ if before is None else before, limit + 1)
            named = [view for glance in found[:limit] for view in _named(glance)]
            return AttachmentList(named[::-1], found[limit - 1].seq if len(found) > limit else None)

        return json_answer(await store.snapshot(look))

    @routes.get(
        "/api/sessions/{session_id}/attachments/{digest}",
        summary="The bytes of an attachment, as a download",
        **described({200: Bytes}, media=OCTETS),
    )
    async def get_attachment(
        store: TenantStore,
        session_id: str,
        digest: Annotated[str, Path(json_schema_extra={"pattern": "^[0-9a-f]{64}$"})],
    ) -> Response:
        check_session_id(session_id)
        check_digest(digest)

        def look(snapshot: StoreSnapshot) -> tuple[int, AttachmentView | None]:
            session = snapshot.session(session_id)
            kept = session.uses(digest)
            if kept is None:
                raise NotFound(f"no event of session {session_id!r} names the attachment {digest}", digest=digest)
            named = (view for glance in _newest(session, MAX_SEQ, MAX_PAGE) for view in _named(glance))
            return kept.size_bytes, next((view for view in named if view.digest == digest), None)

        size, named = await store.snapshot(look)
        answer = BodyStream(await begun(store.attachments.read(digest)), _media_type(named), gateway.stopping)
        answer.headers["Content-Length"] = str(size)
        answer.headers["Content-Disposition"] = disposition((named and named.name) or digest)
        answer.headers["Content-Security-Policy"] = POLICY
        return answer


def disposition(name: str) -> str:
    """The header that makes an answer a download under a name, whatever is in the name."""
    plain = "".join(char if char.isascii() and (char.isalnum() or char in "._- ") else "_" for char in name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


def _media_type(named: AttachmentView | None) -> str:
    given = named.media_type if named is not None else None
    return given if given in SAFE else OCTETS


def _newest(session: SessionSnapshot, before: int, limit: int) -> list[EventGlance]:
    """The last events that name attachments, the last first."""
    return session.glances(types.ATTACHMENT_ADDED, 0, before, limit, newest=True)


def _named(glance: EventGlance) -> list[AttachmentView]:
    """The attachment that an event names, unless it was erased."""
    try:
        body = decode(AttachmentAdded, glance.payload or b"")
    except (msgspec.ValidationError, msgspec.DecodeError):
        return []
    name, media_type, size = _given(body.name), _given(body.media_type), body.size_bytes
    return [AttachmentView(body.digest, name, media_type, None if size is UNSET else size, glance.seq)]


def _given(text: str | UnsetType | None) -> str | None:
    return None if text is UNSET else text
