"""Pages are bounded by bytes and not by number alone: with large events they are shorter, and nothing is left out."""

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from holdfast.core import Event
from holdfast.core.errors import Corrupt, StaleWriter
from holdfast.store import NewEvent, Store
from holdfast.store.feed.hub import PAGE_BYTES, RING_BYTES, TAIL, TAIL_BYTES, Cursor, Tail
from holdfast.store.log.log_reader import STRETCH_BYTES

pytestmark = pytest.mark.own_store

BEGINNING = Cursor("", 0, 0)
KB = 1024
SIZES = [10, 900 * KB, 10, 700 * KB, 700 * KB, 3_000 * KB, 10, 10, 300 * KB, 300 * KB, 300 * KB, 300 * KB, 2_500 * KB]
DENSE = list(range(1, len(SIZES) + 1))


def sized(sizes: list[int]) -> list[NewEvent]:
    return [NewEvent("large" if size > KB else "small", {"text": "x" * size}) for size in sizes]


@pytest.fixture
async def large(store: Store) -> Store:
    """A store with a session of 9 MB in 13 events."""
    await store.append("s", sized(SIZES))
    return store


def size_of(events: list[Any]) -> int:
    return sum(len(event.payload) for event in events)


async def test_stretches_are_whole_ordered_and_no_larger_than_asked(large: Store) -> None:
    for most_bytes in (0, 1, 800 * KB, STRETCH_BYTES, 20_000 * KB):
        seen: list[int] = []
        ended = False
        while not ended:
            events, ended = await large.stretch("s", after=seen[-1] if seen else 0, most_bytes=most_bytes)
            assert len(events) == 1 or (events and size_of(events) <= most_bytes)
            seen += [event.seq for event in events]
        assert seen == DENSE
        seen, ended = [], False
        while not ended:
            before = seen[0] if seen else None
            events, ended = await large.stretch("s", before=before, newest=True, most_bytes=most_bytes)
            assert len(events) == 1 or (events and size_of(events) <= most_bytes)
            seen = [event.seq for event in events] + seen
        assert seen == DENSE
    assert (await large.stretch("s", after=len(SIZES))) == ([], True)
    assert (await large.stretch("s", after=6, before=9)).ended
    assert not (await large.stretch("s", after=6, before=9, limit=1)).ended
    assert not (await large.stretch("s", after=3, before=6)).ended


async def test_reads_of_types_and_limits_leave_nothing_out(large: Store) -> None:
    assert [event.seq for event in await large.read("s")] == DENSE
    assert [event.seq for event in await large.read("s", limit=7)] == DENSE[:7]
    assert [event.seq for event in await large.read("s", types=["small"])] == [1, 3, 7, 8]
    assert [event.seq for event in await large.read("s", types=["small"], limit=3)] == [1, 3, 7]
    assert [event.seq for event in await large.newest("s", types=["small"], limit=3)] == [3, 7, 8]
    assert [event.seq for event in await large.newest("s", types=["large"], limit=100)] == [2, 4, 5, 6, *range(9, 14)]


async def test_a_large_event_that_is_missing_is_missed(large: Store) -> None:
    lane = large._machinery.lanes[0]
    head = await large.sessions.get("s")
    await lane.submit(lambda tx: tx.run("DELETE FROM transcript_events WHERE seq IN (?1, ?2)", 6, head.head_seq), (), 1)
    assert not (await large.stretch("s", after=3)).ended
    for after in (5, len(SIZES) - 1):
        with pytest.raises(Corrupt):
            await large.stretch("s", after=after)
    with pytest.raises(Corrupt):
        await large.stretch("s", newest=True)
    with pytest.raises(Corrupt):
        await large.read("s", types=["nothing"])


async def test_what_goes_through_a_log_goes_through_a_large_one(large: Store, tmp_path: Path) -> None:
    assert (await large.verification.session("s")).problem is None
    assert (await large.forks.fork("s", new_session_id="copy")).head_seq == len(SIZES) + 1
    assert (await large.verification.session("copy")).problem is None
    assert (await large.exporting.archive(tmp_path / "all", ["s"])).events == len(SIZES)
    assert [hit.seq for hit in (await large.search.find("x*", session_id="s")).hits] == DENSE[::-1]
    await large.append("s", [NewEvent("late", {"text": "needle " + "y " * 50 * KB})])
    assert [hit.seq for hit in (await large.search.find("needle", session_id="s")).hits] == [14]
    before = await large.read("s")
    await large.deletion.delete("s", reason="test")
    kept = [event async for event in large.archives.events("s")]
    assert [(event.seq, event.payload) for event in kept[:14]] == [(event.seq, event.payload) for event in before]


async def test_a_retried_patch_among_large_events_is_told_its_first_result(large: Store) -> None:
    await large.state.patch("s", {"a": "y" * 900 * KB})
    first = await large.state.patch("s", {"b": 1}, idempotency_key="k")
    await large.append("s", sized([1_500 * KB]))
    await large.state.patch("s", {"c": 1})
    assert await large.state.patch("s", {"b": 1}, idempotency_key="k") == first


async def test_a_stale_writer_is_told_no_more_than_a_page(large: Store) -> None:
    for expected, told in ((0, [1, 2, 3]), (5, [6])):
        with pytest.raises(StaleWriter) as refused:
            await large.append("s", sized([1]), expected_seq=expected)
        assert [event["seq"] for event in refused.value.details["missed"]] == told


async def test_resume_is_bounded_by_bytes_and_says_so(large: Store) -> None:
    assert (await large.resume("s")).complete
    await large.append("s", sized([6_000 * KB, 6_000 * KB]))
    found = await large.resume("s")
    assert not found.complete
    assert [event.seq for event in found.events] == [*range(7, 16)]
    assert size_of(found.events) <= 16 * KB * KB


async def test_feeds_of_large_events_are_whole_from_the_disk_and_live(large: Store) -> None:
    start = large.feed.cursor_text(BEGINNING)
    both: list[list[int]] = [[], []]

    async def follow_session() -> None:
        async with aclosing(large.feed.session("s")) as feed:
            async for event in feed:
                both[0].append(event.seq)

    async def follow_everything() -> None:
        async with aclosing(large.feed.everything(start)) as feed:
            async for envelope in feed:
                both[1].append(envelope.event.seq)

    async def until(length: int) -> None:
        async with asyncio.timeout(30):
            while min(map(len, both)) < length:
                await asyncio.sleep(0.01)

    tasks = [asyncio.create_task(follow_session()), asyncio.create_task(follow_everything())]
    try:
        await until(len(SIZES))
        for size in (10, 600 * KB, 10, 3_000 * KB, 10, 10):
            await large.append("s", sized([size]))
        await large.append("s", sized(SIZES))
        await until(2 * len(SIZES) + 6)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    assert both == [[*range(1, 2 * len(SIZES) + 7)]] * 2


async def test_a_page_of_the_whole_feed_is_bounded(large: Store) -> None:
    cursor, seqs, pages = BEGINNING, [], 0
    ended = False
    while not ended:
        entries, ended, *_ = await large.feed.hubs.news(cursor)
        assert len(entries) == 1 or sum(entry.size for entry in entries) <= PAGE_BYTES
        seqs += [entry.event.seq for entry in entries if entry.event is not None]
        cursor, pages = entries[-1].cursor if entries else cursor, pages + 1
    assert seqs == DENSE
    assert pages > 3


async def test_what_the_hub_keeps_is_bounded_and_goes_out_in_pages(store: Store) -> None:
    hub = store.feed.hubs.here()
    with hub.subscribe(None):
        await hub.ready()
        place = await store.feed.hubs.end()
        for _ in range(12):
            await store.append("s", sized([1_000 * KB] * 4))
        async with asyncio.timeout(30):
            while not hub._ring or hub._ring[-1].event is None or hub._ring[-1].event.seq < 48:
                await asyncio.sleep(0.01)
        assert sum(entry.size for entry in hub._ring) == hub._ring_bytes <= 2 * RING_BYTES
        assert hub.ring_after(place) is None
        assert hub._start is not None
        place = hub._start
        seqs = []
        while entries := hub.ring_after(place):
            assert len(entries) == 1 or sum(entry.size for entry in entries) <= PAGE_BYTES
            seqs += [entry.event.seq for entry in entries if entry.event is not None]
            place = entries[-1].cursor
        assert seqs == list(range(seqs[0], 49))


def test_a_tail_is_bounded_and_has_no_gap() -> None:
    tail = Tail()
    sizes = [10] * 700 + [200 * KB] * 5 + [600 * KB] + [10] * 3
    for seq, size in enumerate(sizes, 1):
        event = Event(seq, str(seq), "n", b"x" * size, 0, b"")
        assert tail.add(event)
        assert not tail.events or not tail.add(event)
        assert len(tail.events) <= 2 * TAIL
        assert size_of(tail.events) <= 2 * TAIL_BYTES
        assert [each.seq for each in tail.events] == list(range(seq + 1 - len(tail.events), seq + 1))
    assert [each.seq for each in tail.events] == [707, 708, 709]
