"""A connection pooler before PostgreSQL: session mode works, transaction mode is refused and never blamed on input."""

import asyncio

import psycopg
import pytest
from tests.gateway.process import PATIENCE
from tests.support.pooler import pooler_before

from holdfast.core.errors import EngineRefused, HoldfastError, InvalidInput, StoreFailed, StoreUnavailable
from holdfast.store import NewEvent, open_store
from holdfast.store.engine import Tx
from holdfast.store.postgres.connection import explain, was_refused


async def test_transaction_mode_is_refused_at_the_start(postgres_url: str) -> None:
    async with pooler_before(postgres_url, keeps=False) as pooler, asyncio.timeout(PATIENCE):
        with pytest.raises(EngineRefused, match="transaction mode") as refused:
            await open_store(pooler.url)
        assert "session" in str(refused.value.hint)


async def test_transaction_mode_is_refused_at_each_connection(postgres_url: str) -> None:
    """The pooler's mode is changed under an open store: no write is acknowledged, and none is called bad input."""
    async with (
        pooler_before(postgres_url, keeps=True) as pooler,
        asyncio.timeout(2 * PATIENCE),
        await open_store(pooler.url) as store,
    ):
        await store.append("s", [NewEvent("n", {})])
        pooler.keeps = False
        with pytest.raises(HoldfastError, match="transaction mode") as refused:
            while True:  # one that was being made as the mode changed may still be whole
                for session in pooler.all:
                    session.writer.transport.abort()
                try:
                    await store.read("s")
                except HoldfastError as error:  # one that was being made when it was cut is told as lost
                    if "transaction mode" in error.message:
                        raise
        assert refused.value.status == 503
        store.let_go()


async def test_session_mode_works(postgres_url: str) -> None:
    async with (
        pooler_before(postgres_url, keeps=True) as pooler,
        asyncio.timeout(PATIENCE),
        await open_store(pooler.url) as store,
    ):
        for number in range(5):
            await asyncio.gather(*(store.append(f"s{n}", [NewEvent("n", {"n": number})]) for n in range(8)))
        assert [event.seq for event in await store.read("s0")] == [1, 2, 3, 4, 5]
        assert (await asyncio.to_thread(store.engine.figures))["sizeBytes"] > 0


async def test_a_session_that_forgot_its_prepared_statements_is_replaced(postgres_url: str) -> None:
    """As after a pipeline that was broken off: the driver believes that a statement is there, and it never was."""

    def often(tx: Tx) -> object:
        for _ in range(5):
            tx.one("SELECT ?1::bigint + 1", 1)
        return tx.one("SELECT pg_backend_pid()")

    def forget(tx: Tx) -> None:
        tx.run("DO $$ BEGIN EXECUTE 'DEALLOCATE ALL'; END $$")

    async with asyncio.timeout(PATIENCE), await open_store(postgres_url) as store:
        workers = store.sessions.workers
        for _ in range(3):
            await asyncio.gather(*(workers.read(often) for _ in range(10)))
            await asyncio.gather(*(workers.read(forget) for _ in range(10)))
            assert await workers.read(often)
        before = await workers.write(often, ("s",))
        await workers.write(forget, ("s",))
        assert before != await workers.write(often, ("s",))


@pytest.mark.parametrize(
    ("state", "told", "refused"),
    [
        ("26000", StoreUnavailable, False),  # prepared statement does not exist
        ("42P05", StoreUnavailable, False),  # prepared statement exists already
        ("08P01", StoreUnavailable, False),  # bind message supplies another number of parameters
        ("08006", StoreUnavailable, False),
        ("57P01", StoreUnavailable, False),
        ("25006", StoreUnavailable, False),  # read-only: no primary any more
        ("22P02", StoreFailed, True),  # a value met another statement's parameter
        ("22P03", StoreFailed, True),
        ("22021", InvalidInput, True),
        ("22P05", InvalidInput, True),
        ("22001", InvalidInput, True),
        ("22003", InvalidInput, True),
        ("42501", StoreFailed, True),
        ("58030", StoreFailed, True),
        ("53200", StoreFailed, True),
    ],
)
def test_an_error_of_the_connection_is_no_error_of_the_input(
    state: str, told: type[HoldfastError], *, refused: bool
) -> None:
    error = psycopg.errors.lookup(state)("so it says")
    found = explain(error)
    assert (type(found), was_refused(error)) == (told, refused)
    assert "disk" not in str(found.hint)
