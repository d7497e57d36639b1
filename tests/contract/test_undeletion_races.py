"""Undeletes that others come between, or that are cut off, on both engines."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.eventually import eventually
from tests.support.material import numbered
from tests.support.postgres import Server
from tests.support.steps import Meanwhile, make_rich, number_of, rows, verified, where
from tests.support.tuned import OFTEN, SHORT
from tests.support.undeletes import Dead, check_gone, die, in_company, seen

from holdfast.core.errors import (
    ArchivePurged,
    Conflict,
    HoldfastError,
    InvalidInput,
    NotDeleted,
    NotFound,
    SessionArriving,
)
from holdfast.store import NewEvent, Store, UndeletedSession
from holdfast.store.backup.backup import back_up, restore
from holdfast.store.lifecycle import returns
from holdfast.store.lifecycle.deletion import move_step

pytestmark = pytest.mark.tuned(step_events=SHORT)

SECRET = "cormorantine"


async def deleted(store: Store, events: int = 40) -> int:
    """A deleted session with something of every kind; how many events it has."""
    await make_rich(store, "s")
    await store.append("s", numbered(*range(events)))
    return (await store.deletion.delete("s")).events


async def test_until_it_is_whole_it_is_deleted_and_each_event_is_in_one_place(store: Store) -> None:
    events = await deleted(store)
    looks: list[int] = []

    async def look() -> None:
        await check_gone(store, "s", events)
        assert (await store.search.find("hi")).hits == ()
        number = await number_of(store, "s")
        assert number is not None
        looks.append(len((await where(store, number))[1]))

    await in_company(store, look).undelete("s")
    assert looks == sorted(looks, reverse=True)
    assert len(set(looks)) > 3
    await verified(store, "s")


@pytest.mark.own_store(chores=False)
@pytest.mark.parametrize("at", range(1, 10))
async def test_a_deletion_that_was_cut_off_is_undone_as_well(store: Store, at: int) -> None:
    await make_rich(store, "s")
    await store.append("s", [NewEvent("note", {"text": f"kingfisher {n}"}) for n in range(40)])
    before, log = await seen(store, "s"), await store.read("s")
    found = [hit.seq for hit in (await store.search.find("kingfisher", limit=40)).hits]
    deletion = replace(store.deletion, workers=Meanwhile(store.deletion.workers, die, at))
    with pytest.raises(Dead):
        await deletion.delete("s")
    await store.undeletion.undelete("s")
    assert (await store.read("s"))[: len(log)] == log
    assert await seen(store, "s") == before
    assert [hit.seq for hit in (await store.search.find("kingfisher", limit=40)).hits] == found
    await verified(store, "s")


async def test_an_undelete_while_the_deletion_still_moves_it(store: Store) -> None:
    await make_rich(store, "s")
    await store.append("s", numbered(*range(60)))
    log = await store.read("s")
    done: list[UndeletedSession] = []

    async def undelete() -> None:
        if not done and (number := await number_of(store, "s")) and (await where(store, number))[1]:
            done.append(await store.undeletion.undelete("s"))

    await replace(store.deletion, workers=Meanwhile(store.deletion.workers, undelete)).delete("s")
    assert [each.events for each in done] == [len(log) + 2]
    assert (await store.read("s"))[: len(log)] == log
    await verified(store, "s")


@pytest.mark.own_store(chores=False)
@pytest.mark.parametrize("at", range(1, 12))
async def test_an_undelete_that_fails_leaves_it_deleted_and_can_be_repeated(store: Store, at: int) -> None:
    events = await deleted(store)
    undeletion = in_company(store, die, at)
    with pytest.raises(Dead):
        await undeletion.undelete("s")
    await check_gone(store, "s", events)
    assert await rows(store, "SELECT 1 FROM returns") == []
    await store.undeletion.undelete("s")
    await verified(store, "s")


@pytest.mark.own_store
@pytest.mark.tuned(**OFTEN)
async def test_an_undelete_of_a_process_that_died_is_taken_back_by_itself(store: Store) -> None:
    events = await deleted(store)
    tuning = replace(store.undeletion.tuning, arrival_ms=1)

    def begin(tx: object) -> object:
        back = returns.begin(tx, store.tenant, "s", "somebody", tuning)  # type: ignore[arg-type]
        assert back is not None
        return returns.come_back(tx, back, tuning)  # type: ignore[arg-type]

    assert await store.undeletion.workers.write(begin, (store.undeletion.lock("s"),))

    async def settled() -> bool:
        return await rows(store, "SELECT life FROM sessions") == [("gone",)]

    await eventually(settled)
    await check_gone(store, "s", events)
    assert await rows(store, "SELECT 1 FROM returns") == []
    await store.undeletion.undelete("s")
    await verified(store, "s")


@pytest.mark.own_store(chores=False)
async def test_who_comes_after_a_dead_one_takes_over(store: Store) -> None:
    await deleted(store)
    tuning = replace(store.undeletion.tuning, arrival_ms=-1)

    def begin(tx: object) -> object:
        back = returns.begin(tx, store.tenant, "s", "somebody", tuning)  # type: ignore[arg-type]
        assert back is not None
        return returns.come_back(tx, back, tuning)  # type: ignore[arg-type]

    assert await store.undeletion.workers.write(begin, (store.undeletion.lock("s"),))
    await store.undeletion.undelete("s")
    await verified(store, "s")


async def test_of_those_who_undelete_it_at_once_one_does(store: Store) -> None:
    events = await deleted(store)
    tried = await asyncio.gather(*(store.undeletion.undelete("s") for _ in range(5)), return_exceptions=True)
    (done,) = [each for each in tried if isinstance(each, UndeletedSession)]
    assert done.events == events + 2
    assert {type(each) for each in tried} <= {UndeletedSession, SessionArriving, NotDeleted}
    await verified(store, "s")


async def test_who_comes_second_is_told_so_at_every_step(store: Store) -> None:
    await deleted(store)
    refused: list[HoldfastError] = []

    async def second() -> None:
        if await rows(store, "SELECT 1 FROM sessions WHERE tenant = ?1 AND life = 'returning'", store.tenant):
            with pytest.raises(SessionArriving) as refusal:
                await store.undeletion.undelete("s")
            refused.append(refusal.value)

    await in_company(store, second).undelete("s")
    assert len(refused) > 3
    await verified(store, "s")


async def test_a_purge_waits_for_it_and_then_has_nothing_to_do(store: Store) -> None:
    await deleted(store)
    refused: list[str] = []

    async def purge() -> None:
        if await rows(store, "SELECT 1 FROM sessions WHERE tenant = ?1 AND life = 'returning'", store.tenant):
            with pytest.raises(InvalidInput) as refusal:
                await store.archives.purge("s")
            refused.append(refusal.value.message)

    await in_company(store, purge).undelete("s")
    assert len(refused) > 3
    with pytest.raises(NotFound):
        await store.archives.purge("s")
    assert len(await store.attachments.of_session("s")) == 1
    await verified(store, "s")


async def test_a_purge_that_looked_before_it_came_back_takes_nothing(store: Store) -> None:
    await deleted(store)

    async def undelete() -> None:
        await store.undeletion.undelete("s")

    with pytest.raises(NotFound):
        await replace(store.archives, workers=Meanwhile(store.archives.workers, undelete, 0)).purge("s")
    assert len(await store.attachments.of_session("s")) == 1
    await verified(store, "s")


async def test_of_a_purge_and_an_undelete_at_once_one_wins(store: Store) -> None:
    for turn in range(6):
        name = f"s{turn}"
        await store.append(name, numbered(*range(20)))
        await store.deletion.delete(name)
        both = [store.archives.purge(name), store.undeletion.undelete(name)]
        tried = await asyncio.gather(*(both if turn % 2 else reversed(both)), return_exceptions=True)
        purged, undone = tried if turn % 2 else tried[::-1]
        if isinstance(undone, UndeletedSession):
            assert isinstance(purged, InvalidInput | NotFound)
            await verified(store, name)
        else:
            assert isinstance(undone, ArchivePurged)
            assert (await store.archives.get(name)).purged_at is not None


async def test_who_reads_an_archive_that_comes_back_meanwhile_reads_it_to_its_end(store: Store) -> None:
    await store.append("s", numbered(*range(60)))
    before = await store.read("s")
    await store.deletion.delete("s")
    archives = replace(store.archives, tuning=replace(store.archives.tuning, archive_page=10))
    read = []
    async for event in archives.events("s"):
        read.append(event)
        if event.seq == 5:
            await store.undeletion.undelete("s")
    assert read == before
    with pytest.raises(NotFound):
        await anext(archives.events("s"))


@pytest.mark.own_store(chores=False)
@pytest.mark.parametrize("at", range(1, 6))
async def test_what_is_erased_meanwhile_does_not_come_back(store: Store, at: int) -> None:
    await store.sessions.create("s", metadata={"say": SECRET})
    await store.state.patch("s", {"say": SECRET})
    await store.append("s", [NewEvent("t", {"say": SECRET}), *numbered(*range(20))])
    await store.forks.fork("s", new_session_id="copy")
    await store.deletion.delete("s")

    async def erase() -> None:
        await store.erasure.erase("copy", [1, 2, 3], reason="asked", everywhere=True)

    with pytest.raises(Conflict, match="erased"):
        await in_company(store, erase, at).undelete("s")
    await check_gone(store, "s", 23)
    await store.undeletion.undelete("s")
    assert [event.erased is not None for event in await store.read("s")][:4] == [True, True, True, False]
    session = await store.sessions.get("s")
    assert (session.metadata, (await store.state.get("s")).document) == ({}, {})
    assert (await store.search.find(SECRET)).hits == ()
    await verified(store, "s", "copy")


@pytest.mark.parametrize("at", range(2))
async def test_what_came_back_while_its_archive_was_to_be_erased_is_erased_like_any_copy(store: Store, at: int) -> None:
    await store.append("s", [NewEvent("t", {"say": SECRET}), *numbered(*range(20))])
    await store.forks.fork("s", new_session_id="copy")
    await store.deletion.delete("s")

    async def undelete() -> None:
        await store.undeletion.undelete("s")

    erasure = replace(store.erasure, workers=Meanwhile(store.erasure.workers, undelete, at))
    await erasure.erase("copy", [1], reason="asked", everywhere=True)
    assert (await store.read("s"))[0].payload == b""
    assert (await store.read("s"))[-1].type == "holdfast.events_erased"
    await verified(store, "s", "copy")


@pytest.mark.own_store(chores=False)
async def test_two_who_move_it_at_once_do_not_disturb_each_other(store: Store) -> None:
    await make_rich(store, "s")
    await store.append("s", numbered(*range(60)))
    log = await store.read("s")
    with pytest.raises(Dead):
        await replace(store.deletion, workers=Meanwhile(store.deletion.workers, die, 3)).delete("s")

    async def chores() -> None:
        for step in (returns.undo_step, move_step):
            await store.deletion.workers.write(lambda tx, step=step: step(tx, store.deletion.tuning), ())  # type: ignore[misc]

    await in_company(store, chores).undelete("s")
    assert (await store.read("s"))[: len(log)] == log
    await verified(store, "s")


@pytest.mark.own_store
@pytest.mark.parametrize("at", [0, 4])
async def test_a_backup_from_the_middle_has_a_deleted_session_that_can_come_back(
    store: Store, tmp_path: Path, postgres: Server, at: int
) -> None:
    events = await deleted(store)

    async def copy() -> None:
        await back_up(store, tmp_path / "backup")

    await in_company(store, copy, at).undelete("s")
    fresh = f"sqlite:///{tmp_path}/copy/holdfast.db" if store.engine.name == "sqlite" else postgres.new_database()
    async with await restore(tmp_path / "backup", fresh) as restored:
        await restored.declare_all_dead()

        async def settled() -> bool:
            return await rows(restored, "SELECT life FROM sessions") == [("gone",)]

        await eventually(settled)
        await check_gone(restored, "s", events)
        await restored.undeletion.undelete("s")
        assert (await restored.read("s"))[:events] == (await store.read("s"))[:events]
        await verified(restored, "s")
