"""Events by day: each is counted once, on the day that it is dated, for its tenant; what is deleted stays counted."""

from pathlib import Path

import pytest
from tests.support.eventually import eventually
from tests.support.postgres import Server

from holdfast.core import NewEvent
from holdfast.store import DAY_MS, Store
from holdfast.store.backup.backup import back_up, restore

pytestmark = pytest.mark.tuned(look_seconds=0.05)

DAY = 20_000


def dated(*days: int) -> list[NewEvent]:
    return [NewEvent("note", {"n": n}, created_at=day * DAY_MS + n) for n, day in enumerate(days)]


async def counted(store: Store, first_day: int = 0) -> dict[int, int]:
    return await store.snapshot(lambda snapshot: snapshot.events_by_day(first_day))


async def until(store: Store, wanted: dict[int, int]) -> None:
    async def all_counted() -> bool:
        return await counted(store) == wanted

    await eventually(all_counted)


async def test_every_event_is_counted_once_on_its_day(store: Store) -> None:
    await store.append("one", dated(DAY, DAY, DAY + 1))
    await store.append("two", dated(DAY + 1, DAY + 3))
    await until(store, {DAY: 2, DAY + 1: 2, DAY + 3: 1})
    await store.append("one", dated(DAY + 3))
    await until(store, {DAY: 2, DAY + 1: 2, DAY + 3: 2})
    assert await counted(store, DAY + 2) == {DAY + 3: 2}


async def test_more_events_than_fit_a_step_are_all_counted(store: Store) -> None:
    for number in range(5):
        await store.append(f"s{number}", dated(*[DAY + number % 2] * 900))
    await until(store, {DAY: 2_700, DAY + 1: 1_800})


async def test_tenants_are_counted_apart(store: Store) -> None:
    other = store.for_tenant(f"{store.tenant}-other")
    await store.append("same", dated(DAY))
    await other.append("same", dated(DAY, DAY))
    await until(other, {DAY: 2})
    await until(store, {DAY: 1})


async def test_what_was_deleted_stays_counted(store: Store) -> None:
    await store.append("one", dated(DAY, DAY))
    await until(store, {DAY: 2})
    await store.deletion.delete("one")
    await store.append("two", dated(DAY))

    async def told() -> int:
        return (await counted(store)).get(DAY, 0)

    async def third() -> bool:
        return await told() >= 3

    await eventually(third)
    assert await told() == 3


@pytest.mark.own_store
async def test_a_restored_store_counts_each_event_once(store: Store, tmp_path: Path, postgres: Server) -> None:
    await store.append("one", dated(DAY, DAY + 1))
    await until(store, {DAY: 1, DAY + 1: 1})
    await back_up(store, tmp_path / "backup")
    sqlite = store.engine.name == "sqlite"
    url = f"sqlite:///{tmp_path}/restored/holdfast.db" if sqlite else postgres.new_database()
    async with await restore(tmp_path / "backup", url) as copy:
        await copy.append("one", dated(DAY + 2))
        await until(copy, {DAY: 1, DAY + 1: 1, DAY + 2: 1})
