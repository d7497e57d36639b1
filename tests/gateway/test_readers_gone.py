"""Clients that hang up while their reads wait: nothing is read for them, and nobody else waits for it.

The gateway serves real sockets from a loop in this process, so that a test can hold its long reads.
"""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import pytest
from tests.gateway.holders import bearer
from tests.gateway.process import PATIENCE, served
from tests.support.eventually import eventually
from tests.support.tuned import tuning_of
from tests.support.web import async_web_client

from holdfast.core import NewEvent
from holdfast.gateway.access.authority import TokenHolders
from holdfast.gateway.gateway import Gateway
from holdfast.store import Store, open_store
from holdfast.store.engine import Tx
from holdfast.store.lanes.readers import THREADS
from holdfast.store.lanes.shares import ReadLength
from holdfast.store.text.search import HitPage, Search

LONG_THREADS = THREADS.count(ReadLength.LONG)
ATTACKS = 60


@pytest.fixture
async def store(request: pytest.FixtureRequest, store_url: str) -> AsyncIterator[Store]:
    async with await open_store(store_url, tuning=tuning_of(request.node)) as opened:
        yield opened


@asynccontextmanager
async def serving(store: Store, gateway: Gateway) -> AsyncIterator[str]:
    """The address of a gateway on a real socket."""
    async with served(store, gateway=gateway) as made:
        yield f"http://127.0.0.1:{made.port}"


class Held:
    """Long reads of nobody's that have all the threads long reads may have, until they are let go."""

    def __init__(self) -> None:
        self.begun = 0
        self.let_go = threading.Event()

    def __call__(self, tx: Tx) -> None:
        self.begun += 1
        assert self.let_go.wait(PATIENCE)


@asynccontextmanager
async def long_threads_held(store: Store) -> AsyncIterator[None]:
    holding = Held()
    tasks = [
        asyncio.ensure_future(store.for_tenant(f"holder{n}").sessions.workers.read(holding))
        for n in range(LONG_THREADS)
    ]
    await eventually(lambda: holding.begun == LONG_THREADS)
    try:
        yield
    finally:
        holding.let_go.set()
        await asyncio.gather(*tasks)


@contextmanager
def counted_searches(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The searches that were really made."""
    made: list[str] = []
    page = Search._page

    def counted(self: Search, tx: Tx, *rest: object) -> HitPage:
        made.append(self.tenant)
        return page(self, tx, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Search, "_page", counted)
    yield made


def ask(url: str, path: str, token: str, body: bytes = b"") -> socket.socket:
    """A connection on which a request was sent, and nothing is taken."""
    host, port = url.removeprefix("http://").split(":")
    made = socket.create_connection((host, int(port)), timeout=PATIENCE)
    length = f"Content-Length: {len(body)}\r\n" if body else ""
    head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n{length}\r\n"
    made.sendall(head.encode() + body)
    return made


@pytest.mark.parametrize(
    "behind", [b"", b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"], ids=["alone", "with a request behind"]
)
async def test_abandoned_searches_are_not_made_and_others_do_not_wait(
    store: Store, monkeypatch: pytest.MonkeyPatch, behind: bytes
) -> None:
    _, hostile = await store.tokens.create("hostile", ["read"], tenant="hostile")
    _, other = await store.tokens.create("other", ["write", "read"], tenant="other")
    await store.for_tenant("hostile").append("s", [NewEvent("t", {"text": "needle"})])
    gateway = Gateway(store, authority=TokenHolders(store, {}))
    readers = store._machinery.readers
    async with serving(store, gateway) as url, async_web_client(base_url=url) as client:
        with counted_searches(monkeypatch) as made:
            async with long_threads_held(store):
                asking = []
                for _ in range(ATTACKS):
                    asking.append(await asyncio.to_thread(ask, url, "/api/query/search?q=needle", hostile))
                    if behind:
                        asking[-1].sendall(behind)
                await eventually(lambda: readers.waiting == ATTACKS)
                async with asyncio.timeout(PATIENCE):
                    answer = await client.post("/api/actions/mine", json={"type": "t"}, headers=bearer(other))
                    assert answer.status_code == 201
                    assert (await client.get("/readyz")).status_code == 200
                    resumed = await client.get("/api/sessions/mine/resume", headers=bearer(other))
                    assert resumed.status_code == 200
                for connection in asking:
                    connection.close()
                await eventually(lambda: readers.waiting == 0)
            found = await client.get("/api/query/search?q=needle", headers=bearer(hostile))
            assert len(found.json()["hits"]) == 1
            assert made == ["hostile"], f"{len(made) - 1} searches were made for nobody"
            assert gateway.counts.under_way == 0


async def test_a_read_that_many_wait_for_ends_with_the_last_of_them(store: Store) -> None:
    gateway = Gateway(store)
    readers = store._machinery.readers
    async with serving(store, gateway) as url, long_threads_held(store):
        first, second = [await asyncio.to_thread(ask, url, "/api/query/recent", "") for _ in range(2)]
        await eventually(lambda: gateway.counts.under_way == 2)
        await eventually(lambda: readers.waiting >= 1)
        first.close()
        await eventually(lambda: gateway.counts.under_way == 1)
        assert readers.waiting == 1
        second.close()
        await eventually(lambda: gateway.counts.under_way == readers.waiting == 0)


async def test_a_body_behind_a_read_does_not_hide_that_its_client_has_gone(store: Store) -> None:
    gateway = Gateway(store)
    async with serving(store, gateway) as url, long_threads_held(store):
        asking = await asyncio.to_thread(ask, url, "/api/query/search?q=needle", "", b"x" * 1_000_000)
        await eventually(lambda: store._machinery.readers.waiting == 1)
        asking.close()
        await eventually(lambda: store._machinery.readers.waiting == 0)


async def test_an_export_that_nobody_takes_reads_no_more(store: Store) -> None:
    await store.append("s", [NewEvent("t", {})])
    gateway = Gateway(store)
    async with serving(store, gateway) as url, long_threads_held(store):
        asking = await asyncio.to_thread(ask, url, "/api/export?session=s", "")
        await eventually(lambda: any(thread.name == "holdfast-export" for thread in threading.enumerate()))
        await eventually(lambda: store._machinery.readers.waiting == 1)
        asking.close()
        await eventually(lambda: store._machinery.readers.waiting == 0)


async def test_a_write_goes_on_though_its_client_has_gone(store: Store) -> None:
    """What a write reads first waits like any read: it is not dropped for want of somebody who waits."""
    gateway = Gateway(store)
    readers = store._machinery.readers
    await store.append("s", [NewEvent("t", {})])
    body = b'{"sessionId": "copy"}'
    head = f"POST /api/sessions/s/fork HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    async with serving(store, gateway) as url:
        async with long_threads_held(store):
            host, port = url.removeprefix("http://").split(":")
            with socket.create_connection((host, int(port)), timeout=PATIENCE) as asking:
                asking.sendall(head.encode() + body)
                await eventually(lambda: readers.waiting == 1)
            async with async_web_client(base_url=url) as client:
                for _ in range(5):
                    assert (await client.get("/health")).status_code == 200
            assert readers.waiting == 1
        await eventually(lambda: gateway.counts.under_way == 0)
    assert len(await store.read("copy")) == 2


@pytest.mark.tuned(most_reads_of_a_caller=3)
async def test_a_caller_with_too_many_reads_is_told_when_to_come_back(store: Store) -> None:
    _, hostile = await store.tokens.create("hostile", ["read"], tenant="same")
    _, other = await store.tokens.create("other", ["read"], tenant="same")
    gateway = Gateway(store, authority=TokenHolders(store, {}))
    search = "/api/query/search?q=needle"
    async with serving(store, gateway) as url, async_web_client(base_url=url) as client:
        async with long_threads_held(store):
            asking = [await asyncio.to_thread(ask, url, search, hostile) for _ in range(3)]
            await eventually(lambda: store._machinery.readers.waiting == 3)
            refused = await client.get(search, headers=bearer(hostile))
            assert (refused.status_code, refused.json()["code"]) == (503, "busy")
            assert int(refused.headers["retry-after"]) >= 1
            waits = asyncio.create_task(client.get(search, headers=bearer(other), timeout=PATIENCE))
            await eventually(lambda: store._machinery.readers.waiting == 4)
        assert (await waits).status_code == 200
        for connection in asking:
            connection.close()
