"""An operation of several steps says what it did: once its deciding step is committed, trouble with the rest is no
failure, and a failure half-way names what was done before it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.material import numbered
from tests.support.steps import Meanwhile, half_done, rows
from tests.support.tuned import OFTEN, SHORT

from holdfast.core.errors import Closing, HoldfastError, OutcomeUnknown, SessionGone, StorageFull
from holdfast.store import Store
from holdfast.store.lifecycle.retention import Policy

pytestmark = pytest.mark.tuned(step_events=SHORT)


def trouble(kind: type[HoldfastError]) -> Callable[[], Awaitable[None]]:
    async def come() -> None:
        raise kind("trouble")

    return come


def troubled(part: Any, at: int, kind: type[HoldfastError] = StorageFull) -> Any:
    """A part of the store whose write with this number, from 0, fails."""
    return replace(part, workers=Meanwhile(part.workers, trouble(kind), at))


async def until_all_is_done(store: Store) -> None:
    async with asyncio.timeout(30):
        while await half_done(store):
            await asyncio.sleep(0.01)


@pytest.mark.own_store
@pytest.mark.tuned(**OFTEN)
@pytest.mark.parametrize("kind", [StorageFull, OutcomeUnknown, Closing])
@pytest.mark.parametrize("at", [1, 3])
async def test_a_session_that_has_ended_is_deleted_whatever_comes_of_the_move(
    store: Store, at: int, kind: type[HoldfastError]
) -> None:
    await store.append("s", numbered(*range(50)))
    done = await troubled(store.deletion, at, kind).delete("s", reason="asked")
    assert (done.session_id, done.events, done.reason) == ("s", 50, "asked")
    with pytest.raises(SessionGone):
        await store.sessions.get("s")
    await until_all_is_done(store)
    assert [event.seq async for event in store.archives.events("s")] == list(range(1, 51))


async def test_a_deletion_that_failed_has_deleted_nothing(store: Store) -> None:
    await store.append("s", numbered(*range(50)))
    with pytest.raises(StorageFull):
        await troubled(store.deletion, 0).delete("s")
    assert (await store.sessions.get("s")).head_seq == 50


@pytest.mark.own_store
@pytest.mark.parametrize("at", [1, 3])
async def test_an_archive_that_is_marked_is_purged_whatever_comes_of_the_rest(store: Store, at: int) -> None:
    await store.append("s", numbered(*range(50)))
    await store.deletion.delete("s")
    done = await troubled(store.archives, at).purge("s")
    assert done.purged_at is not None
    assert done == await store.archives.get("s")
    await until_all_is_done(store)
    assert await rows(store, "SELECT 1 FROM archived_events") == []


async def test_retention_that_is_cut_short_names_what_it_deleted(store: Store) -> None:
    for name in ("a", "b", "c"):
        await store.append(name, numbered(1))
    plan = await store.retention.plan(Policy(max_sessions=0))
    with pytest.raises(StorageFull) as failed:
        await troubled(store.retention, 2).run(plan)
    assert failed.value.details["deleted"] == ["a"]
    assert "1 of 3 sessions was deleted before that" in failed.value.message
    assert [each.session_id for each in await store.archives.list()] == ["a"]


async def test_retention_that_did_nothing_fails_as_it_is(store: Store) -> None:
    await store.append("a", numbered(1))
    plan = await store.retention.plan(Policy(max_sessions=0))
    with pytest.raises(StorageFull) as failed:
        await troubled(store.retention, 0).run(plan)
    assert failed.value.message == "trouble"
    assert "deleted" not in failed.value.details


async def test_an_erasure_that_is_cut_short_names_where_it_erased(store: Store) -> None:
    await store.append("s", numbered(1, 2, 3))
    await store.forks.fork("s", new_session_id="f")
    with pytest.raises(StorageFull) as failed:
        await troubled(store.erasure, 1).erase("s", [2], reason="law", everywhere=True)
    assert failed.value.details["erased"] == ["s"]
    assert "it was erased in s before that" in failed.value.message
    assert (await store.read("s"))[1].erased is not None
    assert (await store.read("f"))[1].erased is None
    again = await store.erasure.erase("s", [2], reason="law", everywhere=True)
    assert (again.copies, (await store.read("f"))[1].erased is not None) == ((), True)


@pytest.mark.tuned(step_events=1, together_events=1)
async def test_an_import_that_is_cut_short_names_what_came(store: Store, tmp_path: Path) -> None:
    source = store.for_tenant(f"{store.tenant}-source")
    for name in ("a", "b"):
        await source.append(name, numbered(1))
    await source.exporting.archive(tmp_path / "out")
    with pytest.raises(StorageFull) as failed:
        await troubled(store.importing, 1).archive(tmp_path / "out")
    assert failed.value.details["imported"] == ["a"]
    assert "1 session was imported before that" in failed.value.message
    assert [each.session_id for each in (await store.sessions.list()).sessions] == ["a"]


@pytest.mark.parametrize("at", [0, 1, 3])
async def test_a_fork_that_failed_is_not_there(store: Store, at: int) -> None:
    await store.append("s", numbered(*range(20)))
    with pytest.raises(StorageFull):
        await troubled(store.forks, at).fork("s", new_session_id="f")
    await until_all_is_done(store)
    assert [each.session_id for each in (await store.sessions.list()).sessions] == ["s"]
