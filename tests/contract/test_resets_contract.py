"""What resets of session keys do, on every engine."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from tests.support.changes import assert_verified, types_of
from tests.support.interrupted import Twice
from tests.support.material import numbered, values
from tests.support.steps import Meanwhile

from holdfast.core.errors import Conflict, InvalidInput, NotFound
from holdfast.store import Store, open_store
from holdfast.store.sessions.keys import Reset


async def test_a_reset_routes_the_key_to_a_new_session_and_each_names_the_other(store: Store) -> None:
    await store.sessions.create("old", user_id="ada", agent="researcher", metadata={"a": 1})
    await store.append("old", numbered(1))
    await store.keys.resolve("k", session_id="old")
    done = await store.keys.reset("k", new_session_id="new")
    assert done == Reset("old", "new", ("k",))
    assert (await store.keys.get("k")).session_id == "new"
    old, new = await store.sessions.get("old"), await store.sessions.get("new")
    assert (new.user_id, new.agent, new.metadata) == ("ada", "researcher", {})
    assert (old.lineage, new.lineage) == ({"nextSession": "new"}, {"previousSession": "old"})
    assert await values(store, "old", types=["number"]) == [{"n": 1}]
    assert await types_of(store, "old") == ["session_created", "number", "session_reset"]
    assert await types_of(store, "new") == ["session_created"]
    routes = await store.keys.routes("k")
    assert [(route.session_id, route.ended_at is None) for route in routes] == [("old", False), ("new", True)]
    assert [route.key for route in await store.keys.of_session("old")] == ["k"]
    await assert_verified(store, "old", "new")


async def test_resetting_a_session_moves_all_its_keys_and_no_others(store: Store) -> None:
    for key in ("b", "a"):
        await store.keys.resolve(key, session_id="old")
    await store.keys.resolve("c", session_id="other")
    done = await store.keys.reset_session("old")
    assert (done.previous, done.keys) == ("old", ("a", "b"))
    for key in ("a", "b"):
        assert (await store.keys.get(key)).session_id == done.session_id
    assert (await store.keys.get("c")).session_id == "other"
    assert [route.key for route in await store.keys.of_session(done.session_id)] == ["a", "b"]
    await assert_verified(store, "old", done.session_id, "other")


async def test_a_session_without_keys_can_be_reset(store: Store) -> None:
    await store.append("s", numbered(1))
    done = await store.keys.reset_session("s", new_session_id="t")
    assert done == Reset("s", "t", ())
    assert await store.keys.of_session("t") == []


async def test_a_reset_to_a_session_that_is_there_is_a_conflict_and_changes_nothing(store: Store) -> None:
    await store.append("old", numbered(1))
    await store.append("there", numbered(1))
    await store.keys.resolve("k", session_id="old")
    for taken in ("there", "old"):
        with pytest.raises(Conflict):
            await store.keys.reset("k", new_session_id=taken)
    assert (await store.keys.get("k")).session_id == "old"
    assert [await types_of(store, name) for name in ("old", "there")] == [["number"], ["number"]]


async def test_of_many_resets_at_once_each_succeeds_whole_or_is_refused_whole(store_url: str) -> None:
    async with await open_store(store_url) as one, await open_store(store_url) as two:
        await one.keys.resolve("k", session_id="s")
        done = await asyncio.gather(
            *(store.keys.reset("k") for store in (one, two) for _ in range(4)), return_exceptions=True
        )
        assert all(isinstance(each, Reset | Conflict) for each in done), done
        won = [each for each in done if isinstance(each, Reset)]
        route = [each.session_id for each in await one.keys.routes("k")]
        assert len(route) == len(won) + 1
        assert {each.session_id for each in won} == set(route[1:])
        made = [session.session_id for session in (await one.sessions.list()).sessions]
        assert sorted(made) == sorted(route), "a refused reset left its session behind"
        await assert_verified(one, *route)


async def test_a_reset_that_comes_too_late_is_refused_whole(store: Store) -> None:
    """Another reset moves the key on after the first has looked where it routes."""
    await store.keys.resolve("k", session_id="s")

    async def other() -> None:
        await store.keys.reset("k", new_session_id="theirs")

    late = replace(store.keys, workers=Meanwhile(store.keys.workers, other, 0))
    with pytest.raises(Conflict, match="moved on meanwhile"):
        await late.reset("k", new_session_id="ours")
    assert [each.session_id for each in await store.keys.routes("k")] == ["s", "theirs"]
    with pytest.raises(NotFound):
        await store.sessions.get("ours")
    await assert_verified(store, "s", "theirs")


async def test_a_reset_that_is_run_again_after_a_lost_answer_is_one(store: Store) -> None:
    await store.append("old", numbered(1))
    await store.keys.resolve("k", session_id="old")

    async def meanwhile() -> None:
        await store.append("old", numbered(2))

    again = replace(store.keys, workers=Twice(store.keys.workers, meanwhile))
    done = await again.reset("k")
    assert await types_of(store, "old") == ["number", "session_reset", "number"]
    assert await types_of(store, done.session_id) == ["session_created"]
    assert len(await store.keys.routes("k")) == 2
    await again.resolve("fresh", agent="researcher")
    assert len(await store.keys.routes("fresh")) == 1
    await assert_verified(store, "old", done.session_id, (await store.keys.get("fresh")).session_id)


async def test_unknown_keys_and_sessions_and_other_tenants_are_not_found(store: Store) -> None:
    await store.keys.resolve("k", session_id="s")
    stranger = store.for_tenant(f"{store.tenant}-stranger")
    unknown: list[Any] = [
        store.keys.reset("nobody"),
        store.keys.reset_session("nobody"),
        store.keys.of_session("nobody"),
        stranger.keys.reset("k"),
        stranger.keys.reset_session("s"),
        stranger.keys.of_session("s"),
    ]
    for call in unknown:
        with pytest.raises(NotFound):
            await call
    for bad in (store.keys.reset(""), store.keys.reset("k", new_session_id="a/b"), store.keys.reset_session("a/b")):
        with pytest.raises(InvalidInput):
            await bad
    assert (await store.keys.get("k")).session_id == "s"
