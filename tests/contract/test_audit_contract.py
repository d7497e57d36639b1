"""What the audit log does, on every engine: an entry before, its status after, and nothing else ever."""

from dataclasses import replace

import pytest
from tests.support.interrupted import Twice

from holdfast.core.errors import InvalidInput, StoreUnavailable
from holdfast.store import NewEvent, Store, open_store


async def begin(store: Store, target: str = "/x", scope: str = "admin") -> str:
    return await store.audit.begin("ci", "abc", scope, "POST", target)


async def test_an_action_begins_and_ends(store: Store) -> None:
    entry_id = await store.audit.begin("ci", None, "admin", "DELETE", "/api/sessions/s?reason=r")
    (begun,) = await store.audit.list()
    assert (begun.entry_id, begun.caller, begun.token_id, begun.scope) == (entry_id, "ci", None, "admin")
    assert (begun.action, begun.target, begun.details, begun.status) == (
        "DELETE",
        "/api/sessions/s?reason=r",
        None,
        None,
    )
    assert begun.created_at > 0
    await store.audit.end(entry_id, 200, '{"a":1}')
    assert await store.audit.list() == [replace(begun, status=200, details='{"a":1}')]


async def test_what_was_begun_and_cut_off_stays_visible(store_url: str) -> None:
    async with await open_store(store_url) as store:
        entry_id = await begin(store)
        await store.append("s", [NewEvent("a", {})])
        await store.deletion.delete("s")
        await store.archives.purge("s")
    async with await open_store(store_url, read_only=True) as store:
        (cut,) = await store.audit.list()
        assert (cut.entry_id, cut.status) == (entry_id, None)
        with pytest.raises(StoreUnavailable):
            await begin(store)


async def test_pages_are_whole_newest_first(store: Store) -> None:
    ids = [await begin(store, f"/{number}") for number in range(7)]
    newest = ids[::-1]
    seen: list[str] = []
    before = None
    while page := await store.audit.list(before=before, limit=3):
        seen += [each.entry_id for each in page]
        before = seen[-1]
        await begin(store, "/meanwhile")
    assert seen == newest
    assert [each.entry_id for each in await store.audit.list(before=ids[2], limit=1)] == [ids[1]]
    assert await store.audit.list(before=ids[0]) == []
    assert await store.audit.list(before="0") == []
    for limit in (0, -1, 1_001):
        with pytest.raises(InvalidInput):
            await store.audit.list(limit=limit)
    for before in ("", "a\0b"):
        with pytest.raises(InvalidInput):
            await store.audit.list(before=before)


async def test_each_tenant_has_its_own(store: Store) -> None:
    other = store.for_tenant(f"{store.tenant}-other")
    mine, theirs = await begin(store, "/mine"), await begin(other, "/theirs")
    assert [each.entry_id for each in await store.audit.list()] == [mine]
    assert [each.entry_id for each in await other.audit.list()] == [theirs]
    assert await store.for_tenant(f"{store.tenant}-third").audit.list() == []


async def test_what_needed_an_operator_is_for_operators(store: Store) -> None:
    kept = [await begin(store, scope="admin"), await begin(store, scope="write")]
    hidden = await begin(store, scope="operator")
    kept.append(await begin(store, scope="admin"))
    assert [each.entry_id for each in await store.audit.list(operators=False)] == kept[::-1]
    assert hidden in {each.entry_id for each in await store.audit.list()}
    assert [each.entry_id for each in await store.audit.list(operators=False, before=kept[2], limit=1)] == [kept[1]]


async def test_a_write_that_is_run_again_is_one_entry(store: Store) -> None:
    again = replace(store.audit, workers=Twice(store.audit.workers))
    entry_id = await again.begin("ci", None, "admin", "POST", "/x")
    await again.end(entry_id, 200)
    assert [(each.entry_id, each.status) for each in await store.audit.list()] == [(entry_id, 200)]
