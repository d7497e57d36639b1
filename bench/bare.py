"""The least that can stand between a socket and the store: an ASGI handler with no framework, as a process.

It reads the body, takes from it what the store needs, appends or creates, and answers. `python -m bench.bare STORE_URL`
prints its port and serves until SIGTERM.
"""

import gc
import socket
import sys
from typing import Any

import msgspec
import uvicorn
import uvloop

from holdfast.cli.serve import RARELY
from holdfast.gateway.serve import SWITCH_SECONDS
from holdfast.store import NewEvent, Store, open_store

SESSIONS = "/api/sessions"
HEADERS = [(b"content-type", b"application/json")]


class Body(msgspec.Struct):
    """An action to append."""

    type: str
    details: msgspec.Raw


class NewSession(msgspec.Struct, rename="camel"):
    """A session to create."""

    session_id: str
    user_id: str
    initial: Any


_decode = msgspec.json.Decoder(Body).decode
_decode_session = msgspec.json.Decoder(NewSession).decode
_encode = msgspec.json.Encoder().encode


class Handler:
    """POST /…/SESSION appends one event, POST /api/sessions creates a session."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        answer = await (self._create(body) if scope["path"] == SESSIONS else self._append(scope["path"], body))
        headers = [*HEADERS, (b"content-length", b"%d" % len(answer))]
        await send({"type": "http.response.start", "status": 201, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    async def _append(self, path: str, body: bytes) -> bytes:
        action = _decode(body)
        session_id = path.rpartition("/")[2]
        done = await self._store.append(session_id, [NewEvent(action.type, bytes(action.details))])
        return _encode({"seq": done.first_seq, "eventId": done.event_ids[0]})

    async def _create(self, body: bytes) -> bytes:
        asked = _decode_session(body)
        done = await self._store.sessions.create(asked.session_id, user_id=asked.user_id, initial=asked.initial)
        return _encode({"sessionId": done.session.session_id})


async def serve(url: str) -> None:
    """Serve with the settings of the gateway."""
    sys.setswitchinterval(SWITCH_SECONDS)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        async with await open_store(url) as store:
            config = uvicorn.Config(
                Handler(store), http="httptools", ws="none", lifespan="off", access_log=False, log_level="warning"
            )
            gc.freeze()
            gc.set_threshold(RARELY)
            print(f'{{"url":"http://127.0.0.1:{listener.getsockname()[1]}"}}', flush=True)
            await uvicorn.Server(config).serve([listener])


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1]))
