"""Answers to hot queries are kept, and are never older than what was acknowledged."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from tests.gateway.process import PATIENCE
from tests.support.processes import spawn

from holdfast.core.errors import NotFound
from holdfast.gateway.api.answers import Answer
from holdfast.gateway.api.cache import Cache
from holdfast.gateway.app import create_app
from holdfast.gateway.gateway import Gateway
from holdfast.store import NewEvent, Policy, Store, StoreSnapshot, open_store
from holdfast.store.portable import ArchiveWriter

HOT = ("/api/query/recent", "/api/query/stats", "/api/state/s")

Change = Callable[[Store, Path], Awaitable[Any]]


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    async with await open_store(store_url) as opened:
        yield opened


@pytest.fixture
def gateway(store: Store) -> Gateway:
    return Gateway(store)


@pytest.fixture
def app(store: Store, gateway: Gateway) -> FastAPI:
    return create_app(store, gateway=gateway)


async def told(client: httpx2.AsyncClient, tenant: str = "default") -> list[bytes]:
    """The answers, as they are on the wire."""
    headers = {"Holdfast-Tenant": tenant}
    return [(await client.get(path, headers=headers)).content for path in HOT]


@pytest.fixture
async def forgetful(store: Store) -> AsyncIterator[httpx2.AsyncClient]:
    """A gateway that keeps no answer."""
    gateway = Gateway(store)
    gateway.cache = Cache(most_bytes=0)
    transport = httpx2.ASGITransport(create_app(store, gateway=gateway))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost", trust_env=False) as made:
        yield made
    assert gateway.cache.hits == 0


async def imported(store: Store, folder: Path) -> None:
    async with await open_store(f"sqlite:///{folder}/other.db") as other:
        await other.append("elsewhere", [NewEvent("x", {})])
        with (folder / "a.holdfast").open("wb") as file, ArchiveWriter(file) as archive:
            await other.exporting.into(archive, None)
    await store.importing.archive(folder / "a.holdfast")


async def retained(store: Store, _: Path) -> None:
    assert await store.retention.run(await store.retention.plan(Policy(max_sessions=2)))


async def by_another_process(store: Store, folder: Path) -> None:
    child = spawn(_patch, (folder / "url").read_text())
    await asyncio.to_thread(child.join, PATIENCE)
    assert child.exitcode == 0


def _patch(url: str) -> None:
    async def main() -> None:
        async with await open_store(url) as store:
            await store.state.patch("s", {"by": "another"})

    asyncio.run(main())


CHANGES: dict[str, Change] = {
    "append": lambda store, _: store.append("s", [NewEvent("x", {})]),
    "new session": lambda store, _: store.append("new", [NewEvent("x", {})]),
    "create": lambda store, _: store.sessions.create("made", user_id="ada", tags=["t"]),
    "state patch": lambda store, _: store.state.patch("s", {"n": 2}),
    "goal": lambda store, _: store.goals.add("s", "land"),
    "goal change": lambda store, _: store.goals.update("s", "goal-001", {"status": "failed"}),
    "sub-agent": lambda store, _: store.agents.spawn("s", "pilot", agent_id="a"),
    "its end": lambda store, _: store.agents.complete("s", "a"),
    "metadata": lambda store, _: store.sessions.patch_metadata("s", {"a": 1}),
    "finalize": lambda store, _: store.sessions.finalize("s", "failed"),
    "usage": lambda store, _: store.usage.record("s", "m", input_tokens=1, output_tokens=2),
    "compaction": lambda store, _: store.checkpoints.compact("s", "so far", last_seq=1),
    "erasure": lambda store, _: store.erasure.erase("s", [1], reason="asked for"),
    "another process": by_another_process,
    "fork": lambda store, _: store.forks.fork("s", new_session_id="branch"),
    "import": imported,
    "deletion": lambda store, _: store.deletion.delete("new"),
    "purge": lambda store, _: store.archives.purge("new"),
    "retention": retained,
}
SHOWN = set(CHANGES) - {"purge"}
"""Changes after which one of the answers must be another one; a purge removes what is shown nowhere."""


async def test_after_every_kind_of_change_the_answer_is_the_new_one(
    client: httpx2.AsyncClient,
    forgetful: httpx2.AsyncClient,
    store: Store,
    store_url: str,
    tmp_path: Path,
) -> None:
    (tmp_path / "url").write_text(store_url)
    await store.state.patch("s", {"n": 1})
    for name, change in CHANGES.items():
        before = await told(client)
        assert await told(client) == before
        await change(store, tmp_path)
        after = await told(client)
        assert after == await told(forgetful), name
        assert (after != before) == (name in SHOWN), name


async def test_what_nobody_changed_is_kept(client: httpx2.AsyncClient, gateway: Gateway, store: Store) -> None:
    await store.state.patch("s", {"n": 1})
    async with asyncio.timeout(PATIENCE):
        while gateway.cache.hits < 30:  # as soon as the chores are done
            await told(client)
    for path in ("/api/query/recent?limit=1", "/api/query/stats?days=1", "/api/state/t"):
        await client.get(path)


async def test_each_tenant_has_its_own(client: httpx2.AsyncClient, forgetful: httpx2.AsyncClient, store: Store) -> None:
    other = store.for_tenant("other")
    await store.state.patch("s", {"whose": "default"})
    await other.state.patch("s", {"whose": "other"})
    for _ in range(2):
        for changed in (store, other):
            await changed.append("s", [NewEvent("x", {})])
            for each in ("default", "other"):
                assert await told(client, each) == await told(forgetful, each)
                assert (await client.get(HOT[2], headers={"Holdfast-Tenant": each})).json()["whose"] == each


async def test_whoever_was_answered_finds_it(client: httpx2.AsyncClient, store: Store) -> None:
    """Writers that look at once for what they have written, among others that ask all the time."""
    written = asyncio.Event()

    async def poll() -> None:
        while not written.is_set():
            await told(client)

    async def write(writer: int) -> None:
        for number in range(15):
            session_id = f"w{writer}-{number}"
            await client.post(f"/api/actions/{session_id}", json={"type": "x"})
            rows = (await client.get("/api/query/recent?limit=50")).json()["sessions"]
            assert session_id in {row["sessionId"] for row in rows}
            patched = (await client.patch(f"/api/state/w{writer}", json={"n": number})).json()
            assert (await client.get(f"/api/state/w{writer}")).json() == patched

    async with asyncio.TaskGroup() as group:
        for _ in range(2):
            group.create_task(poll())
        async with asyncio.TaskGroup() as writing:
            for writer in range(3):
                writing.create_task(write(writer))
        written.set()
    stats = (await client.get("/api/query/stats")).json()
    assert (stats["sessions"], stats["events"]) == (48, 90)


def names(snapshot: StoreSnapshot) -> Answer:
    return Answer(" ".join(sorted(each.session_id for each in snapshot.newest_sessions().sessions)).encode())


async def test_those_who_ask_at_the_same_time_share_one_read(store: Store) -> None:
    looks = 0
    gate = threading.Event()

    def look(snapshot: StoreSnapshot) -> Answer:
        nonlocal looks
        looks += 1
        found = names(snapshot)
        gate.wait(PATIENCE)
        return found

    cache = Cache()
    asking = [asyncio.create_task(cache.answer(store, ("names",), look)) for _ in range(20)]
    await asyncio.sleep(0)
    late = [asyncio.create_task(cache.answer(store, ("names",), look)) for _ in range(20)]
    gate.set()
    assert {answer.body for answer in await asyncio.gather(*asking, *late)} == {b""}
    assert 1 <= looks <= 2


async def test_a_read_that_began_before_a_write_is_not_shared_after_it(store: Store) -> None:
    began, gate = threading.Event(), threading.Event()

    def slow(snapshot: StoreSnapshot) -> Answer:
        found = names(snapshot)
        began.set()
        gate.wait(PATIENCE)
        return found

    cache = Cache()
    early = asyncio.create_task(cache.answer(store, ("names",), slow))
    assert await asyncio.to_thread(began.wait, PATIENCE)
    await store.append("s", [NewEvent("x", {})])
    late = asyncio.create_task(cache.answer(store, ("names",), slow))
    await asyncio.sleep(0.05)
    gate.set()
    assert ((await early).body, (await late).body) == (b"", b"s")
    assert (await cache.answer(store, ("names",), slow)).body == b"s"


async def test_what_is_kept_is_bounded_and_the_oldest_goes_first(store: Store) -> None:
    cache = Cache(most_bytes=20_000)

    async def ask(number: int) -> int:
        hits = cache.hits
        await cache.answer(store, (number,), lambda _: Answer(b"x" * 1_000))
        assert cache.size <= 20_000
        return cache.hits - hits

    async with asyncio.timeout(PATIENCE):
        while not await ask(0):  # until the chores of a new store are done
            pass
    for number in range(100):
        await ask(number)
    assert [await ask(number) for number in (99, 98, 97)] == [1, 1, 1]
    assert await ask(0) == 0
    await cache.answer(store, ("large",), lambda _: Answer(b"x" * 2_000_000))
    assert cache.size <= 20_000


async def test_a_failure_is_told_to_all_and_not_kept(store: Store) -> None:
    cache = Cache()

    def fail(_: StoreSnapshot) -> Answer:
        raise NotFound("not there")

    asked = [cache.answer(store, ("k",), fail) for _ in range(5)]
    assert all(isinstance(found, NotFound) for found in await asyncio.gather(*asked, return_exceptions=True))
    assert (await cache.answer(store, ("k",), lambda _: Answer(b"there"))).body == b"there"


async def test_one_that_stops_waiting_takes_nothing_from_the_others(store: Store) -> None:
    cache = Cache()
    gate = threading.Event()

    def look(_: StoreSnapshot) -> Answer:
        gate.wait(PATIENCE)
        return Answer(b"there")

    leaving, staying = (asyncio.create_task(cache.answer(store, ("k",), look)) for _ in range(2))
    await asyncio.sleep(0.01)
    leaving.cancel()
    gate.set()
    assert (await staying).body == b"there"
