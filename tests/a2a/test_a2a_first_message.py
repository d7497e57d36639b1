"""A first message names no context: delivered again, it is the same message, if it is surely the same sender's."""

import asyncio
import uuid
from typing import Any

import pytest
from starlette.requests import Request
from tests.a2a.harness import Client, Gate, message, running, sending
from tests.support.clocks import MovedClock

from holdfast.store import Store, open_store

ID = str(uuid.uuid4())


def open_gate() -> Gate:
    gate = Gate()
    gate.let(99)
    return gate


def caller_of(request: Request) -> str | None:
    return request.headers.get("x-caller")


async def say(client: Client, message_id: str, text: str = "hi", caller: str | None = None) -> tuple[str, str]:
    """A message in 1.0 that names no context; its task and its context."""
    client.http.headers.pop("x-caller", None)
    if caller:
        client.http.headers["x-caller"] = caller
    task = (await client.call("SendMessage", sending(text, None, message_id), "1.0"))["result"]["task"]
    return task["id"], task["contextId"]


async def test_without_callers_a_uuid_is_the_same_message_in_both_versions(store: Store) -> None:
    gate = open_gate()
    async with running(store, gate) as client:
        first = await say(client, ID)
        assert await say(client, ID) == first
        old: dict[str, Any] = (await client.call("message/send", message("hi", None, ID)))["result"]
        assert (old["id"], old["contextId"]) == first
        assert (await say(client, ID, "something else"))[1] != first[1]
        assert (await say(client, "m1"))[1] != (await say(client, "m1"))[1], "anybody's id may be m1"
    assert len(gate.turns) == 4


async def test_a_caller_is_known_by_any_id_and_nobody_elses_message_is_its_own(store: Store) -> None:
    async with running(store, open_gate(), caller_of=caller_of) as client:
        first = await say(client, "m1", caller="ada")
        assert await say(client, "m1", caller="ada") == first
        assert (await say(client, "m1", caller="bob"))[1] != first[1]
        theirs = await say(client, ID, caller="ada")
        assert (await say(client, ID, caller="bob"))[1] != theirs[1]


async def test_at_the_same_time_through_two_gateways(store_url: str) -> None:
    gate = open_gate()
    async with (
        await open_store(store_url) as here,
        await open_store(store_url) as there,
        running(here, gate) as one,
        running(there, gate) as other,
    ):
        first, second = await asyncio.gather(say(one, ID), say(other, ID))
    assert first == second
    assert len(gate.turns) == 1


async def test_after_a_minute_it_is_another_message(sqlite_url: str) -> None:
    clock = MovedClock()
    async with await open_store(sqlite_url, clock=clock) as store, running(store, open_gate(), alone=True) as client:
        first = await say(client, ID)
        clock.ahead = 30_000
        assert await say(client, ID) == first
        clock.ahead = 61_000
        assert (await say(client, ID))[1] != first[1]


@pytest.mark.parametrize("tenants", [("a", "a"), ("a", "b")])
async def test_tenants_share_nothing(store_url: str, tenants: tuple[str, str]) -> None:
    async with await open_store(store_url) as store:
        one, other = (store.for_tenant(tenant) for tenant in tenants)
        first = await one.first_messages.context_of("d", "c1", 60_000)
        assert await other.first_messages.context_of("d", "c2", 60_000) == (first if tenants[0] == tenants[1] else "c2")
