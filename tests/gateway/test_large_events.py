"""Answers with large events are bounded by bytes: a window has fewer events and a cursor, a stream holds little."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2
import pytest

from holdfast.gateway.app import create_app
from holdfast.gateway.routes.transfer import log_lines
from holdfast.gateway.routes.window import MOST_BYTES
from holdfast.store import NewEvent, Store, open_store

MB = 1_000_000
SIZES = [1, 7 * MB, 1, 7 * MB, 9 * MB, 1, 1]
DENSE = list(range(1, len(SIZES) + 1))


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    """A session of 23 MB whose even events are of another type, on each engine in turn."""
    async with await open_store(store_url) as opened:
        for number, size in enumerate(SIZES, 1):
            await opened.append("s", [NewEvent("odd" if number % 2 else "even", {"text": "x" * size})])
        yield opened


@pytest.fixture
async def client(store: Store) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(create_app(store))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost", trust_env=False) as made:
        yield made


def seqs(rows: list[dict[str, Any]]) -> list[int]:
    """Their seqs; there is at least one, and they are no more than a window holds, or one."""
    assert len(rows) == 1 or 0 < sum(len(row["details"]["text"]) for row in rows) <= MOST_BYTES
    return [row["seq"] for row in rows]


def wanted(kind: str | None) -> Iterator[int]:
    return (seq for seq in DENSE if kind is None or (kind == "odd") == bool(seq % 2))


async def test_windows_of_large_actions_go_on_without_a_gap(client: httpx2.AsyncClient, store: Store) -> None:
    for kind in (None, "odd"):
        asked: dict[str, Any] = {"limit": 1000} if kind is None else {"limit": 1000, "type": kind}
        page = (await client.get("/api/actions/s", params=asked)).json()
        assert page["cursor"]["after"] == len(SIZES)
        newest = seqs(page["actions"])
        while page["cursor"]["before"] is not None:
            page = (await client.get("/api/actions/s", params={**asked, "before": page["cursor"]["before"]})).json()
            newest = seqs(page["actions"]) + newest
        assert newest == list(wanted(kind))
        following: list[int] = []
        after = 0
        while after < len(SIZES):
            page = (await client.get("/api/actions/s", params={**asked, "after": after})).json()
            following += seqs(page["actions"])
            after = page["cursor"]["after"]
        assert following == list(wanted(kind))
    page = (await client.get("/api/sessions/s", params={"limit": 500})).json()
    assert seqs(page["actions"]) == [3, 4, 5, 6, 7]
    rest = (await client.get("/api/actions/s", params={"before": page["cursor"]["before"], "limit": 1})).json()
    assert seqs(rest["actions"]) == [2]
    tail = (await client.get("/api/sessions/s/resume", params={"limit": 500})).json()
    assert (seqs(tail["events"]), tail["complete"]) == ([3, 4, 5, 6, 7], False)
    pieces = [piece async for piece in log_lines(store, "s", 0, None)]
    assert [json.loads(line)["seq"] for line in b"".join(pieces).splitlines()] == DENSE
    assert all(piece.count(b"\n") <= 1 or len(piece) < 2 * MB for piece in pieces)
