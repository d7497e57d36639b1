"""A gateway that asks for tokens, for tests of what a page offers to whom."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
from tests.dashboard.writing import ok
from tests.gateway.process import running
from tests.support.web import web_client


def bearer(token: str) -> dict[str, str]:
    """What whoever has a token sends."""
    return {"Authorization": f"Bearer {token}"}


class Guarded:
    """The gateway, its operator, and tokens for others."""

    def __init__(self, url: str, token: str, operator: httpx2.Client) -> None:
        self.url = url
        self.operator = operator
        self.operator_token = token
        self._names = itertools.count()

    def token(self, tenant: str, *scopes: str) -> tuple[str, Callable[[], None]]:
        """A token that may read and do this, and how to revoke it."""
        wanted = {"name": f"t-{next(self._names)}", "scopes": ["read", *scopes], "tenant": tenant}
        made: dict[str, Any] = ok(self.operator.post("/api/tokens", json=wanted))
        return str(made["token"]), lambda: ok(self.operator.delete(f"/api/tokens/{made['described']['tokenId']}"))

    @contextmanager
    def client(self, tenant: str) -> Iterator[httpx2.Client]:
        """A program of that tenant."""
        token, _ = self.token(tenant, "write", "admin")
        with web_client(base_url=self.url, headers=bearer(token)) as opened:
            yield opened


@contextmanager
def guarded_gateway(data: Path, *arguments: str) -> Iterator[Guarded]:
    """It asks for tokens from the start after the one that made the first."""
    with running(data, *arguments) as gateway, web_client(base_url=gateway.url) as first:
        token = str(ok(first.post("/api/tokens", json={"name": "boss", "scopes": ["operator"]}))["token"])
        gateway.stop()
    with (
        running(data, *arguments) as gateway,
        web_client(base_url=gateway.url, headers=bearer(token)) as operator,
    ):
        yield Guarded(gateway.url, token, operator)
