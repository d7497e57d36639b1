"""The first that ends decides: the others are cut off and have ended, whoever waits is told which was which."""

import asyncio
import gc

import pytest

from holdfast.core.race import first_of, is_set_within


class Work:
    """Goes on until it is cut off, and takes a while to end then."""

    def __init__(self, error: Exception | None = None) -> None:
        self.begun = asyncio.Event()
        self.ended = False
        self._error = error

    async def run(self) -> None:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            self.ended = True
            if self._error is not None:
                raise self._error


async def value(number: int) -> int:
    return number


async def failure() -> None:
    raise ValueError("no")


async def test_an_error_that_nobody_asks_for_is_not_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """Two ended at once, and whoever waited looked at one of them only."""
    first, failed = await first_of(value(7), failure())
    assert first is not None and failed is not None
    del failed
    gc.collect()
    await asyncio.sleep(0)
    assert caplog.records == []


async def test_the_first_is_there_and_the_others_have_ended() -> None:
    work = Work()
    first, cut = await first_of(value(7), work.run())
    assert first is not None and first.result() == 7
    assert cut is None
    assert work.ended or not work.begun.is_set()


async def test_all_that_ended_at_the_same_time_are_there() -> None:
    both = await first_of(value(1), value(2), asyncio.Event().wait())
    assert [future and future.result() for future in both] == [1, 2, None]


async def test_an_error_is_an_end_and_one_of_a_work_that_was_cut_off_is_nobodys() -> None:
    work = Work(OSError("broken by the cut"))
    running = asyncio.create_task(work.run())
    await work.begun.wait()
    failed, cut = await first_of(failure(), running)
    assert failed is not None and cut is None and work.ended
    with pytest.raises(ValueError, match="no"):
        failed.result()


async def test_whoever_waits_and_is_cancelled_leaves_nothing_running() -> None:
    works = [Work(), Work()]
    race = asyncio.create_task(first_of(*(work.run() for work in works)))
    for work in works:
        await work.begun.wait()
    race.cancel()
    with pytest.raises(asyncio.CancelledError):
        await race
    assert all(work.ended for work in works)


async def test_patience_is_not_without_end() -> None:
    stubborn, let_go = asyncio.Event(), asyncio.Event()

    async def run() -> None:
        stubborn.set()
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                continue

    work = asyncio.create_task(run())
    await stubborn.wait()
    first, cut = await first_of(value(1), work, patience=0.01)
    assert first is not None and cut is None and not work.done()
    let_go.set()
    await work


async def test_an_event_is_waited_for_and_not_for_ever() -> None:
    event = asyncio.Event()
    assert not await is_set_within(event, 0)
    event.set()
    assert await is_set_within(event, 60)
