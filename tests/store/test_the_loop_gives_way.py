"""A loop that is never idle still lets the lanes commit."""

import asyncio
import time

import pytest

from holdfast.store import NewEvent, Store


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
