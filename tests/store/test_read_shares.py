"""Whose read is next: tenants take turns, and so do the callers of each."""

import asyncio
from dataclasses import replace

import pytest

from holdfast.core.errors import Busy
from holdfast.store.lanes.shares import QueuedRead, ReadLength, Shares
from holdfast.store.tuning import DEFAULT_TUNING


def reads(tenant: str | None, caller: str | None, number: int) -> list[QueuedRead]:
    future = asyncio.get_running_loop().create_future()
    return [QueuedRead(lambda tx: None, ReadLength.LONG, tenant, caller, future) for _ in range(number)]


def add(shares: Shares, *groups: tuple[str | None, str | None, int]) -> list[QueuedRead]:
    made = [read for group in groups for read in reads(*group)]
    for read in made:
        shares.add(read)
    return made


def order(shares: Shares) -> list[str | None]:
    """The callers of what is taken, one after the other."""
    found = []
    while (read := shares.take()) is not None:
        found.append(read.caller)
        shares.done(read)
    return found


async def test_tenants_take_turns_and_so_do_their_callers() -> None:
    shares = Shares(3)
    add(shares, ("a", "a1", 30), ("a", "a2", 2), ("b", "b1", 3))
    assert order(shares)[:8] == ["a1", "b1", "a2", "b1", "a1", "b1", "a2", "a1"]
    assert (shares.waiting, shares.take()) == (0, None)


async def test_whoever_comes_late_is_next_but_one() -> None:
    shares = Shares(3)
    add(shares, ("a", "a1", 30))
    first = shares.take()
    assert first is not None
    shares.done(first)
    add(shares, ("b", "b1", 1))
    assert order(shares)[:2] == ["a1", "b1"]


async def test_neither_a_tenant_nor_a_caller_has_all_the_threads_and_the_store_itself_may() -> None:
    shares = Shares(3)
    add(shares, ("a", "a1", 5), ("a", "a2", 5), ("b", "b1", 5), (None, None, 5))
    running = [shares.take() for _ in range(9)]
    assert [None if read is None else read.caller for read in running[:3]] == ["a1", "b1", None]
    assert [read.caller for read in running if read is not None] == ["a1", "b1", None, "a2", *[None] * 4]
    first = running[0]
    assert first is not None
    shares.done(first)
    again = shares.take()
    assert again is not None and again.caller == "a1"


async def test_a_tenant_of_many_callers_has_all_threads_but_one() -> None:
    shares = Shares(3)
    add(shares, *(("a", f"a{number}", 1) for number in range(4)))
    running = [shares.take() for _ in range(4)]
    assert [read.caller for read in running if read is not None] == ["a0", "a1"]
    add(shares, ("b", "b1", 1))
    last = shares.take()
    assert last is not None and last.tenant == "b"


@pytest.mark.parametrize(
    ("bound", "names"),
    [
        ("most_reads_of_a_caller", ("a", "a1")),
        ("most_reads_of_a_tenant", ("a", "a2")),
        ("most_reads", (None, None)),
    ],
)
async def test_too_many_reads_are_refused_until_there_are_fewer(
    bound: str, names: tuple[str | None, str | None]
) -> None:
    shares = Shares(4, replace(DEFAULT_TUNING, **{bound: 3}))
    made = add(shares, ("a", "a1", 3))
    with pytest.raises(Busy) as refusal:
        add(shares, (*names, 1))
    assert refusal.value.details["retry_after"] == 1
    assert shares.waiting == 3
    assert shares.drop(made[0])
    add(shares, (*names, 1))


async def test_what_is_dropped_is_not_taken_and_leaves_nothing_behind() -> None:
    shares = Shares(3)
    made = add(shares, ("a", "a1", 3), ("b", "b1", 1))
    assert [shares.drop(read) for read in (made[1], made[3], made[1])] == [True, True, False]
    assert order(shares) == ["a1", "a1"]
    assert not any((shares._queues, shares._here, shares._of_tenants, shares._running, shares._running_of_tenants))
