"""The live feed as server-sent events: `GET /api/feed?session=&user=&after=&cursor=`, the same feeds as on `/ws`.

`id` is what to go on after, `event` the type, `data` the message. A client that comes back with `Last-Event-ID`, as
browsers do by themselves, misses and repeats nothing. The last event says why a feed ends: `stopping`, or `error` with
the problem. A feed is never silent for longer than a heartbeat, so that it can be told from a dead connection.
"""

import logging

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from holdfast.core import Event, HoldfastError, strict_json
from holdfast.core.errors import InvalidInput
from holdfast.core.problem import problem
from holdfast.gateway.access.auth import caller_of, store_of
from holdfast.gateway.access.scopes import Caller
from holdfast.gateway.api.operation import ApiOperation
from holdfast.gateway.errors import Unauthorized, Unexpected
from holdfast.gateway.gateway import FeedScope, Gateway
from holdfast.gateway.live.copies import Copies
from holdfast.gateway.live.feeds import (
    FeedEnd,
    connected,
    encode,
    feed_query,
    message,
    messages,
    send_all,
    until_it_ends,
)
from holdfast.gateway.wire.feeds import Connected, FeedMessage, FeedQuery
from holdfast.http.event_stream import HEARTBEAT_SECONDS, EventStream
from holdfast.http.hang_ups import client_leaves
from holdfast.http.server_sent_events import EVENTS, event
from holdfast.store import Store

LAST_EVENT_ID = "last-event-id"
RETRY_MS = 1_000

log = logging.getLogger("holdfast.gateway")


class ServerSentEvents:
    """The route `/api/feed`."""

    def __init__(self, gateway: Gateway, heartbeat_seconds: float = HEARTBEAT_SECONDS) -> None:
        self._gateway = gateway
        self._heartbeat_seconds = heartbeat_seconds
        self._copies = Copies()

    def operation(self) -> ApiOperation:
        """What is served."""
        return ApiOperation(
            "GET",
            "/api/feed",
            self.follow,
            "Follow a session, a user's sessions or everything, as server-sent events",
            query=FeedQuery,
            answers={200: FeedMessage},
            media=EVENTS,
            headers=(LAST_EVENT_ID,),
        )

    async def follow(self, request: Request) -> Response:
        """The feed that was asked for; what cannot even begin is a problem like any other."""
        store = store_of(request)
        query = resumed(feed_query(request), request.headers.get(LAST_EVENT_ID))
        start = await connected(store, query)
        return Events(self._gateway, caller_of(request), store, start, self._copies, self._heartbeat_seconds)


class Events(EventStream):
    """The answer: it lasts until the client goes, the gateway stops or the feed cannot go on."""

    def __init__(
        self,
        gateway: Gateway,
        caller: Caller,
        store: Store,
        start: Connected,
        copies: Copies,
        heartbeat_seconds: float,
    ) -> None:
        super().__init__(heartbeat_seconds)
        self._gateway = gateway
        self._caller = caller
        self._store = store
        self._start = start
        self._copies = copies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the feed; of a HEAD, its beginning."""
        await self.begin(send)
        if scope["method"] == "HEAD":
            await send({"type": "http.response.body", "body": b""})
            return
        start = self._start
        with self._gateway.following(FeedScope(self._store.tenant, start.session_id, start.user_id)):
            await self.say(send, b"retry: %d\n" % RETRY_MS + opening(start))
            last = await self._follow(receive, send)
            if last is not None:
                await self.finish(send, last)

    async def _follow(self, receive: Receive, send: Send) -> bytes | None:
        """Send the feed; the last event, unless nobody is there to take it."""
        try:
            ending = await until_it_ends(self._gateway, self._caller, self._send_all(send), client_leaves(receive))
        except HoldfastError as error:
            return failed(error)
        except Exception:
            log.exception("a live feed failed")
            return failed(Unexpected("something went wrong inside the gateway"))
        if ending is FeedEnd.REFUSED:
            return failed(Unauthorized(ending.value))
        return (
            event(strict_json.dump({"detail": ending.value}), kind="stopping") if ending is FeedEnd.STOPPING else None
        )

    async def _send_all(self, send: Send) -> None:
        async def tell(body: bytes) -> None:
            await self.say(send, body)

        async with self.heartbeat(send):
            feed = messages(self._store, self._start, told, self._copies)
            await send_all(feed, self._gateway.unsent, tell)


def resumed(query: FeedQuery, last_event_id: str | None) -> FeedQuery:
    """The query, going on after the last event that the client has; that it names one wins over what the URL says."""
    if not last_event_id:
        return query
    if query.session is None:
        return FeedQuery(None, query.user, query.after, last_event_id)
    if not last_event_id.isascii() or not last_event_id.isdigit() or len(last_event_id) > 19:
        raise InvalidInput(
            f"{last_event_id!r:.80} is not the id of an event of a session",
            hint="Last-Event-ID is the id of the last event you got from this feed",
        )
    return FeedQuery(query.session, query.user, int(last_event_id), query.cursor)


def opening(start: Connected) -> bytes:
    """The first event; its id is where the feed starts, so that not even a client that got no more has a gap."""
    place = start.cursor if start.session_id is None else start.after
    return event(encode(start), kind="connected", place=place)


def told(stored: Event, session_id: str, cursor: str | None) -> bytes:
    """A stored event as an event of the stream."""
    found = message(stored, session_id, cursor)
    return event(encode(found), kind=found.type, place=found.seq if cursor is None else cursor)


def failed(error: HoldfastError) -> bytes:
    """The last event of a feed that cannot go on."""
    return event(strict_json.dump(problem(error)), kind="error")
