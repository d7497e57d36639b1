"""A loop that is never idle still lets the lanes commit."""

import asyncio
import time

import pytest

from holdfast.store import NewEvent, Store
from holdfast.store.lanes import give_way


@pytest.mark.parametrize("slice_seconds", [0.00005, 0.0003, 0.002])
async def test_writes_go_on_beside_a_busy_loop(store: Store, slice_seconds: float) -> None:
    """Without giving way this loop starves the lane: hardly a write per second would come through."""
    busy = True

    async def burn() -> None:
        while busy:
            end = time.perf_counter() + slice_seconds
            while time.perf_counter() < end:
                pass
            await asyncio.sleep(0)

    burner = asyncio.create_task(burn())
    async with asyncio.timeout(30):
        for n in range(30):
            await store.append("s", [NewEvent("t", n)])
    busy = False
    await burner
    assert [event.value() for event in await store.read("s")] == list(range(30))


class Progress:
    """What the watch sees of a lane: how many writes wait, how many commits there were."""

    waiting = 1
    commits = 0


async def burn_for(seconds: float, lane: Progress, *, committing: bool) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        lane.commits += committing
        await asyncio.sleep(0)


@pytest.mark.parametrize("committing", [True, False])
async def test_the_loop_naps_only_while_writes_wait_and_no_lane_commits(committing: bool) -> None:
    naps: list[float] = []
    lane = Progress()
    watch = give_way.GiveWay([lane], naps.append)
    watch.watch(asyncio.get_running_loop())
    if committing:
        await burn_for(0.1, lane, committing=True)
        assert naps == []
    else:
        async with asyncio.timeout(30):
            while len(naps) < 2:
                await burn_for(0.1, lane, committing=False)
        assert naps[:2] == [give_way.NAP_SECONDS] * 2
    lane.waiting = 0
    naps.clear()
    await burn_for(0.05, lane, committing=False)
    assert len(naps) <= 1
    watch.close()
