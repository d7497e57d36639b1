"""What a body may be: how long, how many of them at once, how many events, how deep."""

import asyncio
import json
from collections.abc import AsyncIterator

import httpx2
import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from tests.gateway.test_problems import check
from tests.support.web import async_web_client

from holdfast.core.errors import InvalidInput, TooLarge
from holdfast.gateway.access.authority import TokenHolders
from holdfast.gateway.api.body import parse_actions
from holdfast.gateway.app import create_app
from holdfast.gateway.connections.limits import ConnectionLimits
from holdfast.gateway.connections.listen import listen, url_of
from holdfast.gateway.connections.protocols import http_protocol
from holdfast.gateway.connections.unsent_output import UnsentOutput
from holdfast.gateway.gateway import Gateway
from holdfast.store import Store
from holdfast.store.log.prepare import MAX_EVENTS


async def test_all_bodies_together_fit_into_memory(store: Store) -> None:
    """Each one is small enough, but not with what the others have sent already."""
    transport = httpx2.ASGITransport(create_app(store, limits=ConnectionLimits(max_body=1000, max_bodies=2000)))
    goes_on = asyncio.Event()
    halfway = asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield b'{"type":"x"' + b" " * 900
        halfway.set()
        await goes_on.wait()
        yield b"}"

    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost", trust_env=False) as client:
        first = asyncio.create_task(client.post("/api/actions/s", content=slow()))
        await halfway.wait()
        body = b'{"type":"x"}' + b" " * 900
        second = await client.post("/api/actions/s", content=body)
        assert (second.status_code, check(second)["code"], second.headers["retry-after"]) == (503, "busy", "1")
        assert (await client.post("/api/actions/s", content=body[:500])).status_code == 201
        goes_on.set()
        assert (await first).status_code == 201
        assert (await client.post("/api/actions/s", content=body)).status_code == 201
        assert (await client.get("/api/sessions/s")).json()["metadata"]["headSeq"] == 3


async def test_a_tenant_with_large_bodies_leaves_room_for_others(store: Store) -> None:
    """However slowly it sends them."""
    owners = {name: f"{store.tenant}-{name}" for name in "ab"}
    tokens = {name: (await store.tokens.create(name, ("write",), tenant=owners[name]))[1] for name in owners}
    gateway = Gateway(store, authority=TokenHolders(store, {}))
    limits = ConnectionLimits(max_body=1000, max_bodies=2000)
    transport = httpx2.ASGITransport(create_app(store, gateway=gateway, limits=limits))
    goes_on = asyncio.Event()
    sent: asyncio.Queue[None] = asyncio.Queue()

    async def slow() -> AsyncIterator[bytes]:
        yield b'{"type":"x"' + b" " * 700
        sent.put_nowait(None)
        await goes_on.wait()
        yield b"}"

    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost", trust_env=False) as client:

        async def send(owner: str, content: bytes | AsyncIterator[bytes]) -> int:
            headers = {"Authorization": f"Bearer {tokens[owner]}"}
            return (await client.post("/api/actions/s", content=content, headers=headers)).status_code

        slow_ones = [asyncio.create_task(send("a", slow())) for _ in range(2)]
        for _ in slow_ones:
            await sent.get()
        body = b'{"type":"x"}' + b" " * 300
        assert await send("a", body) == 503
        assert await send("b", body) == 201
        goes_on.set()
        assert await asyncio.gather(*slow_ones) == [201, 201]
        assert await send("a", body) == 201


@pytest.mark.parametrize("lines", [True, False], ids=["lines", "array"])
async def test_no_more_events_come_at_once_than_one_append_takes(client: httpx2.AsyncClient, lines: bool) -> None:
    one = b'{"type":"x"}'

    def batch(number: int) -> bytes:
        return b"\n".join([one] * number) if lines else b"[" + b",".join([one] * number) + b"]"

    refused = await client.post("/api/actions/s/batch", content=batch(MAX_EVENTS + 1))
    assert (refused.status_code, check(refused)["limit"]) == (413, MAX_EVENTS)
    assert (await client.get("/api/sessions/s")).status_code == 404
    assert (await client.post("/api/actions/s/batch", content=batch(MAX_EVENTS))).json()["lastSeq"] == MAX_EVENTS


def test_a_batch_of_very_many_nothings_is_refused_before_it_is_taken_apart() -> None:
    with pytest.raises(TooLarge):
        parse_actions(b"\n" * 10_000_000)
    with pytest.raises(InvalidInput):
        parse_actions(b"[" + b"1," * 5_000_000 + b"1]")
    with pytest.raises(TooLarge):
        parse_actions(b"[" + b'{"type":""},' * MAX_EVENTS + b'{"type":""}]')


def test_many_commas_are_not_many_actions() -> None:
    details = json.dumps(list(range(2 * MAX_EVENTS)))
    assert len(parse_actions(f'[{{"type":"x","details":{{"a":{details}}}}}]'.encode())) == 1


async def test_a_body_is_not_too_deep(client: httpx2.AsyncClient) -> None:
    for levels, status in ((60, 201), (65, 400), (100_000, 400)):
        deep = b'{"type":"x","details":{"a":' + b"[" * levels + b"]" * levels + b"}}"
        answer = await client.post("/api/actions/s", content=deep)
        assert answer.status_code == status, levels
        if status == 400:
            assert check(answer)["reason"] == "depth"


async def test_a_body_that_the_gateway_itself_holds_up_is_not_slow() -> None:
    limits = ConnectionLimits(body_seconds=0.1, body_rate=1_000)
    taken = 0

    async def in_no_hurry(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal taken
        await asyncio.sleep(limits.body_seconds * 5)
        while (message := await receive()).get("more_body"):
            taken += len(message["body"])
        taken += len(message["body"])
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})

    config = uvicorn.Config(in_no_hurry, http=http_protocol(limits, UnsentOutput()), lifespan="off", log_config=None)
    server = uvicorn.Server(config)
    with listen("127.0.0.1", 0) as listener:
        task = asyncio.create_task(server.serve([listener]))
        async with async_web_client() as client:
            answer = await client.post(url_of("127.0.0.1", listener), content=b"x" * 4_000_000)
        server.should_exit = True
        await task
    assert (answer.status_code, taken) == (200, 4_000_000)
