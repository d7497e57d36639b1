"""The layer that keeps the audit log: an entry before each such action, its status after it.

What cannot be written down is not done.
"""

import logging
from urllib.parse import unquote

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.core import HoldfastError
from holdfast.core.redact import redact
from holdfast.gateway.access.auth import CALLER, STORE
from holdfast.gateway.access.scopes import Caller, is_audited, needed
from holdfast.gateway.errors import NoAudit, Unexpected
from holdfast.store import Store
from holdfast.store.operators import WRITE

MAX_METHOD = 20
MAX_TARGET = 500
MAX_DETAILS = 2_000
CHAT = "/api/chat/"
BROKEN_OFF = 499
"""The status of an action whose answer could not be begun."""

log = logging.getLogger("holdfast.gateway")


class Audits:
    """Writes down what is done with a gateway's power; a store that was opened for reading keeps no log."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        store: Store | None = scope.get(STORE)
        if (
            scope["type"] != "http"
            or store is None
            or store.read_only
            or not (is_audited(scope["method"], scope["path"]) or is_reply(scope))
        ):
            await self._app(scope, receive, send)
            return
        caller: Caller = scope[CALLER]
        method: str = scope["method"]
        power = needed(method, scope["path"]) or WRITE
        try:
            entry = await store.audit.begin(caller.name, caller.token_id, power, method[:MAX_METHOD], target_of(scope))
        except HoldfastError as error:
            raise NoAudit(f"{error.message}: nothing was done") from error
        status = BROKEN_OFF
        said = bytearray()
        is_json = any(name == b"content-type" and b"json" in value for name, value in scope["headers"])

        async def heard() -> Message:
            message = await receive()
            if is_json and len(said) < MAX_DETAILS:
                said.extend(message.get("body", b"")[:MAX_DETAILS])
            return message

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, heard, watched)
        except HoldfastError as error:
            status = error.status
            raise
        except ClientDisconnect:
            raise
        except Exception:
            status = Unexpected.status
            raise
        finally:
            await _end(store, entry, status, bytes(said[:MAX_DETAILS]))


async def _end(store: Store, entry: str, status: int, said: bytes) -> None:
    """Write how an action ended; it has, so if that cannot be written the entry stays as one that was cut off."""
    details = redact(said.decode(errors="replace")).replace("\0", "")[:MAX_DETAILS] or None
    try:
        await store.audit.end(entry, status, details)
    except HoldfastError as error:
        log.error("audit entry %s has no status, which would be %d: %s", entry, status, error.message)


def is_reply(scope: Scope) -> bool:
    """Whether a person says something to the agent from a page: browsers name the mode of what they fetch, and a
    program's own turns are no more than its work."""
    return (
        scope["method"] == "POST"
        and scope["path"].startswith(CHAT)
        and any(name == b"sec-fetch-mode" for name, _ in scope["headers"])
    )


def target_of(scope: Scope) -> str:
    """What a request is about, as its address says."""
    path: str = scope["path"]
    query = unquote(scope.get("query_string", b"").decode("latin-1"))
    return redact(f"{path}?{query}" if query else path).replace("\0", "")[:MAX_TARGET]
