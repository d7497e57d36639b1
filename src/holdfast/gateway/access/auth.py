"""The layer that says who asks: it finds the caller by its token, and the store of the caller's tenant.

Everything further in works on `scope["holdfast.store"]`, which holds one tenant's sessions and no way to another's.
A token comes in the header `Authorization: Bearer`, or, from a browser's WebSocket, as the subprotocol `bearer.hf_…`
beside `holdfast`; never in a URL, where logs would keep it. Another machine that keeps sending wrong ones is
told to wait.
"""

from collections.abc import Callable

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from holdfast.core import HoldfastError
from holdfast.core.errors import InvalidInput
from holdfast.core.loopback import is_loopback
from holdfast.gateway.access.authority import Authority
from holdfast.gateway.access.scopes import Caller, is_let_in, needed
from holdfast.gateway.connections.limits import FAILURES
from holdfast.gateway.connections.rates import Rates, address_key, too_many
from holdfast.gateway.errors import Forbidden, Unauthorized
from holdfast.http.answers import problem_answer, refuse_upgrade
from holdfast.store import Store, reading_for

CALLER = "holdfast.caller"
STORE = "holdfast.store"
PROTOCOL = "holdfast"
BEARER = b"bearer "
OFFERED = "bearer."
NO_TOKEN = ""
"""What is nobody's token: the name and password of another kind of Authorization."""


class Auth:
    """Lets a request through with its caller, or answers it."""

    def __init__(self, app: ASGIApp, authority: Authority, store_of: Callable[[str], Store]) -> None:
        self._app = app
        self._authority = authority
        self._store_of = store_of
        self._wrong_tokens = Rates(FAILURES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        method = scope.get("method", "GET")
        try:
            wanted = needed(method, scope["path"])
            if wanted is not None:
                caller = await self._let_in(scope, wanted)
                scope[CALLER] = caller
                scope[STORE] = self._store_of(caller.tenant)
        except HoldfastError as refusal:
            headers = {"WWW-Authenticate": "Bearer"} if isinstance(refusal, Unauthorized) else None
            answer = problem_answer(refusal, headers)
            if scope["type"] == "http":
                await answer(scope, receive, send)
            else:
                await refuse_upgrade(answer, scope, receive, send)
            return
        with reading_for(reader_of(scope)):
            await self._app(scope, receive, send)

    async def _let_in(self, scope: Scope, wanted: str) -> Caller:
        token, tenant = _presented(scope)
        try:
            caller = await self._authority.caller(token)
        except Unauthorized:
            address = address_key(scope)
            wait = None if token is None or is_loopback(address) else self._wrong_tokens.take(address)
            if wait is not None:
                raise too_many(wait) from None
            raise
        if not is_let_in(caller, wanted, scope["path"]):
            raise lacks(caller, wanted)
        return caller.acting_for(tenant)


def lacks(caller: Caller, scope: str) -> Forbidden:
    """The refusal of a caller that does not have a scope."""
    return Forbidden(f"the token {caller.name!r:.80} does not have the scope {scope}", needs=scope)


def reader_of(scope: Scope) -> str:
    """For whom the store is read: the token, or else the connection."""
    caller: Caller | None = scope.get(CALLER)
    if caller is not None and caller.token_id is not None:
        return caller.token_id
    return "{}:{}".format(*(scope.get("client") or ("", "")))


def caller_of(connection: HTTPConnection) -> Caller:
    """Who sent the request."""
    found: Caller = connection.scope[CALLER]
    return found


def store_of(connection: HTTPConnection) -> Store:
    """The store of the caller's tenant."""
    found: Store = connection.scope[STORE]
    return found


def tenant_of(scope: Scope) -> str:
    """The caller's tenant; nothing where nobody was asked for a token."""
    found: Store | None = scope.get(STORE)
    return "" if found is None else found.tenant


def _presented(scope: Scope) -> tuple[str | None, str | None]:
    """The token and the tenant that a request names, if it does."""
    tokens: list[str] = []
    tenants: list[str] = []
    for name, value in scope["headers"]:
        if name == b"authorization":
            is_bearers = value[: len(BEARER)].lower() == BEARER
            tokens.append(value[len(BEARER) :].strip().decode("latin-1") if is_bearers else NO_TOKEN)
        elif name == b"holdfast-tenant":
            tenants.append(value.decode("latin-1"))
    tokens += [each.removeprefix(OFFERED) for each in scope.get("subprotocols", ()) if each.startswith(OFFERED)]
    if len(tokens) > 1 or len(tenants) > 1:
        raise InvalidInput("one token and one tenant, not several")
    return (tokens[0] if tokens else None), (tenants[0] if tenants else None)
