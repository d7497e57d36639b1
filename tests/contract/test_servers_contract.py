"""The contract of the servers that share a store, on both engines."""

import asyncio

import pytest

from holdfast.store import Store
from holdfast.store.tasks.servers import LiveServer

pytestmark = pytest.mark.own_store

ONE = LiveServer("a", "http://127.0.0.1:1", "host", 11, 5)
TWO = LiveServer("b", "http://127.0.0.1:2", "host", 12, 4)


async def test_servers_are_there_while_they_say_so(store: Store) -> None:
    await store.servers.beat(ONE, 60_000)
    await store.servers.beat(TWO, 60_000)
    await store.servers.beat(ONE, 60_000)
    assert await store.servers.list() == [TWO, ONE]
    assert await store.for_tenant("other").servers.list() == [TWO, ONE]
    await store.servers.leave(TWO)
    assert await store.servers.list() == [ONE]
    await store.servers.beat(ONE, 1)
    async with asyncio.timeout(30):
        while await store.servers.list():
            await asyncio.sleep(0.01)
