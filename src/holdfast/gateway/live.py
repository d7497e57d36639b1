"""The live feed over a WebSocket: `/ws?session=&after=` for one session, `/ws?user=&cursor=` for those of a user,
`/ws?cursor=` for the whole store.

The first message says where the feed starts; each one after it is an event, with what is needed to go on from it:
a seq for a session, a cursor for the store. Reconnecting with the last one seen misses and repeats nothing. Without
`after` or `cursor` a feed starts now. A client that is slow gets everything, later; one that takes nothing at all
for a minute is dropped by the server's socket (see `serve`).
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Any, cast

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from holdfast import __version__
from holdfast.core import Event, HoldfastError, types
from holdfast.core.clock import to_iso
from holdfast.core.errors import Conflict, InvalidInput
from holdfast.core.ids import check_name
from holdfast.gateway.body import query_parser
from holdfast.gateway.gateway import Followed, Gateway
from holdfast.gateway.owners import Owners
from holdfast.gateway.wire import action, details
from holdfast.gateway.wire_types import Seq
from holdfast.store import Store
from holdfast.store.feed import Envelope

STOPPING = 1012
FAILED = 1011
REFUSED = 4000
"""Plus the status of the error: 4404 is a session that does not exist."""

MAX_REASON_BYTES = 123
BREATH = 100
"""Messages after which other connections get their turn."""


class FeedQuery(msgspec.Struct):
    """What to follow, and after what; a session's feed is the same whichever user is named."""

    session: str | None = None
    user: str | None = None
    after: Seq | None = None
    cursor: str | None = None


class Connected(msgspec.Struct, rename="camel", omit_defaults=True, tag="connected"):
    """The first message: the feed goes on after this."""

    version: str
    session_id: str | None = None
    user_id: str | None = None
    after: int | None = None
    cursor: str | None = None


class Message(msgspec.Struct, rename="camel", omit_defaults=True):
    """One event; `data` is an action, or what the store's own event says."""

    type: str
    session_id: str
    seq: int
    data: Any
    timestamp: str
    cursor: str | None = None


log = logging.getLogger("holdfast.gateway")

_feed_query = query_parser(FeedQuery)
_encode = msgspec.json.Encoder().encode


class Live:
    """The route `/ws`."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def follow(self, websocket: WebSocket) -> None:
        """Send a feed until the client goes, the gateway stops or the feed cannot go on."""
        with suppress(WebSocketDisconnect):
            await websocket.accept()
            try:
                await self._follow(websocket)
            except HoldfastError as error:
                await websocket.close(REFUSED + error.status, reason(error.message))
            except WebSocketDisconnect:
                raise
            except Exception:
                log.exception("a live feed failed")
                await websocket.close(FAILED, "something went wrong inside the gateway")

    async def _follow(self, websocket: WebSocket) -> None:
        start = await connected(self._gateway.store, _feed_query(websocket.query_params))
        await websocket.send_text(_encode(start).decode())
        with self._gateway.following(Followed(start.session_id, start.user_id)):
            await self._until_it_ends(websocket, start)

    async def _until_it_ends(self, websocket: WebSocket, start: Connected) -> None:
        sending = asyncio.create_task(send_all(websocket, messages(self._gateway.store, start)))
        leaving = asyncio.create_task(client_leaves(websocket))
        stopping = asyncio.create_task(self._gateway.stopping.wait())
        tasks = (sending, leaving, stopping)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            failure, *_ = await asyncio.gather(*tasks, return_exceptions=True)
        if not leaving.cancelled():
            return
        if isinstance(failure, Exception):
            raise failure
        await websocket.close(STOPPING, "the gateway stops: reconnect and go on after what you have")


async def connected(store: Store, query: FeedQuery) -> Connected:
    """Where the feed that was asked for starts; a HoldfastError if there is no such place."""
    user = None if query.user is None else check_name(query.user, "a user id")
    if query.session is None:
        if query.after is not None:
            raise InvalidInput("after is the seq of a session: name the session, or use a cursor")
        end = await store.feed.now()
        if query.cursor is not None and store.feed.parse_cursor(query.cursor) > store.feed.parse_cursor(end):
            raise Conflict("the cursor is ahead of the store: the store was restored, so follow from now")
        return Connected(__version__, user_id=user, cursor=query.cursor or end)
    if query.cursor is not None:
        raise InvalidInput("a session's feed goes on after a seq: use after, not cursor")
    head = (await store.sessions.get(query.session)).head_seq
    if query.after is not None and query.after > head:
        raise Conflict(f"the session ends at seq {head}: it was restored, or this is another one")
    return Connected(__version__, query.session, user, head if query.after is None else query.after)


async def messages(store: Store, start: Connected) -> AsyncGenerator[Message, None]:
    """The feed's messages, for ever."""
    if start.session_id is not None:
        session = cast("AsyncGenerator[Event, None]", store.feed.session(start.session_id, after=start.after or 0))
        async with aclosing(session):
            async for event in session:
                yield message(start.session_id, event)
    else:
        owners = Owners(store)
        everything = cast("AsyncGenerator[Envelope, None]", store.feed.everything(start.cursor))
        async with aclosing(everything):
            async for envelope in everything:
                if start.user_id is None or await owners.of(envelope) == start.user_id:
                    yield message(envelope.session_id, envelope.event, envelope.cursor)


def message(session_id: str, event: Event, cursor: str | None = None) -> Message:
    """The event as followers see it."""
    timestamp = to_iso(event.created_at)
    if event.type.startswith(types.PREFIX):
        kind = event.type.removeprefix(types.PREFIX)
        return Message(kind, session_id, event.seq, details(event), timestamp, cursor)
    return Message("action", session_id, event.seq, action(event), timestamp, cursor)


async def send_all(websocket: WebSocket, feed: AsyncGenerator[Message, None]) -> None:
    """Send what the feed gives, giving way now and then; WebSocketDisconnect when the client is gone."""
    async with aclosing(feed):
        number = 0
        async for found in feed:
            await websocket.send_text(_encode(found).decode())
            number += 1
            if number % BREATH == 0:
                await asyncio.sleep(0)


async def client_leaves(websocket: WebSocket) -> None:
    """Return when the client goes; what it says until then is not needed."""
    while (await websocket.receive())["type"] != "websocket.disconnect":
        pass


def reason(text: str) -> str:
    """The text as a close frame can carry it."""
    return text.encode()[:MAX_REASON_BYTES].decode(errors="ignore")
