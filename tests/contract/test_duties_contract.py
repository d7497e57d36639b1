"""A duty is one process's at a time; when it was last done is known to all."""

import asyncio

import pytest

from holdfast.store import Store, open_store

pytestmark = pytest.mark.own_store

LONG = 600_000


async def test_one_holder_at_a_time(store: Store) -> None:
    assert (await store.duties.look("backup")).holder is None
    assert (await store.duties.take("backup", "one", LONG)).holder == "one"
    assert (await store.duties.take("backup", "two", LONG)).holder == "one"
    assert (await store.duties.take("backup", "one", LONG)).holder == "one"
    assert (await store.duties.take("retention", "two", LONG)).holder == "two"
    assert (await store.duties.look("backup")).holder == "one"


async def test_of_many_who_reach_for_it_one_gets_it(store: Store, store_url: str) -> None:
    async with await open_store(store_url) as other:
        found = await asyncio.gather(
            *((store, other)[n % 2].duties.take("backup", f"holder-{n}", LONG) for n in range(40))
        )
    assert len({duty.holder for duty in found}) == 1


async def test_leaving_it_says_whether_it_was_done(store: Store) -> None:
    await store.duties.take("backup", "one", LONG)
    assert (await store.duties.leave("backup", "one", done=False)).done_at is None
    taken = await store.duties.take("backup", "two", LONG)
    assert (taken.holder, taken.done_at) == ("two", None)
    done = await store.duties.leave("backup", "two", done=True)
    assert (done.holder, done.done_at) == (None, done.now)
    again = await store.duties.take("backup", "one", LONG)
    assert (again.holder, again.done_at) == ("one", done.done_at)


async def test_whoever_lost_it_can_no_longer_say_that_it_was_done(store: Store) -> None:
    await store.duties.take("backup", "one", 1)
    while (await store.duties.take("backup", "two", LONG)).holder != "two":
        await asyncio.sleep(0.001)
    left = await store.duties.leave("backup", "one", done=True)
    assert (left.holder, left.done_at) == ("two", None)


async def test_it_is_known_after_a_restart(store_url: str) -> None:
    async with await open_store(store_url) as store:
        await store.duties.take("backup", "one", LONG)
        done = await store.duties.leave("backup", "one", done=True)
    async with await open_store(store_url) as store:
        assert (await store.duties.look("backup")).done_at == done.done_at
