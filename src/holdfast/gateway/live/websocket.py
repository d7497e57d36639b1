"""The live feed over a WebSocket: `/ws?session=&after=` for one session, `/ws?user=&cursor=` for those of a user,
`/ws?cursor=` for the whole store.

The close says why it ends. A client that takes nothing at all for a minute is dropped by the server's socket (see
`listen`); the server's pings make sure that there is always something to take.
"""

import logging
from contextlib import suppress

from starlette.websockets import WebSocket, WebSocketDisconnect

from holdfast.core import Event, HoldfastError
from holdfast.gateway.access.auth import PROTOCOL, caller_of, store_of
from holdfast.gateway.connections.pieces import UTF8
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

STOPPING = 1012
FAILED = 1011
ENDED = 4401
"""The caller's token was revoked, or has expired."""
REFUSED = 4000
"""Plus the status of the error: 4404 is a session that does not exist."""

MAX_REASON_BYTES = 123

log = logging.getLogger("holdfast.gateway")


class Live:
    """The route `/ws`."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._copies = Copies()

    async def follow(self, websocket: WebSocket) -> None:
        """Send a feed until the client goes, the gateway stops or the feed cannot go on."""
        with suppress(WebSocketDisconnect):
            await websocket.accept(PROTOCOL if PROTOCOL in websocket.scope.get("subprotocols", ()) else None)
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
        store = store_of(websocket)
        start = await connected(store, feed_query(websocket))

        async def send(body: bytes) -> None:
            await websocket.send({"type": "websocket.send", UTF8: body})

        await send(encode(start))
        with self._gateway.following(FeedScope(store.tenant, start.session_id, start.user_id)):
            feed = messages(store, start, written, self._copies)
            sending = send_all(feed, self._gateway.unsent, send)
            ending = await until_it_ends(self._gateway, caller_of(websocket), sending, client_leaves(websocket))
            if ending is not FeedEnd.LEFT:
                await websocket.close(ENDED if ending is FeedEnd.REFUSED else STOPPING, ending.value)


def written(event: Event, session_id: str, cursor: str | None) -> bytes:
    """An event as the text of a message."""
    return encode(message(event, session_id, cursor))


async def client_leaves(websocket: WebSocket) -> None:
    """Return when the client goes; what it says until then is not needed."""
    while (await websocket.receive())["type"] != "websocket.disconnect":
        pass


def reason(text: str) -> str:
    """The text as a close frame can carry it."""
    return text.encode()[:MAX_REASON_BYTES].decode(errors="ignore")
