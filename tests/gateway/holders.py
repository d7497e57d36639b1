"""Those who have tokens: tokens made in a store before a gateway starts on it, and clients that send them."""

import asyncio
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx2
from tests.gateway.process import PATIENCE
from tests.support.web import web_client
from websockets.sync.client import ClientConnection, connect

from holdfast.store import open_store
from holdfast.store.operators.tokens import Tokens


class Wanted(NamedTuple):
    """A token to make."""

    scopes: Iterable[str]
    tenant: str = "default"
    lasts_ms: int | None = None
    revoked: bool = False


def make_tokens(store_url: str, wanted: Mapping[str, Wanted]) -> dict[str, str]:
    """The texts of new tokens, by their names; those that are to be short-lived have expired."""

    async def make() -> dict[str, str]:
        async with await open_store(store_url) as store:
            return {name: await _made(store.tokens, name, each) for name, each in wanted.items()}

    return asyncio.run(make())


async def _made(tokens: Tokens, name: str, wanted: Wanted) -> str:
    made, text = await tokens.create(name, wanted.scopes, tenant=wanted.tenant, lasts_ms=wanted.lasts_ms)
    if wanted.revoked:
        await tokens.revoke(made.token_id)
    async with asyncio.timeout(PATIENCE):
        while wanted.lasts_ms is not None and await tokens.find(text) is not None:
            await asyncio.sleep(0.001)
    return text


def bearer(token: str | None, tenant: str | None = None) -> dict[str, str]:
    """The headers of who has this token, and of an operator at work for a tenant."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return headers if tenant is None else headers | {"Holdfast-Tenant": tenant}


def client(url: str, token: str | None = None, tenant: str | None = None) -> httpx2.Client:
    """A client that sends this token."""
    return web_client(base_url=url, headers=bearer(token, tenant))


@contextmanager
def follow(url: str, query: str, token: str | None, **options: Any) -> Iterator[ClientConnection]:
    """A live feed of who has this token."""
    live = url.replace("http", "ws", 1) + f"/ws?{query}"
    options |= {"proxy": None, "open_timeout": PATIENCE, "max_size": None, "additional_headers": bearer(token)}
    with connect(live, **options) as made:
        yield made


@contextmanager
def events(url: str, token: str, query: str = "") -> Iterator[Iterator[tuple[str, Any]]]:
    """A feed as server-sent events, after the first."""
    with client(url, token) as asking, asking.stream("GET", f"/api/feed?{query}") as stream:
        lines = stream.iter_lines()

        def each() -> Iterator[tuple[str, Any]]:
            kind = ""
            for line in lines:
                name, _, value = line.partition(": ")
                if name == "event":
                    kind = value
                elif name == "data":
                    yield kind, json.loads(value)

        found = each()
        assert next(found)[0] == "connected"
        yield found
