"""A transaction that somebody leaves open, in whatever database of the cluster, holds no session's followers."""

import asyncio
from collections.abc import Iterator

import psycopg
import pytest
from tests.support.cluster import crashing_server
from tests.support.postgres import Server

from holdfast.store import NewEvent, open_store

HELD = "feedHeldSeconds"


@pytest.fixture
def open_transaction(postgres: Server) -> Iterator[psycopg.Connection]:
    """One that has written something in another database, and goes on."""
    with psycopg.connect(postgres.new_database()) as connection:
        connection.execute("CREATE TABLE elsewhere AS SELECT 1")
        yield connection


async def test_a_sessions_followers_hear_what_another_gateway_writes(
    postgres_url: str, open_transaction: psycopg.Connection
) -> None:
    async with await open_store(postgres_url) as here, await open_store(postgres_url) as there:
        await here.append("s", [NewEvent("t", 0)])
        start = await here.feed.now()
        feed = here.feed.session("s", after=1)
        everything = asyncio.create_task(anext(here.feed.everything(start)))
        for n in range(1, 20):
            following = asyncio.create_task(anext(feed))
            await asyncio.sleep(0.01 * (n % 3))
            await (here if n % 4 == 0 else there).append("s", [NewEvent("t", n)])
            async with asyncio.timeout(10):
                assert (await following).value() == n
        assert not everything.done()
        open_transaction.commit()
        async with asyncio.timeout(10):
            assert (await everything).event.value() in (0, 1)


async def test_a_prepared_transaction_shows_in_the_feeds_lag() -> None:
    with crashing_server() as cluster:
        url, other = cluster.new_database("store"), cluster.new_database("other")
        async with await open_store(url) as store:
            assert store.engine.figures()[HELD] < 0.001
            with psycopg.connect(other) as connection:
                connection.execute("CREATE TABLE elsewhere AS SELECT 1")
                connection.execute("PREPARE TRANSACTION 'forgotten'")
            assert store.engine.figures()[HELD] > 0
            with psycopg.connect(other, autocommit=True) as connection:
                connection.execute("ROLLBACK PREPARED 'forgotten'")
            assert store.engine.figures()[HELD] < 0.001
