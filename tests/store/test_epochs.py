"""After a failover or a restore nothing is skipped quietly: feeds and search begin again, old cursors are refused."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import psycopg
import pytest
from tests.contract.test_backup_hazards import bring_to
from tests.store.test_migrations import STORE_ID
from tests.support.cluster import Node, copy_database, crashing_server
from tests.support.following import take

from holdfast.core.errors import HistoryChanged, StoreUnavailable
from holdfast.store import NewEvent, Store, open_store
from holdfast.store.feed.feed import FeedEvent

BEFORE_EPOCHS = 10
"""The schema before the one that knows them."""
LOST_PLACE = "UPDATE search_progress SET major = 1000000000000, minor = 1000000 WHERE name = 'events' RETURNING 1"
COPIED = "UPDATE transcript_events SET xid = '1000000000000' RETURNING 1"
EPOCHS = "SELECT epoch FROM epochs ORDER BY epoch"


@pytest.fixture
def cluster() -> Iterator[Node]:
    """A server of the test's own."""
    with crashing_server() as started:
        yield started


async def say(store: Store, session_id: str, *values: str) -> None:
    """Append until the database is there again; the keys make it once."""
    for value in values:
        event = NewEvent("t", value, idempotency_key=value)
        while True:
            try:
                await store.append(session_id, [event])
                break
            except StoreUnavailable:
                await asyncio.sleep(0.05)


async def found(store: Store, word: str) -> set[str]:
    """The sessions in which a word is found."""
    return {hit.session_id for hit in (await store.search.find(word, limit=100)).hits}


def following(feed: AsyncGenerator[Any]) -> "asyncio.Task[Any]":
    return asyncio.create_task(anext(feed))


async def rest(feed: AsyncGenerator[Any]) -> list[Any]:
    """What a feed still gives until it ends because the history is another one."""
    values = []
    with pytest.raises(HistoryChanged):
        async for found in feed:
            values.append((found.event if isinstance(found, FeedEvent) else found).value())
    return values


def ask(url: str, sql: str) -> list[Any]:
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(sql.encode()).fetchall()


async def test_after_a_failover_that_lost_events_nothing_is_skipped_quietly(cluster: Node) -> None:
    url = cluster.new_database("store")
    async with await open_store(url) as store:
        await say(store, "kept", "first")
        standby = cluster.copy()
        before = await store.feed.now()
        everything = store.feed.everything(before)
        shorter = store.feed.session("kept")
        assert (await anext(shorter)).value() == "first"
        await say(store, "kept", *(f"lost{n}" for n in range(20)))
        assert (await anext(everything)).event.value() == "lost0"
        assert [(await anext(shorter)).seq for _ in range(20)] == list(range(2, 22))
        cluster.crash()
        standby.start()
        await say(store, "kept", "second")
        assert all(value.startswith("lost") for value in await rest(everything))  # what was read before
        assert await rest(shorter) == []
        for cursor in (before, f"{store.store_id}.1.1"):
            with pytest.raises(HistoryChanged):
                await anext(store.feed.everything(cursor))
            with pytest.raises(HistoryChanged):
                await store.feed.check(cursor)
        now = await store.feed.now()
        await say(store, "new", *(f"after{n}" for n in range(30)))
        envelopes = await take(store.feed.everything(now), 30)
        assert [envelope.event.value() for envelope in envelopes] == [f"after{n}" for n in range(30)]
        assert await found(store, "after29") == {"new"}
        assert await found(store, "second") == {"kept"}
        assert not await found(store, "lost3")
        assert ask(url, EPOCHS) == [(1,), (2,)]


async def test_a_follower_whose_session_is_still_the_same_goes_on_after_a_failover(cluster: Node) -> None:
    url = cluster.new_database("store")
    async with await open_store(url) as store:
        await say(store, "s", "first", "second")
        followers = [store.feed.session("s", after=n) for n in (0, 1, 2)]
        assert [(await anext(followers[0])).value() for _ in range(2)] == ["first", "second"]
        assert (await anext(followers[1])).value() == "second"
        waiting = [following(follower) for follower in followers]
        await asyncio.sleep(0.2)  # for the last one to have looked
        standby = cluster.copy()
        cluster.crash()
        standby.start()
        await say(store, "s", "third")
        assert [event.value() for event in await asyncio.gather(*waiting)] == ["third"] * 3


async def test_after_a_crash_of_the_server_feeds_and_cursors_go_on(cluster: Node) -> None:
    url = cluster.new_database("store")
    async with await open_store(url) as store:
        await say(store, "s", "before")
        live = following(store.feed.everything(await store.feed.now()))
        session = following(store.feed.session("s", after=1))
        await asyncio.sleep(0.2)
        with psycopg.connect(url) as other:  # ids that were given out, and that a crash forgets
            for _ in range(50):
                other.execute("SELECT pg_current_xact_id()")
                other.rollback()
        cursor = await store.feed.now()
        cluster.crash()
        cluster.start()
        await say(store, "s", "after")
        await store.feed.check(cursor)
        assert (await anext(store.feed.everything(cursor))).event.value() == "after"
        assert (await live).event.value() == (await session).value() == "after"
        assert ask(url, EPOCHS) == [(1,)]


async def test_a_dump_in_a_cluster_of_lower_transaction_ids_shows_everything(cluster: Node) -> None:
    url = cluster.new_database("store")
    with psycopg.connect(url, autocommit=True) as busy:
        busy.execute("DO $$ BEGIN FOR n IN 1..3000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$")
    async with await open_store(url) as store:
        await say(store, "s", "old")
        assert await found(store, "old") == {"s"}
        await say(store, "s", "older")
        cursor = await store.feed.now()
    with crashing_server() as other:
        copy = other.new_database("copy")
        copy_database(cluster, url, copy)
        async with await open_store(copy) as store, await open_store(copy) as second:
            live = following(store.feed.everything(await store.feed.now()))
            with pytest.raises(HistoryChanged):
                await store.feed.check(cursor)
            now = await second.feed.now()
            await say(second, "t", "new")
            assert (await live).event.value() == "new"
            assert (await anext(store.feed.everything(now))).event.value() == "new"
            assert [await found(store, word) for word in ("old", "older", "new")] == [{"s"}, {"s"}, {"t"}]
            assert ask(copy, EPOCHS) == [(1,), (2,)]


async def test_a_dump_in_the_same_cluster_refuses_the_cursors_of_the_original(cluster: Node) -> None:
    url, copy = cluster.new_database("store"), cluster.new_database("copy")
    async with await open_store(url) as store:
        for n in range(4):
            await say(store, f"s{n}", f"common word{n}")
        copy_database(cluster, url, copy)
        page = await store.search.find("common", limit=2)
        await say(store, "s", "only here")
        cursor = await store.feed.now()
        async with await open_store(copy) as other:
            await say(other, "s", "only there")
            with pytest.raises(HistoryChanged):
                await anext(other.feed.everything(cursor))
            with pytest.raises(HistoryChanged):
                await other.search.find("common", limit=2, cursor=page.cursor)
            with pytest.raises(HistoryChanged):
                await store.feed.check(await other.feed.now())
        await store.feed.check(cursor)
        assert len((await store.search.find("common", limit=2, cursor=page.cursor)).hits) == 2


async def test_many_who_connect_at_once_begin_one_epoch(cluster: Node) -> None:
    url = cluster.new_database("store")
    async with await open_store(url) as store:
        await say(store, "s", "first")
        standby = cluster.copy()
    cluster.crash()
    standby.start()
    stores = await asyncio.gather(*(open_store(url) for _ in range(3)))
    cursors = {(await store.feed.now()).split(".")[0] for store in stores}
    assert len(cursors) == 1 and ask(url, EPOCHS) == [(1,), (2,)]
    await asyncio.gather(*(store.close() for store in stores))


async def test_a_store_that_was_copied_before_it_knew_epochs_begins_one(postgres_url: str) -> None:
    async with await open_store(postgres_url) as store:
        await say(store, "s", "old")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DELETE FROM epochs")
        connection.execute("UPDATE transcript_events SET xid = '1000000000000'")
    async with await open_store(postgres_url) as store:
        now = await store.feed.now()
        await say(store, "t", "new")
        assert (await anext(store.feed.everything(now))).event.value() == "new"
        assert [await found(store, word) for word in ("old", "new")] == [{"s"}, {"t"}]
        assert ask(postgres_url, EPOCHS) == [(2,)]


@pytest.mark.parametrize(("happened", "epochs"), [(LOST_PLACE, [(1,)]), (COPIED, [(2,)])], ids=["failover", "copy"])
async def test_a_store_from_before_epochs_finds_everything_that_was_in_it(
    empty_postgres_url: str, happened: str, epochs: list[tuple[int]]
) -> None:
    """Its index had gone further than the log is now, or its events are ahead of what this server has given out."""
    bring_to(empty_postgres_url, BEFORE_EPOCHS)
    assert ask(empty_postgres_url, happened)
    async with await open_store(empty_postgres_url) as store:
        assert [hit.seq for hit in (await store.search.find("ünïcode")).hits] == [4, 3, 2]
        assert await found(store, "hello") == {"turns"}
        now = await store.feed.now()
        await say(store, "described", "later")
        assert (await anext(store.feed.everything(now))).event.value() == "later"
        assert await found(store, "later") == {"described"}
        assert [event.seq for event in await take(store.feed.session("described"), 5)] == [1, 2, 3, 4, 5]
        assert ask(empty_postgres_url, EPOCHS) == epochs


async def test_cursors_from_before_epochs_go_on_in_the_same_history(empty_postgres_url: str) -> None:
    bring_to(empty_postgres_url, BEFORE_EPOCHS)
    async with await open_store(empty_postgres_url) as store:
        entries = await take(store.feed.everything(f"{STORE_ID}.0.0"), 9)
        by_session = {(entry.session_id, entry.event.seq) for entry in entries}
        ends = {"described": 4, "with-state": 2, "turns": 3}
        assert by_session == {(name, seq) for name, end in ends.items() for seq in range(1, end + 1)}


async def test_the_ends_of_the_order_are_found_by_the_index(postgres_url: str) -> None:
    async with await open_store(postgres_url) as store:
        for sql in (store._machinery.engine.feed_order.end, store._machinery.engine.text.newest):
            with psycopg.connect(postgres_url) as connection:
                connection.execute("SET enable_seqscan = off")
                plan = [row[0] for row in connection.execute(f"EXPLAIN {sql}".encode())]
            assert not any("Sort" in line for line in plan), plan
