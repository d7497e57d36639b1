"""The overview: what happened day by day, what it cost, what is wrong; made once for all who ask."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from tests.support.eventually import eventually

from holdfast.core import NewEvent, TaskState
from holdfast.core.clock import to_iso
from holdfast.gateway.access.authority import TokenHolders
from holdfast.gateway.app import create_app
from holdfast.gateway.gateway import Gateway
from holdfast.gateway.operations.timers import BACKUP, ServedStore, Timer
from holdfast.gateway.operations.traffic import BOUNDS, Counts
from holdfast.gateway.overview.overview import Overviews
from holdfast.gateway.overview.percentiles import failures_by_code, percentiles, route_times
from holdfast.gateway.overview.prices import PriceFile
from holdfast.store import DAY_MS, Store, StoreTuning, open_store

PRICES = """
currency = "EUR"
[models."m1"]
input = 2
output = 10
cached = 0.5
[models."m2*"]
input = 1.5
output = 3
"""


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    async with await open_store(store_url, tuning=StoreTuning(look_seconds=0.05)) as opened:
        yield opened


@pytest.fixture
def gateway(store: Store, tmp_path: Path) -> Gateway:
    made = Gateway(store, tmp_path)
    made.prices = tmp_path / "prices.toml"
    made.prices.write_text(PRICES)
    return made


@pytest.fixture
def app(store: Store, gateway: Gateway) -> FastAPI:
    return create_app(store, gateway=gateway)


async def overview(client: httpx2.AsyncClient, query: str = "", **headers: str) -> dict[str, Any]:
    answer = await client.get(f"/api/overview{query}", headers=headers)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def seen(store: Store, events: int) -> None:
    """Wait until so many events are counted by day."""

    async def counted() -> bool:
        return sum((await store.snapshot(lambda snapshot: snapshot.events_by_day(0))).values()) >= events

    await eventually(counted)


async def test_days_have_sessions_events_tokens_and_cost(client: httpx2.AsyncClient, store: Store) -> None:
    yesterday = store.clock.now() - DAY_MS
    await store.append("a", [NewEvent("x", {}, created_at=yesterday), NewEvent("y", {})])
    await store.usage.record("a", "m1", input_tokens=1_000, cached_tokens=400, output_tokens=100)
    await store.usage.record("a", "m2-mini", input_tokens=1_000, output_tokens=0)
    await store.usage.record("a", "other", input_tokens=5, output_tokens=5, cost_micros=77)
    await store.usage.record("a", "unknown", input_tokens=1, output_tokens=1)
    await seen(store, 6)
    found = await overview(client, "?days=5")
    days = {each["day"]: each for each in found["days"]}
    assert len(days) == 5
    assert [*days] == sorted(days)
    last = days.pop(to_iso(yesterday)[:10])
    assert (last["events"], last["tokens"]["calls"]) == (1, 0)
    assert sum(each["events"] for each in days.values()) == 5
    assert sum(each["tokens"]["calls"] for each in days.values()) == 4
    assert found["currency"] == "EUR"
    costs = {each["model"]: (each["costMicros"], each["priced"]) for each in found["models"]}
    m1 = 600 * 2 + 400 * 0.5 + 100 * 10
    assert costs == {"m1": (m1, True), "m2-mini": (1_500, True), "other": (77, True), "unknown": (0, False)}
    assert sum(each["costMicros"] for each in days.values()) == m1 + 1_500 + 77
    assert found["models"][0]["model"] == "m1", "the dearest first"


async def test_what_waits_for_somebody_is_counted(client: httpx2.AsyncClient, store: Store) -> None:
    started = await store.tasks.begin("asking", "t1", "c1", NewEvent("message", {}), owner="me")
    await store.tasks.update(started.task, TaskState.INPUT_REQUIRED)
    await store.append("cut", [NewEvent("x", {})])
    await store.sessions.finalize("cut", "interrupted")
    await store.effects.start("cut", "call", "pay", {})
    await store.append("gone", [NewEvent("x", {})])
    await store.deletion.delete("gone")
    found = await overview(client)
    assert (found["waitingTasks"], found["interruptedSessions"], found["unresolvedEffects"]) == (1, 1, 1)
    assert (found["store"]["sessions"], found["store"]["archives"]) == (2, 1)
    told = [(each["severity"], each["what"].split(":")[0]) for each in found["troubles"]]
    assert told[0] == ("bad", "1 effect of a tool has begun and never ended")
    assert ("warning", "1 session is interrupted") in told
    assert [each for each, _ in told] == sorted(each for each, _ in told)
    first = found["troubles"][0]
    assert (first["help"], first["sessionId"]) == ("holdfast sessions show cut", "cut")


async def test_of_several_sessions_with_open_effects_the_first_is_named(
    client: httpx2.AsyncClient, store: Store
) -> None:
    for session in ("z-first", "a-second"):
        await store.append(session, [NewEvent("x", {})])
        await store.effects.start(session, "call", "pay", {})
    trouble = (await overview(client))["troubles"][0]
    assert trouble["what"].startswith("2 effects of tools have begun")
    assert trouble["what"].endswith("whether they took place")
    assert trouble["sessionId"] == "z-first"


async def test_an_effect_that_somebody_is_at_is_not_unresolved(client: httpx2.AsyncClient, store: Store) -> None:
    await store.append("s", [NewEvent("x", {})])
    lease = await store.leases.acquire("s", "me", ttl_ms=600_000)
    await store.under(lease).effects.start("s", "call", "pay", {})
    assert (await overview(client))["unresolvedEffects"] == 0


async def test_requests_turns_and_failures_are_this_gateways(client: httpx2.AsyncClient) -> None:
    for _ in range(3):
        await client.get("/api/sessions/none")
    await client.get("/api/sessions")
    found = (await overview(client))["requests"]
    (row,) = [each for each in found["byRoute"] if each["route"] == "/api/sessions/{session_id}"]
    assert (row["method"], row["count"], row["failures"]) == ("GET", 3, 0)
    assert 0 < row["p50Ms"] <= row["p95Ms"] <= row["p99Ms"]
    assert {"code": "not_found", "count": 3} in found["failures"]
    assert found["turns"] == {"count": 0, "p50Ms": None, "p95Ms": None, "p99Ms": None}


def test_percentiles_lie_between_their_bounds_in_proportion() -> None:
    counts = [0] * (len(BOUNDS) + 1)
    counts[3] = 100  # from 5 to 10 ms
    found = percentiles(BOUNDS, counts)
    assert (found.count, found.p50_ms, found.p95_ms, found.p99_ms) == (100, 7.5, 9.75, 9.95)
    counts[-1] = 100  # longer than the last bound
    found = percentiles(BOUNDS, counts)
    assert (found.p50_ms, found.p99_ms) == (10.0, 10_000.0)
    assert percentiles(BOUNDS, [0] * len(counts)).p50_ms is None


def test_a_route_is_counted_over_all_its_answers_and_codes_are_bounded() -> None:
    counts = Counts()
    for status in (200, 200, 404, 500, 503):
        counts.answer("GET", "/x", status, 0.002)
    counts.answer("GET", "/y", 200, 0.002)
    first, second = route_times(counts)
    assert (first.route, first.count, first.failures) == ("/x", 5, 2)
    assert (second.route, second.count) == ("/y", 1)
    for number in range(1_000):
        counts.failed(400, b'{"code":"code%d"}' % number)
        counts.failed(500, b"\xff")
    assert len(counts.codes) == 200
    assert failures_by_code(counts)[0].count == 1_000


async def test_the_store_and_its_keeper_are_told_to_operators(
    client: httpx2.AsyncClient, store: Store, gateway: Gateway, tmp_path: Path
) -> None:
    gateway.address = "http://127.0.0.1:9"
    made = await client.post("/api/backup", json={"path": str(tmp_path / "backup")})
    assert made.status_code == 200, made.text
    found = await overview(client)
    assert found["store"]["engine"] == store.engine.name
    assert found["store"]["sizeBytes"] > 0
    assert (found["store"]["walSizeBytes"] is None) == (store.engine.name == "postgresql")
    assert found["store"]["freeBytes"] > 0
    assert [each["url"] for each in found["gateways"]] == ["http://127.0.0.1:9"]
    assert (found["backups"]["path"], found["backups"]["checked"]) == (str(tmp_path / "backup"), True)
    assert not [each for each in found["troubles"] if "backup" in each["what"]]


async def test_timers_that_fail_and_a_broken_price_file_are_troubles(
    client: httpx2.AsyncClient, store: Store, gateway: Gateway
) -> None:
    async def nothing() -> dict[str, Any]:
        return {}

    timer = Timer(BACKUP, 60_000, nothing, ServedStore(store, store.engine.url, alone=True), "me")
    timer.failure = "no room"
    gateway.timers = [timer]
    assert gateway.prices is not None
    gateway.prices.write_text("[models.m]\ninput = 'much'")
    troubles = (await overview(client))["troubles"]
    assert troubles[0] == {
        "severity": "bad",
        "what": "backup went wrong: no room",
        "help": "holdfast db status",
        "docs": "docs/operations.md",
        "sessionId": None,
    }
    assert any(each["what"].startswith("the prices cannot be read: the model 'm' has no output") for each in troubles)


async def test_a_tenants_admin_sees_its_own_and_nothing_of_the_gateway(store: Store, tmp_path: Path) -> None:
    gateway = Gateway(store, tmp_path, TokenHolders(store, {}))
    gateway.address = "http://127.0.0.1:9"
    tokens = {
        scope: (await store.tokens.create(scope, [scope], tenant=tenant))[1]
        for scope, tenant in (("admin", "small"), ("operator", "default"), ("read", "small"))
    }
    await store.append("mine", [NewEvent("x", {})])
    transport = httpx2.ASGITransport(create_app(store, gateway=gateway))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost", trust_env=False) as client:
        whole = await overview(client, Authorization=f"Bearer {tokens['operator']}")
        own = await overview(client, Authorization=f"Bearer {tokens['admin']}")
        refused = await client.get("/api/overview", headers={"Authorization": f"Bearer {tokens['read']}"})
    assert (whole["store"]["sessions"], own["store"]["sessions"]) == (1, 0)
    assert whole["requests"] is not None
    assert (own["requests"], own["backups"], own["gateways"], own["timers"], own["troubles"]) == (
        None,
        None,
        [],
        [],
        [],
    )
    assert (own["store"]["sizeBytes"], own["store"]["freeBytes"]) == (None, None)
    assert refused.json()["needs"] == "admin"


async def test_many_who_ask_at_once_are_answered_by_one_look(gateway: Gateway, store: Store) -> None:
    overviews = Overviews(gateway, PriceFile(None), fresh_seconds=600)
    answers = await asyncio.gather(*(overviews.answer(store, 30, whole=True) for _ in range(50)))
    assert all(each is answers[0] for each in answers)
    await store.append("new", [NewEvent("x", {})])
    assert await overviews.answer(store, 30, whole=True) is answers[0], "it is kept for a while"
    assert await overviews.answer(store, 7, whole=True) is not answers[0]


async def test_what_was_committed_is_seen_once_it_is_made_again(gateway: Gateway, store: Store) -> None:
    overviews = Overviews(gateway, PriceFile(None), fresh_seconds=0)
    before = await overviews.answer(store, 30, whole=False)
    await store.append("new", [NewEvent("x", {})])

    async def seen_now() -> bool:
        return b'"sessions":1,"events":1' in (await overviews.answer(store, 30, whole=False)).body

    assert b'"sessions":0,"events":0' in before.body
    await eventually(seen_now)


@pytest.mark.parametrize("query", ["?days=0", "?days=367", "?days=x"])
async def test_days_have_bounds(client: httpx2.AsyncClient, query: str) -> None:
    assert (await client.get(f"/api/overview{query}")).status_code == 400
