"""Live feeds: nothing missed, doubled or reordered."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from tests.support.following import follow_processes, take

from holdfast.core import types
from holdfast.core.errors import HistoryChanged, InvalidInput, NotFound, SessionGone
from holdfast.store import NewEvent, Store, open_store
from holdfast.store.engine import Tx
from holdfast.store.feed.hub import Cursor, FeedPage
from holdfast.store.lanes.shares import ReadLength
from holdfast.store.part import Workers


async def test_a_session_feed_catches_up_and_follows(store: Store) -> None:
    await store.append("s", [NewEvent("t", n) for n in range(1, 6)])
    follower = asyncio.create_task(take(store.feed.session("s", after=2), 50))
    for n in range(6, 53):
        await store.append("s", [NewEvent("t", n)])
        await store.append("other", [NewEvent("t", n)])
    assert [event.value() for event in await follower] == list(range(3, 53))


async def test_a_slow_reader_misses_nothing(store: Store) -> None:
    await store.append("s", [NewEvent("t", 0)])
    feed = store.feed.session("s")
    assert (await anext(feed)).value() == 0
    for start in range(1, 2_001, 100):
        await store.append("s", [NewEvent("t", n) for n in range(start, start + 100)])
    assert [event.value() for event in await take(feed, 2_000)] == list(range(1, 2_001))


async def test_the_whole_store_feed_resumes_by_cursor(store: Store) -> None:
    start = await store.feed.now()
    for n in range(30):
        await store.append(f"s{n % 3}", [NewEvent("t", n)])
    first = await take(store.feed.everything(start), 10)
    rest = await take(store.feed.everything(first[-1].cursor), 20)
    assert [envelope.event.value() for envelope in first + rest] == list(range(30))
    assert {envelope.session_id for envelope in first} == {"s0", "s1", "s2"}


async def test_a_feed_from_now_sees_only_what_comes(store: Store) -> None:
    await store.append("s", [NewEvent("t", "before")])
    feed = store.feed.everything()
    first = asyncio.create_task(take(feed, 1))
    n = 0
    while not first.done():
        n += 1
        await store.append("s", [NewEvent("t", n)])
    assert (await first)[0].event.value() in range(1, n + 1)


async def test_a_feed_sees_its_own_tenant_only(store: Store) -> None:
    start = await store.feed.now()
    for n in range(10):
        await store.for_tenant(f"{store.tenant}-other").append("s", [NewEvent("t", "theirs")])
        await store.append("s", [NewEvent("t", n)])
    envelopes = await take(store.feed.everything(start), 10)
    assert [envelope.event.value() for envelope in envelopes] == list(range(10))


async def test_another_process_worth_of_store_is_heard(store_url: str) -> None:
    async with await open_store(store_url) as here, await open_store(store_url) as there:
        await here.append("s", [NewEvent("t", 0)])
        session = asyncio.create_task(take(here.feed.session("s", after=1), 20))
        everything = asyncio.create_task(take(here.feed.everything(await here.feed.now()), 20))
        await asyncio.sleep(0)
        for n in range(20):
            await there.append("s", [NewEvent("t", n)])
        assert [event.value() for event in await session] == list(range(20))
        assert [envelope.event.value() for envelope in await everything] == list(range(20))


async def test_writes_from_here_and_there_arrive_in_order(store_url: str) -> None:
    """A commit of this process is known before one of another that came first: the feed must not jump."""
    async with await open_store(store_url) as here, await open_store(store_url) as there:
        await here.append("s", [NewEvent("t", 0)])
        follower = asyncio.create_task(take(here.feed.session("s", after=1), 400))
        await asyncio.sleep(0)
        for n in range(200):
            await (there if n % 3 else here).append("s", [NewEvent("t", n)])
            await here.append("s", [NewEvent("t", n)])
        assert [event.seq for event in await follower] == list(range(2, 402))


async def test_a_cursor_of_another_store_is_refused(store: Store, tmp_path: Any) -> None:
    async with await open_store(f"sqlite:///{tmp_path}/other.db") as other:
        cursor = await other.feed.now()
    with pytest.raises(HistoryChanged):
        await anext(store.feed.everything(cursor))
    for wrong in ("nonsense", f"{store.store_id}.1", f"{store.store_id}.1.x", f"{store.store_id}.1.-2"):
        with pytest.raises(InvalidInput):
            await anext(store.feed.everything(wrong))


async def test_a_feed_of_no_session_is_not_found(store: Store) -> None:
    with pytest.raises(NotFound):
        await anext(store.feed.session("nobody"))


async def test_many_subscribers_each_get_everything(store: Store) -> None:
    await store.append("s", [NewEvent("t", 0)])
    followers = [asyncio.create_task(take(store.feed.session("s", after=1), 100)) for _ in range(50)]
    await asyncio.sleep(0)
    for n in range(100):
        await store.append("s", [NewEvent("t", n)])
    for follower in followers:
        assert [event.value() for event in await follower] == list(range(100))


async def test_two_appending_processes_miss_and_reorder_nothing(store_url: str) -> None:
    assert await follow_processes(store_url, 2, 200) == (400, 0, 0)


@pytest.mark.long
async def test_six_appending_processes_miss_and_reorder_nothing(store_url: str) -> None:
    """`make chaos` has others follow in every round, for as long as one likes."""
    assert await follow_processes(store_url, 6, 960) == (5_760, 0, 0)


async def test_the_last_follower_to_leave_leaves_nobody_reading(store: Store) -> None:
    """Whenever it leaves, also as news comes: a second reader would give everybody who comes later everything twice."""
    hub = store.feed.hubs.here()
    for turns in range(8):
        with hub.subscribe(None):
            await hub.ready()
            await asyncio.sleep(0.05)
            hub.heard()
            for _ in range(turns):
                await asyncio.sleep(0)
        async with asyncio.timeout(10):
            while any(task.get_name() == "holdfast-feed" for task in asyncio.all_tasks()):
                await asyncio.sleep(0)


@dataclass(slots=True)
class Watched:
    """Readers of which it is seen when they have found nothing more."""

    inner: Workers
    nothing_more: asyncio.Event = field(default_factory=asyncio.Event)

    async def write(
        self, run: Callable[[Tx], Any], locks: Sequence[str], weight: int = 1, *, makes_room: bool = False
    ) -> Any:
        return await self.inner.write(run, locks, weight, makes_room=makes_room)

    async def read(self, run: Callable[[Tx], Any], length: ReadLength = ReadLength.LONG) -> Any:
        found = await self.inner.read(run, length)
        if not found:
            self.nothing_more.set()
        return found


async def test_what_another_process_writes_while_the_first_subscriber_comes_is_not_missed(postgres_url: str) -> None:
    """It is written after the subscriber has read, if it reads too early, and before the hub has its beginning."""
    async with await open_store(postgres_url) as here, await open_store(postgres_url) as there:
        await here.append("s", [NewEvent("t", 1)])
        watched, hubs = Watched(there.feed.workers), there.feed.hubs
        end = hubs.end

        async def late_end() -> Cursor:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.5):
                    await watched.nothing_more.wait()
            await here.append("s", [NewEvent("t", 2)])
            return await end()

        hubs.end = late_end  # type: ignore[method-assign]
        async with asyncio.timeout(10):
            events = await take(replace(there.feed, workers=watched).session("s"), 2)
        assert [event.value() for event in events] == [1, 2]


async def test_what_comes_while_the_hub_begins_again_is_not_missed(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a failover the hub looks for the end anew: an event that is committed before it finds it is no entry."""
    async with await open_store(sqlite_url) as store:
        await store.append("s", [NewEvent("t", 1)])
        feed = store.feed.session("s")
        assert (await anext(feed)).seq == 1
        coming = asyncio.create_task(anext(feed))
        await store.append("s", [NewEvent("t", 2)])
        assert (await coming).seq == 2
        hub, began, goes_on = store.feed.hubs.here(), asyncio.Event(), asyncio.Event()
        await hub.ready()
        find, read = hub._end, hub._page

        async def find_late() -> Cursor:
            began.set()
            await goes_on.wait()
            return await find()

        async def read_elsewhere(cursor: Cursor, snapshot: str | None) -> FeedPage:
            monkeypatch.setattr(hub, "_page", read)
            raise HistoryChanged("the database failed over")

        monkeypatch.setattr(hub, "_end", find_late)
        monkeypatch.setattr(hub, "_page", read_elsewhere)
        coming = asyncio.create_task(anext(feed))
        async with asyncio.timeout(60):
            await began.wait()
            await asyncio.sleep(0.1)
            await store.append("s", [NewEvent("t", 3)])
            goes_on.set()
            assert (await coming).seq == 3


@dataclass(slots=True)
class Slow(Watched):
    """Readers that begin only when they are let go."""

    asked: asyncio.Event = field(default_factory=asyncio.Event)
    let_go: asyncio.Event = field(default_factory=asyncio.Event)

    async def read(self, run: Callable[[Tx], Any], length: ReadLength = ReadLength.LONG) -> Any:
        self.asked.set()
        await self.let_go.wait()
        return await self.inner.read(run, length)


async def test_who_follows_a_session_is_told_what_became_of_it_also_if_it_is_gone_before_it_is_read(
    store: Store,
) -> None:
    """The first look at the database, the hub's and the follower's, comes after the deletion."""
    await store.append("s", [NewEvent("t", 1)])
    slow, hubs = Slow(store.feed.workers), store.feed.hubs
    end = hubs.end

    async def late_end() -> Cursor:
        await slow.let_go.wait()
        return await end()

    hubs.end = late_end  # type: ignore[method-assign]
    feed = replace(store.feed, workers=slow).session("s", after=1)
    first = asyncio.create_task(anext(feed))
    async with asyncio.timeout(60):
        await slow.asked.wait()
        await store.append("s", [NewEvent("t", 2)])
        await store.deletion.delete("s")
        slow.let_go.set()
        assert [(await first).type, (await anext(feed)).type] == ["t", types.SESSION_DELETED]
        with pytest.raises(SessionGone):
            await anext(feed)
