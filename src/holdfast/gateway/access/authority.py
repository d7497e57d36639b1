"""What a gateway trusts: everybody who reaches it, or whoever has a token."""

import hmac
from collections.abc import Iterable, Mapping
from typing import Protocol

from holdfast.gateway.access.scopes import Caller
from holdfast.gateway.errors import Unauthorized
from holdfast.store import Store
from holdfast.store.operators import OPERATOR, SCOPES, digest


class Authority(Protocol):
    """Tells who a caller is."""

    asks: bool
    """Whether a token is asked for at all."""

    async def caller(self, token: str | None) -> Caller:
        """Who sends this token; Unauthorized if it is not good enough."""
        ...

    async def still(self, caller: Caller) -> bool:
        """Whether the caller may still do what it was let in for."""
        ...


class Everybody:
    """On a loopback address, by default: who is on this machine may do everything."""

    asks = False

    def __init__(self, tenant: str) -> None:
        self._caller = Caller("local", tenant, frozenset(SCOPES))

    async def caller(self, token: str | None) -> Caller:
        """The local caller, whatever it sends."""
        return self._caller

    async def still(self, caller: Caller) -> bool:
        """Always."""
        return True


class TokenHolders:
    """The tokens in the store, looked up for every request; beside them those of this gateway's own, which are an
    operator's: by name, their texts."""

    asks = True

    def __init__(self, store: Store, own: Mapping[str, str]) -> None:
        self._store = store
        self._own = [(name, digest(text)) for name, text in own.items()]

    async def caller(self, token: str | None) -> Caller:
        """Who has this token."""
        if token is None:
            raise Unauthorized("this gateway asks for a token")
        name = named(self._own, token)
        if name is not None:
            return Caller(name, self._store.tenant, frozenset({OPERATOR}))
        found = await self._store.tokens.find(token)
        if found is None:
            raise Unauthorized("the token is unknown, revoked or expired")
        return Caller(found.name, found.tenant, found.scopes, found.token_id)

    async def still(self, caller: Caller) -> bool:
        """Whether its token was neither revoked nor has expired."""
        return caller.token_id is None or await self._store.tokens.valid(caller.token_id)


def named(own: Iterable[tuple[str, bytes]], token: str) -> str | None:
    """The name of the own token that this is, if it is one."""
    sent = digest(token) if token.isascii() else b""
    return next((name for name, kept in own if hmac.compare_digest(kept, sent)), None)
