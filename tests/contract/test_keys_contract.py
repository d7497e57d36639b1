"""What a session key does when its session is gone, on every engine: it begins anew, and no reset is undone."""

import asyncio
from pathlib import Path

import pytest
from tests.support.changes import assert_verified, types_of
from tests.support.clocks import DAY, MovedClock
from tests.support.material import numbered

from holdfast.core.errors import InvalidInput, NotFound
from holdfast.store import Store, open_store
from holdfast.store.lifecycle.retention import Policy
from holdfast.store.sessions.keys import MAX_ROUTES, Reset

KEY = "agent:main:a2a:c"


async def test_the_first_session_of_a_key_is_named_after_it_and_later_ones_are_fresh(store: Store) -> None:
    first = await store.keys.open(KEY)
    assert first.session_id == KEY
    await store.deletion.delete(KEY)
    second = await store.keys.open(KEY)
    assert second.session_id not in {KEY, ""}
    await store.deletion.delete(second.session_id)
    third = await store.keys.open(KEY)
    assert third.session_id not in {KEY, second.session_id}
    assert await types_of(store, third.session_id) == []
    routes = await store.keys.routes(KEY)
    assert [route.session_id for route in routes] == [KEY, second.session_id, third.session_id]
    assert [route.ended_at is None for route in routes] == [False, False, True]


async def test_a_reset_is_not_undone_by_deleting_the_new_session(store: Store) -> None:
    await store.keys.open(KEY)
    await store.append(KEY, numbered(1))
    new = (await store.keys.reset(KEY)).session_id
    await store.deletion.delete(new)
    after = (await store.keys.open(KEY)).session_id
    assert after not in {KEY, new}
    assert len(await store.read(KEY)) == 2, "the old conversation stays, unrouted"


async def test_a_restored_session_that_is_deleted_does_not_bring_back_the_one_before(store: Store) -> None:
    await store.keys.open(KEY)
    await store.append(KEY, numbered(1))
    point = await store.checkpoints.create(KEY, "here")
    restored = await store.forks.restore(KEY, point.checkpoint_id)
    await store.deletion.delete(restored.session_id)
    assert (await store.keys.open(KEY)).session_id not in {KEY, restored.session_id}


async def test_retention_leaves_a_key_that_begins_anew(store: Store) -> None:
    await store.keys.open(KEY)
    await store.append(KEY, numbered(1))
    await store.retention.run(await store.retention.plan(Policy(max_sessions=0)))
    assert (await store.keys.open(KEY)).session_id != KEY


async def test_a_purged_archive_does_not_free_the_name(store: Store) -> None:
    await store.keys.open(KEY)
    await store.deletion.delete(KEY)
    await store.archives.purge(KEY)
    assert (await store.keys.open(KEY)).session_id != KEY


async def test_a_session_with_the_name_of_a_key_that_was_deleted_unrouted_is_no_obstacle(store: Store) -> None:
    await store.append(KEY, numbered(1))
    await store.deletion.delete(KEY)
    assert (await store.keys.open(KEY)).session_id != KEY


async def test_other_agents_sessions_are_made_with_their_agent_again(store: Store) -> None:
    key = "agent:pilot:a2a:c"
    await store.keys.open(key, agent="pilot")
    await store.deletion.delete(key)
    made = await store.keys.open(key, agent="pilot")
    assert (await store.sessions.get(made.session_id)).agent == "pilot"
    await assert_verified(store, made.session_id)


async def test_many_first_uses_at_once_after_a_deletion_make_one_session(store_url: str) -> None:
    async with await open_store(store_url) as one, await open_store(store_url) as two:
        await one.keys.open(KEY)
        await one.deletion.delete(KEY)
        found = await asyncio.gather(*(store.keys.open(KEY) for store in (one, two) for _ in range(5)))
        assert len({entry.session_id for entry in found}) == 1
        assert [s.session_id for s in (await one.sessions.list()).sessions] == [found[0].session_id]


async def test_a_key_without_a_session_can_be_reset(store: Store) -> None:
    await store.sessions.create(KEY, agent="pilot")
    await store.keys.open(KEY)
    await store.deletion.delete(KEY)
    done = await store.keys.reset(KEY, new_session_id="new")
    assert done == Reset(KEY, "new", (KEY,))
    assert (await store.keys.get(KEY)).session_id == "new"
    assert (await store.sessions.get("new")).agent == "pilot"
    with pytest.raises(NotFound):
        await store.keys.reset("never used")
    await assert_verified(store, "new")


async def test_resets_and_deletions_at_once_leave_a_key_that_works(store: Store) -> None:
    for _ in range(5):
        current = (await store.keys.open(KEY)).session_id
        done = await asyncio.gather(store.keys.reset(KEY), store.deletion.delete(current), return_exceptions=True)
        assert isinstance(done[0], Reset), done
        assert (await store.keys.get(KEY)).session_id == done[0].session_id != current


async def test_an_import_does_not_undo_a_reset_that_was_here_later(store: Store, tmp_path: Path) -> None:
    archive, yesterday = tmp_path / "a.zip", MovedClock(-DAY)
    async with await open_store(f"sqlite:///{tmp_path}/other/holdfast.db", clock=yesterday) as other:
        await other.append("elsewhere", numbered(1))
        await other.keys.resolve(KEY, session_id="elsewhere")
        await other.exporting.archive(archive)
    await store.keys.open(KEY)
    await store.deletion.delete(KEY)
    done = await store.importing.archive(archive)
    assert (done.sessions, done.keys_taken) == (["elsewhere"], [KEY])
    assert (await store.keys.open(KEY)).session_id not in {KEY, "elsewhere"}


async def test_an_imported_key_whose_last_session_was_deleted_begins_anew_as_well(store: Store, tmp_path: Path) -> None:
    archive = tmp_path / "a.zip"
    async with await open_store(f"sqlite:///{tmp_path}/other/holdfast.db") as other:
        await other.keys.open(KEY)
        await other.append(KEY, numbered(1))
        await other.deletion.delete((await other.keys.reset(KEY)).session_id)
        await other.exporting.archive(archive)
    await store.importing.archive(archive)
    assert (await store.keys.open(KEY)).session_id != KEY


async def test_routes_come_in_pages_newest_first(store: Store) -> None:
    ids = [(await store.keys.open(KEY)).session_id]
    ids += [(await store.keys.reset(KEY)).session_id for _ in range(6)]
    assert [route.session_id for route in await store.keys.routes(KEY)] == ids
    seen: list[str] = []
    before = None
    while page := await store.keys.routes(KEY, limit=3, before=before):
        seen[:0] = [route.session_id for route in page]
        before = page[0].session_id
    assert seen == ids
    for wrong in ("never", "\0"):
        with pytest.raises(InvalidInput):
            await store.keys.routes(KEY, before=wrong)
    for limit in (0, MAX_ROUTES + 1, True):
        with pytest.raises(InvalidInput):
            await store.keys.routes(KEY, limit=limit)
