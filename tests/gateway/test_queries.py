"""Queries over HTTP: the newest sessions, totals, full text."""

from collections.abc import AsyncIterator

import httpx2
import pytest
from fastapi import FastAPI

from holdfast.gateway.app import create_app
from holdfast.store import NewEvent, Store, open_store


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    async with await open_store(store_url) as opened:
        yield opened


@pytest.fixture
def app(store: Store) -> FastAPI:
    return create_app(store)


async def test_recent_gives_the_newest(client: httpx2.AsyncClient, store: Store) -> None:
    for number in range(5):
        await store.append(f"s{number}", [NewEvent("x", {})])
    recent = (await client.get("/api/query/recent?limit=2")).json()
    assert [row["sessionId"] for row in recent["sessions"]] == ["s4", "s3"]
    await client.delete("/api/sessions/s4")
    assert len((await client.get("/api/query/recent")).json()["sessions"]) == 4
    assert (await client.get("/api/query/recent?limit=0")).status_code == 400


async def test_stats_count_sessions_events_and_tokens(client: httpx2.AsyncClient, store: Store) -> None:
    empty = (await client.get("/api/query/stats")).json()
    assert (empty["sessions"], empty["byStatus"], empty["events"], empty["days"]) == (0, {}, 0, [])
    for name in ("a", "b", "c"):
        await store.append(name, [NewEvent("x", {}), NewEvent("y", {})])
    await store.sessions.finalize("b", "failed")
    await store.usage.record("a", "m1", input_tokens=10, output_tokens=3, cost_micros=7)
    await store.usage.record("b", "m2", input_tokens=5, output_tokens=1, cached_tokens=2)
    await client.delete("/api/sessions/c")
    stats = (await client.get("/api/query/stats?days=7")).json()
    assert (stats["sessions"], stats["byStatus"], stats["events"]) == (2, {"active": 1, "failed": 1}, 7)
    tokens = {"calls": 2, "inputTokens": 15, "outputTokens": 4, "cachedTokens": 2, "costMicros": 7}
    assert stats["tokens"] == tokens
    assert stats["sizeBytes"] > 0
    (today,) = stats["days"]
    assert (today["sessions"], today["tokens"], len(today["day"])) == (2, tokens, 10)
    assert (await client.get("/api/query/stats?days=0")).status_code == 400


async def test_usage_counts_one_session(client: httpx2.AsyncClient, store: Store) -> None:
    await store.usage.record("a", "m1", input_tokens=10, output_tokens=3, cost_micros=7)
    await store.usage.record("a", "m2", input_tokens=1, output_tokens=1)
    await store.usage.record("b", "m2", input_tokens=5, output_tokens=1, cached_tokens=2)
    counted = (await client.get("/api/query/usage?session=a")).json()
    assert counted == {"calls": 2, "inputTokens": 11, "outputTokens": 4, "cachedTokens": 0, "costMicros": 7}
    assert (await client.get("/api/query/usage?session=none")).status_code == 404
    assert (await client.get("/api/query/usage")).status_code == 400


async def test_search_finds_what_was_acknowledged(client: httpx2.AsyncClient) -> None:
    await client.post("/api/sessions", json={"sessionId": "s", "userId": "ada"})
    for number in range(3):
        await client.post("/api/actions/s", json={"type": "note", "details": {"text": f"the red kite {number}"}})
    await client.post("/api/actions/t", json={"type": "other", "details": {"text": "a blue kite"}})
    found = (await client.get("/api/query/search?q=kite")).json()
    assert [(hit["sessionId"], hit["seq"]) for hit in found["hits"]] == [("t", 1), ("s", 4), ("s", 3), ("s", 2)]
    assert (found["cursor"], found["damaged"]) == (None, [])
    hit = found["hits"][0]
    assert set(hit) == {"sessionId", "seq", "eventId", "type", "timestamp", "snippet", "highlights", "sizeBytes"}
    start, end = hit["highlights"][0]
    assert hit["snippet"][start:end] == "kite"
    seen: list[int] = []
    query = "q=kite&session=s&limit=2"
    while query:
        page = (await client.get(f"/api/query/search?{query}")).json()
        seen += [hit["seq"] for hit in page["hits"]]
        query = f"q=kite&session=s&limit=2&cursor={page['cursor']}" if page["cursor"] else ""
    assert seen == [4, 3, 2]
    for query, hits in (("q=kite&user=ada", 3), ("q=kite&type=other", 1), ("q=kite&type=other&type=note", 4)):
        assert len((await client.get(f"/api/query/search?{query}")).json()["hits"]) == hits


@pytest.mark.parametrize(
    "query",
    ["", "q=", "q=kite&limit=0", "q=kite&limit=101", "q=kite&cursor=x", "q=kite&type=%00", "q=kite&session=a%20b"],
)
async def test_a_bad_search_is_refused(client: httpx2.AsyncClient, query: str) -> None:
    refused = await client.get(f"/api/query/search?{query}")
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_input")


async def test_a_search_in_an_unknown_session_is_not_found(client: httpx2.AsyncClient) -> None:
    assert (await client.get("/api/query/search?q=kite&session=none")).status_code == 404
