"""The contract of exports, on both engines: all that was there, in pages, also while sessions come and go."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.material import numbered

from holdfast.core.errors import SessionGone
from holdfast.store import Store
from holdfast.store.engine import Tx
from holdfast.store.lanes.shares import ReadLength
from holdfast.store.lifecycle import arrivals
from holdfast.store.part import Workers
from holdfast.store.portable import ArchiveReader


@dataclass(slots=True)
class BetweenReads:
    """Lets something happen before the read with a number, from 0."""

    inner: Workers
    happens: Callable[[], Awaitable[Any]]
    at: int
    reads: int = 0

    async def write(
        self, run: Callable[[Tx], Any], locks: Sequence[str], weight: int = 1, *, makes_room: bool = False
    ) -> Any:
        return await self.inner.write(run, locks, weight, makes_room=makes_room)

    async def read(self, run: Callable[[Tx], Any], length: ReadLength = ReadLength.LONG) -> Any:
        number, self.reads = self.reads, self.reads + 1
        if number == self.at:
            await self.happens()
        return await self.inner.read(run, length)


def held_by(path: Path) -> dict[str, int]:
    """Every session of an archive, and how many events it has."""
    with ArchiveReader(path) as reader:
        reader.check()
        return {session.header.session_id: session.header.head_seq for session in reader.sessions()}


@pytest.mark.tuned(export_page=2)
async def test_all_sessions_and_memories_are_exported_in_pages_however_many_there_are(
    store: Store, tmp_path: Path
) -> None:
    for number in range(5):
        await store.append(f"s{number}", numbered(*range(number + 1)))
        await store.memories.put("facts", f"k{number}", number)
    totals = await store.exporting.archive(tmp_path / "a")
    assert (totals.sessions, totals.events, totals.memories) == (5, 15, 5)
    assert held_by(tmp_path / "a") == {f"s{number}": number + 1 for number in range(5)}
    target = store.for_tenant(f"{store.tenant}-elsewhere")
    await target.importing.archive(tmp_path / "a")
    assert [memory.value() for memory in (await target.memories.list("facts")).memories] == [0, 1, 2, 3, 4]


async def test_what_was_deleted_or_is_still_arriving_is_not_exported(store: Store, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        await store.append(name, numbered(1, 2))
    await store.deletion.delete("b")
    await store.forks.workers.write(lambda tx: arrivals.begin(tx, store.tenant, "d", "somebody", 0, 0), ())
    await store.exporting.archive(tmp_path / "a")
    assert held_by(tmp_path / "a") == {"a": 2, "c": 2}
    with pytest.raises(SessionGone):
        await store.exporting.archive(tmp_path / "b", ["a", "b"])
    assert not list(tmp_path.glob("b*"))


async def test_a_session_deleted_since_it_was_listed_is_left_out(store: Store, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        await store.append(name, numbered(1, 2))

    async def delete() -> None:
        await store.deletion.delete("b")

    part = replace(store.exporting, workers=BetweenReads(store.exporting.workers, delete, 1))
    await part.archive(tmp_path / "a")
    assert held_by(tmp_path / "a") == {"a": 2, "c": 2}


@pytest.mark.tuned(export_page=4)
async def test_a_session_deleted_while_its_events_are_read_is_gone_and_there_is_no_archive(
    store: Store, tmp_path: Path
) -> None:
    """The reads are: the list, the session with a page of its events, and pages of the others."""
    await store.append("s", numbered(*range(20)))

    async def delete() -> None:
        await store.deletion.delete("s")

    part = replace(store.exporting, workers=BetweenReads(store.exporting.workers, delete, 3))
    with pytest.raises(SessionGone):
        await part.archive(tmp_path / "a")
    assert not list(tmp_path.glob("a*"))


@pytest.mark.tuned(export_page=4)
async def test_what_is_written_while_it_is_exported_comes_with_the_next_export(store: Store, tmp_path: Path) -> None:
    await store.append("s", numbered(*range(10)))

    async def write() -> None:
        await store.append("s", numbered(*range(10)))

    part = replace(store.exporting, workers=BetweenReads(store.exporting.workers, write, 2))
    await part.archive(tmp_path / "a")
    assert held_by(tmp_path / "a") == {"s": 10}
    await store.exporting.archive(tmp_path / "a")
    assert held_by(tmp_path / "a") == {"s": 20}


async def test_small_sessions_are_read_many_at_a_time(store: Store, tmp_path: Path) -> None:
    for number in range(60):
        await store.append(f"s{number}", numbered(*range(10)))

    async def nothing() -> None: ...

    workers = BetweenReads(store.exporting.workers, nothing, 0)
    await replace(store.exporting, workers=workers).archive(tmp_path / "a")
    assert held_by(tmp_path / "a") == {f"s{number}": 10 for number in range(60)}
    # The list; 500 events, and the other 100; the memories.
    assert workers.reads == 4


@pytest.mark.tuned(export_bytes=1)
async def test_however_many_are_read_at_a_time_they_are_bounded_by_their_bytes(store: Store, tmp_path: Path) -> None:
    for number in range(5):
        await store.append(f"s{number}", numbered(1))

    async def nothing() -> None: ...

    workers = BetweenReads(store.exporting.workers, nothing, 0)
    await replace(store.exporting, workers=workers).archive(tmp_path / "a")
    assert len(held_by(tmp_path / "a")) == 5
    assert workers.reads == 7
