"""What a tenant once did to others, or to itself, with one request: each is refused now, by name."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager

import httpx2
import pytest

from holdfast.core.strict_json import MAX_COUNT
from holdfast.gateway.app import create_app
from holdfast.gateway.gateway import Gateway
from holdfast.gateway.routes.transfer import MOST_EXPORTS, MOST_OF_A_TENANT, archive_bytes, counted
from holdfast.store import NewEvent, Store
from holdfast.store.sessions.children import MAX_CHILDREN
from holdfast.store.sessions.goals import NAME_TRIES

TIMES = ["9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", "1969-12-31T23:59:59Z"]


async def test_names_that_are_taken_are_not_tried_without_end(client: httpx2.AsyncClient) -> None:
    """The search for a free name goes on in the lane: 4,900 taken names made everybody wait for 19 s."""
    taken = 2 * NAME_TRIES
    named = [{"goalId": f"goal-{number}", "description": "d"} for number in range(taken + 1, 2 * taken + 1)]
    unnamed = [{"description": "d"}] * 3
    answer = await client.patch("/api/state/s", json={"goals": [*named, *unnamed]})
    assert answer.status_code == 200
    names = {goal["goalId"] for goal in answer.json()["goals"]}
    assert len(names) == taken + 3
    assert f"goal-{2 * taken + 1}" not in names
    made = await client.post("/api/state/s/goals", json={"description": "d"})
    assert (made.status_code, made.json()["goalId"] in {*names, f"goal-{2 * taken + 1}"}) == (201, False)


async def test_a_patch_has_a_bounded_number_of_goals(client: httpx2.AsyncClient) -> None:
    goals = [{"description": "d"}] * (MAX_CHILDREN + 1)
    answer = await client.patch("/api/state/s", json={"goals": goals})
    assert (answer.status_code, answer.json()["limit"]) == (413, MAX_CHILDREN)


@pytest.mark.parametrize("time", TIMES)
async def test_a_time_that_cannot_be_shown_is_not_kept(client: httpx2.AsyncClient, time: str) -> None:
    """It was kept, and from then on neither the session nor any list of its tenant could be read."""
    goal = {"description": "d", "createdAt": time}
    ended = {"status": "completed", "completedAt": time}
    assert (await client.post("/api/state/s/goals", json={"goalId": "g", "description": "d"})).status_code == 201
    assert (await client.post("/api/state/s/agents", json={"type": "t", "agentId": "a"})).status_code == 201
    for answer in (
        await client.post("/api/state/s/goals", json=goal),
        await client.patch("/api/state/s/goals/g", json=ended),
        await client.post("/api/state/s/agents", json={"type": "t", "spawnedAt": time}),
        await client.post("/api/state/s/agents/a/complete", json={"completedAt": time}),
        await client.patch("/api/state/s", json={"goals": [goal]}),
    ):
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input"), answer.request.url
    for path in ("/api/sessions", "/api/sessions/s", "/api/state/s", "/api/query/recent"):
        assert (await client.get(path)).status_code == 200


@pytest.mark.parametrize("name", ["` - at `$.nosuch", "` - at `$.tags[...].x", "x" * 100_000])
async def test_a_member_with_an_odd_name_is_refused_by_its_name(client: httpx2.AsyncClient, name: str) -> None:
    answer = await client.post("/api/sessions", json={"userId": "ada", name: 1})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")
    assert len(answer.content) < 2_000


async def test_a_body_of_very_many_objects_is_refused_before_it_is_parsed(client: httpx2.AsyncClient) -> None:
    """15 MB of them took 1.4 GB."""
    body = b'{"type":"x","details":[' + b",".join([b"{}"] * MAX_COUNT) + b"]}"
    answer = await client.post("/api/actions/s", content=body)
    assert (answer.status_code, answer.json()["limit"]) == (413, MAX_COUNT)


@asynccontextmanager
async def exporting(store: Store) -> AsyncIterator[tuple[Gateway, httpx2.AsyncClient, AsyncExitStack]]:
    """A gateway, a client of the store's tenant, and the exports of clients that take nothing."""
    await store.append("s", [NewEvent("note", {"text": "x"})])
    gateway = Gateway(store)
    transport = httpx2.ASGITransport(create_app(store, gateway=gateway))
    async with (
        httpx2.AsyncClient(transport=transport, base_url="http://localhost", trust_env=False) as client,
        AsyncExitStack() as deaf,
    ):
        yield gateway, client, deaf
    assert not gateway.exports


async def begin(gateway: Gateway, deaf: AsyncExitStack, tenant: str) -> None:
    """One more export that nobody takes."""
    made = counted(gateway, tenant, archive_bytes(gateway.store, None))
    await anext(await deaf.enter_async_context(aclosing(made)))


async def test_only_so_many_exports_are_under_way(store: Store) -> None:
    """Each holds large events, whether its client takes them or not."""
    async with exporting(store) as (gateway, client, deaf):
        for number in range(MOST_EXPORTS):
            assert (await client.get("/api/export")).status_code == 200
            await begin(gateway, deaf, f"tenant {number}")
        answer = await client.get("/api/export")
        assert (answer.status_code, answer.json()["code"]) == (503, "busy")
        await deaf.aclose()
        assert (await client.get("/api/export")).status_code == 200


async def test_one_tenant_never_has_all_exports(store: Store) -> None:
    async with exporting(store) as (gateway, client, deaf):
        for _ in range(MOST_OF_A_TENANT):
            assert (await client.get("/api/export")).status_code == 200
            await begin(gateway, deaf, store.tenant)
        answer = await client.get("/api/export")
        assert (answer.status_code, answer.json()["code"]) == (503, "busy")
        await deaf.aclose()
        assert (await client.get("/api/export")).status_code == 200


async def test_beside_a_tenant_with_all_that_it_may_have_another_finds_an_export(store: Store) -> None:
    async with exporting(store) as (gateway, client, deaf):
        for _ in range(MOST_OF_A_TENANT):
            await begin(gateway, deaf, "hostile")
        assert (await client.get("/api/export")).status_code == 200
