"""Where the news of a task are posted: a few places for each task, in no log, and gone with the session."""

import asyncio
from dataclasses import replace

import pytest

from holdfast.core.errors import InvalidInput, NotFound, SessionGone, TooLarge
from holdfast.store import NewEvent, Store, open_store
from holdfast.store.tasks.push_configs import MAX_CONFIGS, StoredPushConfig

SECRET = "what-another-service-gave-us"
HOOK = StoredPushConfig("t1", "one", "https://example.com/hook", SECRET, "Bearer", SECRET, "0.3")


async def begin(store: Store, session_id: str = "s", task_id: str = "t1") -> None:
    await store.tasks.begin(session_id, task_id, "c", NewEvent("message", {"taskId": task_id}), owner="me")


async def test_what_was_put_is_there_after_a_restart(store_url: str) -> None:
    plain = StoredPushConfig("t1", "two", "http://example.com/")
    async with await open_store(store_url) as store:
        await begin(store)
        await store.push_configs.put(HOOK)
        await store.push_configs.put(plain)
    async with await open_store(store_url) as store:
        assert {config.config_id: config for config in await store.push_configs.list("t1")} == {
            "one": HOOK,
            "two": plain,
        }
        assert await store.push_configs.get("t1", "two") == plain


async def test_the_same_id_replaces(store: Store) -> None:
    await begin(store)
    await store.push_configs.put(HOOK)
    changed = replace(HOOK, url="https://example.com/other", token=None, version="1.0")
    await store.push_configs.put(changed)
    assert await store.push_configs.list("t1") == [changed]


async def test_a_task_has_a_few_at_most(store: Store) -> None:
    await begin(store)
    await begin(store, task_id="t2")
    put = await asyncio.gather(
        *(store.push_configs.put(replace(HOOK, config_id=f"c{n}")) for n in range(MAX_CONFIGS + 5)),
        return_exceptions=True,
    )
    assert sum(isinstance(result, TooLarge) for result in put) == 5
    kept = await store.push_configs.list("t1")
    assert len(kept) == MAX_CONFIGS
    await store.push_configs.put(replace(kept[0], url="https://example.com/again"))
    await store.push_configs.put(replace(HOOK, task_id="t2"))
    await store.push_configs.delete("t1", kept[0].config_id)
    await store.push_configs.put(replace(HOOK, config_id="another"))


async def test_deleting_one_leaves_the_others(store: Store) -> None:
    await begin(store)
    for config_id in ("one", "two"):
        await store.push_configs.put(replace(HOOK, config_id=config_id))
    for _ in range(2):
        await store.push_configs.delete("t1", "one")
    assert [config.config_id for config in await store.push_configs.list("t1")] == ["two"]
    with pytest.raises(NotFound):
        await store.push_configs.get("t1", "one")


async def test_they_are_a_tenants_own(store: Store) -> None:
    await begin(store)
    other = store.for_tenant(f"{store.tenant}-other")
    await begin(other)
    await store.push_configs.put(HOOK)
    assert await other.push_configs.list("t1") == []
    await other.push_configs.delete("t1", "one")
    await other.push_configs.put(replace(HOOK, url="https://example.com/theirs"))
    assert await store.push_configs.list("t1") == [HOOK]


async def test_a_task_that_is_not_there_has_none(store: Store) -> None:
    with pytest.raises(NotFound):
        await store.push_configs.put(HOOK)
    assert await store.push_configs.list("t1") == []
    await begin(store)
    with pytest.raises(InvalidInput):
        await store.push_configs.put(replace(HOOK, config_id=""))


@pytest.mark.own_store
async def test_they_go_with_the_session_and_are_never_in_its_log(store: Store) -> None:
    await begin(store)
    await begin(store, "kept", "t2")
    await store.push_configs.put(HOOK)
    await store.push_configs.put(replace(HOOK, task_id="t2"))
    assert SECRET not in repr(HOOK)
    assert all(SECRET.encode() not in event.payload for event in await store.read("s"))
    await store.deletion.delete("s")
    assert await store.push_configs.list("t1") == []
    count = await store.push_configs.workers.read(lambda tx: tx.one("SELECT count(*) FROM push_configs"))
    assert count == (1,)
    with pytest.raises((NotFound, SessionGone)):
        await store.push_configs.put(HOOK)
