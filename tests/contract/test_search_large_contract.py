"""A search touches words and not whole payloads: what it reads, and what indexing reads in a step, is bounded."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from holdfast.core import NewEvent
from holdfast.store import Store
from holdfast.store.engine import Row, Tx
from holdfast.store.lanes.shares import ReadLength
from holdfast.store.part import Workers
from holdfast.store.text.search import LARGE, PAGE_BYTES, SMALL, Search
from holdfast.store.text.tokenizer import MAX_READ

pytestmark = pytest.mark.own_store

MB = 1024 * 1024
OVERHEAD = 64 * 1024
"""Rows beside their payloads."""


class Weighed:
    """A transaction that counts the bytes that come out of the database."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self.taken = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)

    def one(self, sql: str, *args: Any) -> Row | None:
        row = self._tx.one(sql, *args)
        self._weigh([row] if row else [])
        return row

    def all(self, sql: str, *args: Any) -> list[Row]:
        rows = self._tx.all(sql, *args)
        self._weigh(rows)
        return rows

    def _weigh(self, rows: list[Row]) -> None:
        self.taken += sum(len(each) for row in rows for each in row if isinstance(each, bytes | str))


@dataclass
class Scales:
    """Workers that know how much each transaction took."""

    inner: Workers
    reads: list[int] = field(default_factory=list)
    writes: list[int] = field(default_factory=list)

    async def read(self, run: Callable[[Tx], Any], length: ReadLength = ReadLength.LONG) -> Any:
        return await self.inner.read(lambda tx: self._weighed(run, tx, self.reads), length)

    def write(
        self, run: Callable[[Tx], Any], locks: Sequence[str], weight: int = 1, *, makes_room: bool = False
    ) -> Awaitable[Any]:
        return self.inner.write(lambda tx: self._weighed(run, tx, self.writes), locks, weight, makes_room=makes_room)

    def _weighed(self, run: Callable[[Tx], Any], tx: Tx, taken: list[int]) -> Any:
        weighed = Weighed(tx)
        try:
            return run(weighed)
        finally:
            taken.append(weighed.taken)


@pytest.fixture
def scales(store: Store) -> Scales:
    return Scales(store.search.workers)


@pytest.fixture
def search(store: Store, scales: Scales) -> Search:
    return replace(store.search, workers=scales)


async def test_twenty_large_events_are_found_without_being_read(store: Store, search: Search, scales: Scales) -> None:
    for number in range(20):
        await store.append("s", [NewEvent("t", {"text": f"needle {number} " + "hay " * (MB // 2)})])
    await store.append("s", [NewEvent("t", {"text": "a needle in little hay"})])
    found = await search.find("needle", limit=100)
    assert [hit.seq for hit in found.hits] == list(range(21, 0, -1))
    assert [hit.snippet for hit in found.hits] == ["a needle in little hay", *[None] * 20]
    assert all(hit.size_bytes > 2 * MB for hit in found.hits[1:])
    assert max(scales.reads) < OVERHEAD, "the payloads were read"
    assert max(scales.writes, default=0) <= MAX_READ + OVERHEAD, "a step of indexing read more than it may"


async def test_a_page_ends_early_where_it_would_read_too_much_and_its_cursor_goes_on(
    store: Store, search: Search, scales: Scales
) -> None:
    middle = "hay " * (LARGE // 4 - 64)
    for number in range(12):
        await store.append("s", [NewEvent("t", {"text": f"needle {number} {middle}"})])
    seen: list[int] = []
    cursor, pages = None, 0
    while pages == 0 or cursor is not None:
        page = await search.find("needle", limit=100, cursor=cursor)
        assert page.hits and page.damaged == ()
        for hit in page.hits:
            assert hit.snippet is not None
            assert [hit.snippet[start:end] for start, end in hit.highlights] == ["needle"]
        seen += [hit.seq for hit in page.hits]
        cursor, pages = page.cursor, pages + 1
    assert seen == list(range(12, 0, -1))
    assert pages == 2
    assert max(scales.reads) <= PAGE_BYTES + 100 * SMALL + OVERHEAD


async def test_the_words_at_the_beginning_of_a_large_event_are_found(store: Store) -> None:
    text = 'first "quoted" größe 東京 \\ line\nbreak 😀 ' + "x" * (2 * MB) + " behind"
    await store.append("s", [NewEvent("t", {"membername": text, "last": "behind"})])
    for words in ("first", "quoted", "grosse", "größe", "東京", '"line break"'):
        assert [hit.seq for hit in (await store.search.find(words)).hits] == [1], words
    for words in ("membername", "behind", "nbreak"):
        assert (await store.search.find(words)).hits == (), words


@pytest.mark.parametrize("size", [MAX_READ - 1, MAX_READ, MAX_READ + 1])
async def test_wherever_a_large_payload_is_cut_the_rest_is_indexed(store: Store, size: int) -> None:
    for number, ending in enumerate(("é", "😀", "\n", '"', "\\", "\u2028"), start=1):
        room = size - len('{"a":"needle ')
        text = "needle " + " " * (room - 1) + ending * 8
        await store.append("s", [NewEvent("t", {"a": text})])
        assert [hit.seq for hit in (await store.search.find("needle", limit=1)).hits] == [number]
