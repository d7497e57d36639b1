"""The least that can stand between a socket and the store: an ASGI handler with no framework, as a process.

It reads the body, takes type and details from it, appends and answers. `python -m bench.bare STORE_URL` prints its
port and serves until SIGTERM.
"""

import socket
import sys
from typing import Any

import msgspec
import uvicorn
import uvloop

from holdfast.store import NewEvent, Store, open_store

HEADERS = [(b"content-type", b"application/json")]


class Body(msgspec.Struct):
    """An action to append."""

    type: str
    details: msgspec.Raw


_decode = msgspec.json.Decoder(Body).decode
_encode = msgspec.json.Encoder().encode


class Handler:
    """POST /…/SESSION appends one event."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        action = _decode(body)
        session_id = scope["path"].rpartition("/")[2]
        done = await self._store.append(session_id, [NewEvent(action.type, bytes(action.details))])
        answer = _encode({"seq": done.first_seq, "eventId": done.event_ids[0]})
        headers = [*HEADERS, (b"content-length", b"%d" % len(answer))]
        await send({"type": "http.response.start", "status": 201, "headers": headers})
        await send({"type": "http.response.body", "body": answer})


async def serve(url: str) -> None:
    """Serve with the settings of the gateway."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        async with await open_store(url) as store:
            config = uvicorn.Config(
                Handler(store), http="httptools", ws="none", lifespan="off", access_log=False, log_level="warning"
            )
            print(f'{{"url":"http://127.0.0.1:{listener.getsockname()[1]}"}}', flush=True)
            await uvicorn.Server(config).serve([listener])


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1]))
