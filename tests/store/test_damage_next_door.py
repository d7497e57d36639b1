"""A damaged event is its own tenant's trouble: other feeds go on, and are told nothing of it."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest

from holdfast.core.errors import Corrupt
from holdfast.store import NewEvent, Store

pytestmark = pytest.mark.own_store

DAMAGED = """
    INSERT INTO transcript_events (session_no, seq, created_at, event_id, hash, payload)
    SELECT session_no, 2, 1, 'secret-id', {empty}, {empty} FROM sessions WHERE session_id = 'theirs'"""
LOST = "DELETE FROM transcript_event_identities WHERE seq = 2"


def change(url: str, sql: str) -> None:
    """Change the database behind the store's back."""
    if url.startswith("sqlite"):
        connection = apsw.Connection(str(Path(url.removeprefix("sqlite:///"))))
        connection.set_busy_timeout(10_000)
        connection.execute(sql.format(empty="x'7B7D'"))
        connection.close()
        return
    with psycopg.connect(url) as session:
        session.execute(sql.format(empty="'\\x7B7D'::bytea").encode())


async def next_value(feed: AsyncGenerator[Any]) -> Any:
    async with asyncio.timeout(10):
        return (await anext(feed)).event.value()


async def test_a_damaged_event_ends_no_other_tenants_feed(store: Store, store_url: str) -> None:
    other = store.for_tenant("other")
    await store.append("mine", [NewEvent("t", 1)])
    await other.append("theirs", [NewEvent("t", 1)])
    await other.append("beside", [NewEvent("t", 1)])
    start = await store.feed.now()
    live, theirs, beside = store.feed.everything(start), other.feed.session("theirs"), other.feed.session("beside")
    async with asyncio.timeout(10):
        assert (await anext(theirs)).seq == (await anext(beside)).seq == 1
    await store.append("mine", [NewEvent("t", 2)])
    assert await next_value(live) == 2
    change(store_url, DAMAGED)
    await store.append("mine", [NewEvent("t", 3)])
    await other.append("beside", [NewEvent("t", 2)])
    assert await next_value(live) == 3
    again = store.feed.everything(start)
    assert [await next_value(again) for _ in range(2)] == [2, 3]
    async with asyncio.timeout(10):
        assert (await anext(beside)).seq == 2
    with pytest.raises(Corrupt):
        await next_value(other.feed.everything(start))


async def test_a_deletion_drops_no_event_that_has_lost_its_identity(store: Store, store_url: str) -> None:
    await store.append("s", [NewEvent("t", n) for n in range(4)])
    change(store_url, LOST)
    archived = await store.deletion.delete("s")
    assert archived.events == 4
    seqs = await store._workers.read(lambda tx: tx.all("SELECT seq, payload FROM archived_events ORDER BY seq"))
    assert [(seq, bytes(payload)) for seq, payload in seqs] == [(n, str(n - 1).encode()) for n in range(1, 5)]
    with pytest.raises(Corrupt, match="event 2"):
        async for _ in store.archives.events("s"):
            pass
