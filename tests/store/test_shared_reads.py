"""Reads that many want are made once, none begins before it was asked for, and none goes on for nobody."""

import asyncio
from pathlib import Path

import pytest

from holdfast.store import NewEvent, StoreTuning, open_store
from holdfast.store.feed.shared_reads import SharedReads


class Reading:
    """A read that takes until it is let go."""

    def __init__(self) -> None:
        self.begun = 0
        self.given_up = 0
        self.go = asyncio.Semaphore(0)

    async def look(self) -> int:
        """Which read it is."""
        self.begun += 1
        number = self.begun
        try:
            await self.go.acquire()
        except asyncio.CancelledError:
            self.given_up += 1
            raise
        return number


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_who_asks_while_one_is_under_way_shares_the_next() -> None:
    reads, reading = SharedReads[int](), Reading()
    first = asyncio.create_task(reads.read("s", reading.look))
    await settled()
    others = [asyncio.create_task(reads.read("s", reading.look)) for _ in range(50)]
    await settled()
    assert reading.begun == 1
    reading.go.release()
    assert await first == 1
    reading.go.release()
    assert await asyncio.gather(*others) == [2] * 50
    reading.go.release()
    assert await reads.read("s", reading.look) == 3


async def test_a_read_that_nobody_waits_for_is_given_up() -> None:
    reads, reading = SharedReads[int](), Reading()
    asking = [asyncio.create_task(reads.read("s", reading.look)) for _ in range(3)]
    await settled()
    asking[0].cancel()
    asking[1].cancel()
    await settled()
    assert (reading.begun, reading.given_up) == (1, 0)
    asking[2].cancel()
    await settled()
    assert (reading.begun, reading.given_up) == (1, 1)
    reading.go.release()
    assert await reads.read("s", reading.look) == 2


async def test_a_failure_is_everybodys() -> None:
    reads = SharedReads[int]()

    async def fail() -> int:
        await asyncio.sleep(0)
        raise ValueError("no")

    found = await asyncio.gather(*(reads.read("s", fail) for _ in range(3)), return_exceptions=True)
    assert [str(each) for each in found] == ["no"] * 3
    with pytest.raises(ValueError, match="no"):
        await reads.read("s", fail)


async def test_the_tails_of_all_sessions_together_are_bounded(tmp_path: Path) -> None:
    """And whoever follows a session whose tail had to go misses nothing."""
    async with await open_store(f"sqlite:///{tmp_path}/h.db", tuning=StoreTuning(tails_bytes=10_000)) as store:
        names = [f"s{number}" for number in range(10)]
        for name in names:
            await store.append(name, [NewEvent("first", {})])

        async def follow(name: str) -> list[int]:
            found = []
            async for event in store.feed.session(name, after=1):
                found.append(event.seq)
                if len(found) == 5:
                    return found
            raise AssertionError

        followers = [asyncio.create_task(follow(name)) for name in names]
        here = store.feed.hubs.here()
        await asyncio.sleep(0)
        for _ in range(5):
            for name in names:
                await store.append(name, [NewEvent("more", {"text": "x" * 1_000})])
                assert sum(tail.size for tail in here.tails()) <= 10_000
        assert await asyncio.wait_for(asyncio.gather(*followers), 30) == [[2, 3, 4, 5, 6]] * 10
