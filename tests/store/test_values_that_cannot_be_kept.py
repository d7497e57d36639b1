"""A value that the database cannot take is the caller's fault: refused at once, and nobody else waits for it."""

import asyncio

import pytest

from holdfast.core.errors import InvalidInput
from holdfast.store import NewEvent, open_store
from holdfast.store.engine import Tx

INSERT = "INSERT INTO schema_meta (key, value) VALUES (?1, ?2)"


async def test_it_is_refused_and_the_lane_goes_on(postgres_url: str) -> None:
    """It is not taken for a lost connection, which would be made anew and asked again and again."""
    async with asyncio.timeout(30), await open_store(postgres_url) as store:

        def write(tx: Tx) -> None:
            tx.run(INSERT, "bad", "a\0b")

        with pytest.raises(InvalidInput):
            await store.sessions.workers.write(write, ("s",))
        with pytest.raises(InvalidInput):
            await store.sessions.workers.read(lambda tx: tx.one("SELECT ?1::text", "a\0b"))
        await asyncio.gather(*(store.append(f"s{n}", [NewEvent("n", {"n": n})]) for n in range(20)))
