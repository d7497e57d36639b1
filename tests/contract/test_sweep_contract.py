"""What the sweep of attachments does, on every engine: bytes that an event names are never swept."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from tests.contract.attaching import (
    FIVE_MB,
    NAMED,
    change,
    chore,
    counted,
    digest_of,
    nothing,
    whole,
    with_meanwhile,
)
from tests.support.opening import store_with

from holdfast.core.errors import (
    InvalidInput,
    NotFound,
)
from holdfast.store import Store, open_store
from holdfast.store.attachments.byte_buffer import PART
from holdfast.store.attachments.sweep import DAY_MS, SweepResult
from holdfast.store.engine import Tx
from holdfast.store.lanes.shares import ReadLength
from holdfast.store.part import Workers

pytestmark = pytest.mark.own_store(chores=False)
"""Only one sweeps at a time, unless a test is about the idle lane."""


async def test_a_sweep_takes_what_is_old_and_unused_and_nothing_else(store: Store) -> None:
    used, unused, fresh = [await store.attachments.put(text) for text in (b"used", b"unused", b"fresh")]
    await store.attachments.attach("s", used.digest, **NAMED)
    assert await store.attachments.sweep() == SweepResult(0, 0)
    await change(store, "UPDATE attachments SET touched_at = touched_at - ?1", DAY_MS + 1)
    await store.attachments.put(b"fresh")
    assert await store.attachments.sweep() == SweepResult(1, len(b"unused"))
    assert await whole(store, used.digest) == b"used"
    assert await whole(store, fresh.digest) == b"fresh"
    with pytest.raises(NotFound):
        await store.attachments.get(unused.digest)
    for wrong in (-1, True, 1.5):
        with pytest.raises(InvalidInput):
            await store.attachments.sweep(wrong)  # type: ignore[arg-type]


@pytest.mark.tuned(sweep_page=3, sweep_parts=2)
async def test_a_sweep_of_many_goes_in_pages_and_steps(store: Store) -> None:
    await asyncio.gather(*(store.attachments.put(b"%d" % n) for n in range(10)))
    for size in (2 * PART, 4 * PART, 5 * PART):
        await store.attachments.put(FIVE_MB[:size])
    assert await store.attachments.sweep(0) == SweepResult(13, 10 + 11 * PART)
    assert await counted(store, "attachment_parts") == 0


@pytest.mark.tuned(sweep_parts=2, sweep_looks=2)
async def test_the_chore_sweeps_all_tenants_and_looks_at_what_is_used_once_a_day(store: Store) -> None:
    other = store.for_tenant("other")
    used = [await store.attachments.put(b"used %d" % n) for n in range(5)]
    for each in used:
        await store.attachments.attach("s", each.digest, **NAMED)
    for view in (store, other):
        await view.attachments.put(FIVE_MB)
    assert await chore(store) == 0
    await change(store, "UPDATE attachments SET touched_at = touched_at - ?1", DAY_MS + 1)
    await other.attachments.put(b"fresh")
    assert await chore(store) > 0
    assert await counted(store, "attachments") == 6
    assert [await whole(store, each.digest) for each in used] == [b"used %d" % n for n in range(5)]
    assert await whole(other, digest_of(b"fresh")) == b"fresh"
    assert await chore(store) == 0


async def test_an_idle_store_sweeps_by_itself(store_url: str) -> None:
    async with await open_store(store_url) as store:
        used, unused = [await store.attachments.put(text) for text in (b"used", b"unused")]
        await store.attachments.attach("s", used.digest, **NAMED)
        await change(store, "UPDATE attachments SET touched_at = touched_at - ?1", DAY_MS + 1)
    async with asyncio.timeout(60), await open_store(store_url) as store:
        while await counted(store, "attachments") > 1:
            await asyncio.sleep(0.01)
        assert await whole(store, used.digest) == b"used"
        with pytest.raises(NotFound):
            await store.attachments.get(unused.digest)


async def test_what_is_attached_after_the_sweep_has_chosen_it_is_kept(store: Store) -> None:
    put = await store.attachments.put(b"hello")
    sweeping = with_meanwhile(store, lambda: store.attachments.attach("s", put.digest, **NAMED))
    assert await sweeping.sweep(0) == SweepResult(0, 0)
    assert await whole(store, put.digest) == b"hello"


async def test_what_is_put_again_after_the_sweep_has_chosen_it_is_kept(store: Store) -> None:
    put = await store.attachments.put(b"hello")
    await change(store, "UPDATE attachments SET touched_at = touched_at - 1000")
    sweeping = with_meanwhile(store, lambda: store.attachments.put(b"hello"))
    assert await sweeping.sweep(500) == SweepResult(0, 0)
    assert await whole(store, put.digest) == b"hello"


async def test_what_is_swept_before_the_event_is_written_is_not_attached(store: Store) -> None:
    put = await store.attachments.put(b"hello")
    with pytest.raises(NotFound):
        await with_meanwhile(store, lambda: store.attachments.sweep(0)).attach("s", put.digest, **NAMED)
    with pytest.raises(NotFound):
        await store.read("s")


async def test_an_upload_that_a_sweep_came_into_is_completed_all_the_same(store: Store) -> None:
    uploading = with_meanwhile(store, nothing, nothing, nothing, lambda: store.attachments.sweep(0))
    put = await uploading.put(FIVE_MB)
    assert await whole(store, put.digest) == FIVE_MB


@pytest.mark.tuned(sweep_parts=2)
async def test_what_is_half_swept_can_be_neither_read_nor_attached_and_can_be_put_again(store: Store) -> None:
    put = await store.attachments.put(FIVE_MB)
    await change(store, "UPDATE attachments SET touched_at = touched_at - 1000")

    async def try_it() -> None:
        assert await counted(store, "attachment_parts") == 4
        for attempt in (whole(store, put.digest), store.attachments.attach("s", put.digest, **NAMED)):
            with pytest.raises(NotFound):
                await attempt
        await store.attachments.put(FIVE_MB)

    sweeping = with_meanwhile(store, nothing, try_it)
    assert await sweeping.sweep(500) == SweepResult(0, 2 * PART)
    assert await whole(store, put.digest) == FIVE_MB


async def test_what_is_swept_while_it_is_read_is_not_found_and_not_corrupt(store: Store) -> None:
    put = await store.attachments.put(FIVE_MB)
    reading = store.attachments.read(put.digest)
    assert await anext(reading) == FIVE_MB[:PART]
    await store.attachments.sweep(0)
    with pytest.raises(NotFound):
        await anext(reading)
    reading = store.attachments.read((await store.attachments.put(FIVE_MB)).digest)
    await anext(reading)
    await store.attachments.sweep(0)
    await store.attachments.put(FIVE_MB)
    with pytest.raises(NotFound):
        await anext(reading)


@dataclass(slots=True)
class Held:
    """Runs a write and holds its transaction open until it is let go."""

    inner: Workers
    ran: threading.Event
    go: threading.Event

    async def write(
        self, run: Callable[[Tx], Any], locks: Sequence[str], weight: int = 1, *, makes_room: bool = False
    ) -> Any:
        def held(tx: Tx) -> Any:
            result = run(tx)
            self.ran.set()
            assert self.go.wait(30)
            return result

        return await self.inner.write(held, locks, weight, makes_room=makes_room)

    async def read(self, run: Callable[[Tx], Any], length: ReadLength = ReadLength.LONG) -> Any:
        return await self.inner.read(run, length)


@pytest.mark.parametrize("by_chore", [False, True])
async def test_a_sweep_never_takes_what_an_open_transaction_attaches(store_url: str, *, by_chore: bool) -> None:
    async with store_with(store_url, ()) as one, store_with(store_url, ()) as other:
        put = await one.attachments.put(b"hello")
        await change(one, "UPDATE attachments SET touched_at = touched_at - ?1", DAY_MS + 1)
        ran, go = threading.Event(), threading.Event()
        held = replace(one.attachments, workers=Held(one.attachments.workers, ran, go))
        attaching = asyncio.ensure_future(held.attach("s", put.digest, **NAMED))
        await asyncio.to_thread(ran.wait, 30)
        sweeping = asyncio.ensure_future(chore(other) if by_chore else other.attachments.sweep(0))
        if by_chore and store_url.startswith("postgres"):
            assert await sweeping == 0, "the chore did not wait, and did not take it"
        else:
            done, _ = await asyncio.wait({sweeping}, timeout=0.5)
            assert not done, "the sweep did not wait for the one who attaches"
        go.set()
        await attaching
        await sweeping
        assert await one.attachments.of_session("s") == [put]
        assert await whole(one, put.digest) == b"hello"


async def test_sweeps_and_attaches_at_once_leave_no_event_without_its_bytes(store_url: str) -> None:
    async with store_with(store_url, ()) as one, store_with(store_url, ()) as other:
        kept = lost = 0
        for number in range(40):
            put = await one.attachments.put(b"%d" % number)
            attached, _, _ = await asyncio.gather(
                one.attachments.attach(f"s{number}", put.digest, **NAMED),
                other.attachments.sweep(0),
                one.attachments.sweep(0),
                return_exceptions=True,
            )
            if isinstance(attached, NotFound):
                lost += 1
                with pytest.raises(NotFound):
                    await one.read(f"s{number}")
            else:
                assert not isinstance(attached, BaseException), attached
                kept += 1
                assert await whole(other, put.digest) == b"%d" % number
        assert kept + lost == 40
        await one.attachments.sweep(0)
        assert await counted(one, "attachments") == kept == await counted(one, "attachment_uses")
