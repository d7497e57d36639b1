"""Whose session an event belongs to, for feeds of one user's sessions."""

from collections import OrderedDict

from holdfast.core import types
from holdfast.core.errors import NotFound, SessionArriving, SessionGone
from holdfast.store import FeedEvent, Store

MOST_KNOWN = 10_000


class Owners:
    """The users of sessions, remembered; what tells of a new owner, or of the end, is looked up again."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: OrderedDict[str, str | None] = OrderedDict()

    async def of(self, envelope: FeedEvent) -> str | None:
        """The user whose session it is, or was when it was deleted; None if nobody's."""
        session_id = envelope.session_id
        if session_id not in self._known or envelope.event.type == types.SESSION_CREATED:
            self._known[session_id] = await self._look_up(session_id)
        self._known.move_to_end(session_id)
        if len(self._known) > MOST_KNOWN:
            self._known.popitem(last=False)
        return self._known[session_id]

    async def _look_up(self, session_id: str) -> str | None:
        try:
            return (await self._store.sessions.get(session_id)).user_id
        except SessionGone:
            return await self._look_up_deleted(session_id)
        except (NotFound, SessionArriving):
            return None

    async def _look_up_deleted(self, session_id: str) -> str | None:
        try:
            user = (await self._store.archives.about(session_id)).get("userId")
        except NotFound:  # it was undeleted meanwhile
            return await self._look_up(session_id)
        return user if isinstance(user, str) else None
