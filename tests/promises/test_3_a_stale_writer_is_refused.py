"""Promise 3: a stale writer is refused and told what it missed."""

import pytest
from tests.support.races import run_races

from holdfast.core.errors import InvalidInput, LeaseLost, StaleState, StaleWriter
from holdfast.store import NewEvent, Store


async def test_the_refusal_carries_what_was_missed(store: Store) -> None:
    await store.append("s", [NewEvent("t", {"n": n}) for n in range(1, 6)])
    with pytest.raises(StaleWriter) as refusal:
        await store.append("s", [NewEvent("t", "mine")], expected_seq=2)
    details = refusal.value.details
    assert (details["expected_seq"], details["head_seq"]) == (2, 5)
    assert [(missed["seq"], missed["payload"]) for missed in details["missed"]] == [
        (3, {"n": 3}),
        (4, {"n": 4}),
        (5, {"n": 5}),
    ]
    done = await store.append("s", [NewEvent("t", "mine")], expected_seq=details["head_seq"])
    assert done.first_seq == 6


async def test_a_writer_ahead_of_the_log_is_refused_too(store: Store) -> None:
    with pytest.raises(StaleWriter):
        await store.append("new", [NewEvent("t", 1)], expected_seq=1)
    assert (await store.sessions.list()).sessions == []
    await store.append("s", [NewEvent("t", 1)], expected_seq=0)
    with pytest.raises(StaleWriter):
        await store.append("s", [NewEvent("t", 2)], expected_seq=2)


@pytest.mark.parametrize("wrong", [-1, 1.0, "1", True, 2**63])
async def test_an_expectation_that_is_no_seq_is_refused(store: Store, wrong: object) -> None:
    with pytest.raises(InvalidInput):
        await store.append("s", [NewEvent("t", 1)], expected_seq=wrong)  # type: ignore[arg-type]


async def test_a_plain_append_needs_no_expectation(store: Store) -> None:
    await store.append("s", [NewEvent("t", 1)], expected_seq=0)
    assert (await store.append("s", [NewEvent("t", 2)])).first_seq == 2


async def test_a_stale_patch_and_a_fenced_writer_are_refused(store: Store) -> None:
    await store.state.patch("s", {"n": 1})
    with pytest.raises(StaleState):
        await store.state.patch("s", {"n": 2}, expected_version=0)
    old = await store.leases.acquire("s", "a", 60_000)
    await store.leases.acquire("s", "b", 60_000, take_over=True)
    with pytest.raises(LeaseLost):
        await store.state.patch("s", {"n": 2}, lease=old)
    assert (await store.state.get("s")).document == {"n": 1}


async def test_each_race_has_one_winner(store_url: str) -> None:
    await run_races(store_url, 3, 40)


@pytest.mark.long
@pytest.mark.parametrize("processes", [2, 5, 8])
async def test_three_hundred_and_fifty_races_each_have_one_winner(store_url: str, processes: int) -> None:
    await run_races(store_url, processes, 350)


async def test_a_lease_works_for_its_own_session_only(store: Store) -> None:
    for _ in range(3):
        await store.leases.release(await store.leases.acquire("other", "a", 60_000))
    lease = await store.leases.acquire("other", "a", 60_000)
    await store.leases.acquire("s", "b", 60_000)
    await store.append("free", [NewEvent("t", 0)])
    for session_id in ("s", "free", "new"):
        for write in (
            lambda name=session_id: store.append(name, [NewEvent("t", 1)], lease=lease),
            lambda name=session_id: store.state.patch(name, {"n": 1}, lease=lease),
        ):
            with pytest.raises(LeaseLost):
                await write()
    assert await store.read("s") == [] and len(await store.read("free")) == 1
    await store.append("other", [NewEvent("t", 1)], lease=lease)
