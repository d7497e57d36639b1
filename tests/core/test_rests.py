"""Turns with rests: an owner's next long work comes after others have had their turn."""

import asyncio
import time

from holdfast.core.large_json import FREE_SECONDS, Rests

LONG = 10 * FREE_SECONDS
PATIENCE = 60


async def test_after_long_work_others_come_first() -> None:
    rests = Rests()
    order: list[str] = []

    async def work(owner: str, name: str) -> None:
        async with rests.turn(owner):
            order.append(name)
            time.sleep(LONG)  # it keeps everybody waiting, as parsing does

    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
        for name in ("first", "second", "third"):
            group.create_task(work("a", name))
        await asyncio.sleep(0)
        group.create_task(work("b", "another's"))
    assert order == ["first", "another's", "second", "third"]


async def test_short_work_is_followed_at_once() -> None:
    rests = Rests()
    async with asyncio.timeout(PATIENCE):
        for _ in range(1_000):
            async with rests.turn("a"):
                pass


async def test_work_that_fails_ends_its_turn() -> None:
    rests = Rests()
    async with asyncio.timeout(PATIENCE):
        for _ in range(2):
            try:
                async with rests.turn("a"):
                    time.sleep(LONG)
                    raise OSError
            except OSError:
                pass
