"""Lists of sessions: those that fit, newest first; or those in which words are found, by their newest hit.

A session with many hits is listed once, at its newest: on a later page it is left out, because its newest hit is not
there. So a page may be short although more follow; the cursor says whether they do. So may one of sessions with much
metadata, because a page is bounded by its bytes as well.
"""

from dataclasses import dataclass

from starlette.responses import Response

from holdfast.core import Session, SessionPage
from holdfast.core.clock import from_iso
from holdfast.core.errors import NotFound, SessionGone
from holdfast.core.ids import check_name
from holdfast.core.large_json import LARGE_JSON
from holdfast.core.statuses import SESSION_STATUSES, one_of
from holdfast.gateway.api.answers import document, json_answer
from holdfast.gateway.routes.dashboard.summaries import summary_view
from holdfast.gateway.wire.sessions import SessionList, session_row
from holdfast.store import LAST_MS, MAX_HITS, MOST_SUMMARIES, PAGE_BYTES, Filter, Hit, Store, StoreSnapshot

FEW_SESSIONS = 8
MOST_PAGES = 20
"""Pages of hits that are looked through for one page of sessions."""


@dataclass(frozen=True, slots=True)
class SessionQuery:
    """What a list is to hold."""

    chosen: Filter
    words: str | None = None

    @staticmethod
    def of(
        *,
        user: str | None = None,
        tag: str | None = None,
        status: str | None = None,
        words: str | None = None,
        began_from: str | None = None,
        began_to: str | None = None,
        agent: str | None = None,
        held: bool | None = None,
    ) -> "SessionQuery":
        """The request's parameters, checked; what is empty asks for nothing."""
        if status:
            one_of(SESSION_STATUSES, status, f"{status!r:.80} is not a session's status")
        return SessionQuery(
            Filter(
                user_id=check_name(user, "a user id") if user else None,
                tag=check_name(tag, "a tag") if tag else None,
                status=status or None,
                created_from=moment(began_from) if began_from else None,
                created_to=moment(began_to) if began_to else None,
                agent=check_name(agent, "an agent's name") if agent else None,
                held=held,
            ),
            words or None,
        )

    def fits(self, session: Session) -> bool:
        """Whether a session that was found by its words is one that was asked for."""
        chosen = self.chosen
        return (
            chosen.user_id in (None, session.user_id)
            and (chosen.tag is None or chosen.tag in session.tags)
            and chosen.status in (None, session.status)
            and (chosen.created_from is None or session.created_at >= chosen.created_from)
            and (chosen.created_to is None or session.created_at < chosen.created_to)
            and chosen.agent in (None, session.agent)
            and chosen.held in (None, session.held)
        )


async def list_sessions(store: Store, asked: SessionQuery, cursor: str | None, limit: int) -> SessionPage:
    """One page of the sessions that were asked for."""
    if asked.words is None:
        return await store.sessions.list(asked.chosen, cursor=cursor, limit=limit)
    found: dict[str, Session] = {}
    seen: set[str] = set()
    later, left = cursor is not None, PAGE_BYTES
    for _ in range(MOST_PAGES):
        most = min(limit - len(found), MAX_HITS)
        page = await store.search.find(asked.words, user_id=asked.chosen.user_id, limit=most, cursor=cursor)
        for place, hit in enumerate(page.hits):
            if hit.session_id not in seen:
                seen.add(hit.session_id)
                session = await _listed_here(store, asked, hit, later=later)
                if session is None:
                    continue
                left -= len(document(session.metadata))
                if left < 0 and found:
                    return SessionPage(list(found.values()), await _cursor_before(store, asked, cursor, place))
                found[session.session_id] = session
        cursor = page.cursor
        if cursor is None or len(found) == limit:
            break
    return SessionPage(list(found.values()), cursor)


async def _cursor_before(store: Store, asked: SessionQuery, cursor: str | None, place: int) -> str | None:
    """Where a page goes on that begins with the hit at this place of the one at the cursor."""
    assert asked.words is not None
    if not place:
        return cursor
    return (await store.search.find(asked.words, user_id=asked.chosen.user_id, limit=place, cursor=cursor)).cursor


async def _listed_here(store: Store, asked: SessionQuery, hit: Hit, *, later: bool) -> Session | None:
    """The session of a hit, unless it was listed at a newer one, does not fit, or is gone."""
    try:
        if later and asked.words is not None:
            newest = (await store.search.find(asked.words, session_id=hit.session_id, limit=1)).hits
            if not newest or newest[0].seq != hit.seq:
                return None
        session = await store.sessions.get(hit.session_id)
    except (NotFound, SessionGone):
        return None
    return session if asked.fits(session) else None


async def list_with_summaries(store: Store, asked: SessionQuery, cursor: str | None, limit: int) -> SessionList:
    """One page of the sessions that were asked for with their summaries, all of them as they are at one moment.

    It has no more sessions than are summed up in one look; one that was found by its words and is gone since is not
    on it.
    """
    limit = min(limit, MOST_SUMMARIES)
    found = None if asked.words is None else await list_sessions(store, asked, cursor, limit)

    def look(snapshot: StoreSnapshot) -> SessionList:
        if found is None:
            page = snapshot.sessions(asked.chosen, cursor=cursor, limit=limit)
        else:
            here = (snapshot.listed_session(session.session_id) for session in found.sessions)
            page = SessionPage([session for session in here if session is not None], found.cursor)
        summaries = snapshot.summaries([session.session_id for session in page.sessions])
        rows = [
            session_row(session, document(session.metadata), summary_view(session, summaries[session.session_id]))
            for session in page.sessions
        ]
        return SessionList(rows, page.cursor)

    return await store.snapshot(look)


def session_list(page: SessionPage) -> SessionList:
    """The page as clients see it."""
    rows = [session_row(session, document(session.metadata)) for session in page.sessions]
    return SessionList(rows, page.cursor)


async def shown_rows(store: Store, page: SessionPage) -> Response:
    """The answer that a list is; what its sessions say of themselves may be megabytes, which take their turn."""
    if len(page.sessions) <= FEW_SESSIONS:
        return json_answer(session_list(page))
    return await LARGE_JSON.make(lambda: json_answer(session_list(page)), store.tenant)


def moment(text: str) -> int:
    """A time of a query in milliseconds: ISO 8601, or milliseconds since 1970."""
    if text.isascii() and text.isdigit() and len(text) <= 15 and int(text) <= LAST_MS:
        return int(text)
    return from_iso(text)
