"""State: patches are retried, erased, forked and carried elsewhere, documents grow large, and nobody waits for them."""

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.changes import assert_verified
from tests.support.read_costs import Counting

from holdfast.core import State, strict_json
from holdfast.core.errors import StaleState, TooLarge
from holdfast.store import NewEvent, Store, open_store
from holdfast.store.engine import Tx
from holdfast.store.lanes.shares import ReadLength
from holdfast.store.log.projection import merge
from holdfast.store.part import Workers
from holdfast.store.sessions.state import IN_LANE, MAX_STATE, StateDocuments
from holdfast.store.sessions.state_document import merged

POINTS = "SELECT seq, document FROM state_points ORDER BY seq"


async def points(store: Store) -> list[tuple[int, bytes]]:
    return [(row[0], bytes(row[1])) for row in await store.state.workers.read(lambda tx: tx.all(POINTS))]


async def run(store: Store, sql: str, *args: Any) -> None:
    await store.state.workers.write(lambda tx: tx.run(sql, *args), ("tests",))


async def patch(store: Store, number: int, session_id: str = "s") -> State:
    changes = {f"m{number % 7}": number, "last": f"said-{number}", "pad": "x" * 2_000}
    return await store.state.patch(session_id, changes, idempotency_key=f"patch-{number}")


async def patches(store: Store, count: int) -> list[State]:
    """Enough of them leave points."""
    told = [await patch(store, number) for number in range(count)]
    assert len(await points(store)) >= count // 30
    return told


@pytest.mark.own_store
@dataclass
class LaneBytes:
    """Notes the most bytes that one write reads, and the most rows that one read does."""

    inner: Workers
    written: int = 0
    rows: int = 0

    async def write(
        self, run: Callable[[Tx], Any], locks: Sequence[str], weight: int = 1, *, makes_room: bool = False
    ) -> Any:
        def count(tx: Any) -> Any:
            counting = _Writing(tx)
            try:
                return run(counting)
            finally:
                self.written = max(self.written, counting.size)

        return await self.inner.write(count, locks, weight, makes_room=makes_room)

    async def read(self, run: Callable[[Tx], Any], length: ReadLength = ReadLength.LONG) -> Any:
        def count(tx: Any) -> Any:
            counting = Counting(tx)
            done = run(counting)  # type: ignore[arg-type]
            self.rows += counting.rows
            return done

        return await self.inner.read(count, length)


class _Writing(Counting):
    """A transaction that counts what it reads and lets everything else through."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


async def test_a_store_from_before_the_points_answers_rightly_and_soon_in_few_steps(store: Store) -> None:
    told = await patches(store, 200)
    await run(store, "DELETE FROM state_points")
    await run(store, "UPDATE session_state SET since_point = NULL")
    counted = LaneBytes(store.state.workers)
    store.state = replace(store.state, workers=counted)
    assert await patch(store, 199) == told[199]
    counted.rows = 0
    assert await patch(store, 199) == told[199]
    assert counted.rows < 150, "the way was long, and left no point"
    await patch(store, 200)
    assert [seq for seq, _ in await points(store)][-1] == 201, "the first patch after the upgrade leaves a point"
    assert [await patch(store, number) for number in range(0, 200, 23)] == told[::23]
    await assert_verified(store, "s")


@pytest.mark.own_store
async def test_an_erased_patch_is_in_no_point(store: Store) -> None:
    told = await patches(store, 100)
    await store.erasure.erase("s", [40, 50], reason="asked for")
    assert not [seq for seq, _ in await points(store) if seq >= 40]
    assert await patch(store, 20) == told[20]
    after = await patch(store, 99)
    assert after.version == 100
    assert after.document == told[99].document, "later patches said all of it again"
    assert (await patch(store, 39)).document["last"] == "said-38"
    assert (await patch(store, 40)).document["last"] == "said-40"
    await patch(store, 100)
    assert b"said-39" not in b"".join(document for _, document in await points(store))
    await assert_verified(store, "s")


async def test_a_fork_and_an_import_answer_their_retries(store: Store, tmp_path: Path) -> None:
    told = await patches(store, 80)
    await store.forks.fork("s", at=70, new_session_id="f")
    assert await patch(store, 69, "f") == replace(told[69], session_id="f")
    assert await patch(store, 3, "f") == replace(told[3], session_id="f")
    await patch(store, 1_000, "f")
    await assert_verified(store, "s", "f")
    await replace(store.state, documents=StateDocuments(4 * MAX_STATE)).patch("s", {"big": "x" * 2 * MAX_STATE})
    await store.exporting.archive(tmp_path / "a")
    other = store.for_tenant(f"{store.tenant}-other")
    await other.importing.archive(tmp_path / "a")
    assert await other.state.get("s") == await store.state.get("s"), "larger than the limit, and imported"
    assert await patch(other, 77) == told[77]
    await assert_verified(other, "s", "f")


@pytest.mark.own_store
async def test_a_point_that_is_not_what_the_patches_say_is_named(store: Store) -> None:
    await patches(store, 80)
    (seq, _), *_ = await points(store)
    await run(store, "UPDATE state_points SET document = ?2 WHERE seq = ?1", seq, b'{"last":"never"}')
    found = await store.verification.session("s")
    assert (found.problem, found.bad_seq) == (f"the state kept of event {seq} is not what the events say", seq)


@pytest.mark.own_store
async def test_a_deleted_session_leaves_no_point(store: Store) -> None:
    await patches(store, 80)
    await store.deletion.delete("s")
    assert await points(store) == []


async def test_a_state_has_a_limit_and_what_is_larger_already_can_only_shrink(store_url: str) -> None:
    async with await open_store(store_url, max_state=10_000_000) as store:
        await store.state.patch("s", {"a": "x" * 700_000, "b": "y" * 700_000, "c": 1})
        before = await store.state.get("s")
    async with await open_store(store_url) as store:
        assert await store.state.get("s") == before
        for changes in ({"c": 2}, {"d": 1}, {"b": "z" * 700_000}):
            with pytest.raises(TooLarge) as refused:
                await store.state.patch("s", changes)
            assert refused.value.status == 413
            assert refused.value.details["limit"] == MAX_STATE
            assert refused.value.hint
        assert (await store.state.patch("s", {"c": None})).version == 2, "smaller, though still too large"
        assert (await store.state.patch("s", {"b": "small"})).version == 3
        assert (await store.state.patch("s", {"c": 3})).version == 4
        with pytest.raises(TooLarge):
            await store.state.patch("new", {"a": "x" * MAX_STATE})
        await store.state.patch("new", {"a": "x" * (MAX_STATE - 8)})
        await assert_verified(store, "s", "new")


async def test_no_lane_reads_a_large_document(store: Store) -> None:
    counted = LaneBytes(store.state.workers)
    state = replace(store.state, workers=counted)
    first = await state.patch("s", {"big": "x" * 500_000}, idempotency_key="first")
    await state.patch("s", {"n": 1})
    await state.patch("s", {"big": {"now": "small"}, "other": "y" * 500_000}, expected_version=2)
    assert await state.patch("s", {"big": "x" * 500_000}, idempotency_key="first") == first
    assert counted.written <= IN_LANE + 500_100, "a retry reads what was written first, to compare it"
    counted.written = 0
    assert (await state.patch("s", {"n": 2})).document == {"big": {"now": "small"}, "other": "y" * 500_000, "n": 2}
    assert counted.written < 1_000
    with pytest.raises(StaleState) as stale:
        await state.patch("s", {"n": 3}, expected_version=1)
    assert stale.value.details["state"]["n"] == 2


async def test_many_who_change_a_large_state_at_once_all_do(store: Store) -> None:
    await store.state.patch("s", {"big": ["x" * 100] * 2_000})
    done = await asyncio.gather(*(store.state.patch("s", {f"n{n}": n}) for n in range(20)))
    assert sorted(state.version for state in done) == list(range(2, 22))
    document = (await store.state.get("s")).document
    assert {name for name in document if name != "big"} == {f"n{n}" for n in range(20)}
    await store.append("s", [NewEvent("note", {})])
    await assert_verified(store, "s")


def test_merging_bytes_is_merging_values() -> None:
    chance = random.Random(7)

    def value(depth: int) -> Any:
        kind = chance.randrange(8 if depth else 5)
        if kind < 5:
            return [None, True, 2**70, 1.5, 'é\0"\\\U0001f600'][kind]
        if kind == 5:
            return [value(depth - 1) for _ in range(chance.randrange(3))]
        return {chance.choice(["a", "b", "é\n", ""]): value(depth - 1) for _ in range(chance.randrange(4))}

    def document() -> dict[str, Any]:
        return {chance.choice("abcd"): value(3) for _ in range(4)}

    for _ in range(2_000):
        before, changes = merge({}, document()), document()
        after = merged(strict_json.dump(before), changes)
        assert after == strict_json.dump(merge(before, changes))
