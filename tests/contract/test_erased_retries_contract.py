"""A retry of what was erased projects nothing: every row still follows from the log."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.contract.test_retries_contract import WRITES, message, task
from tests.support.changes import assert_verified

from holdfast.core import HoldfastError, TaskState
from holdfast.core.errors import IdempotencyConflict, NotFound
from holdfast.store import NewEvent, Store
from holdfast.store.backup.backup import back_up

UPDATES = {
    "state": lambda s: s.state.patch("s", {"a": {"b": 1}}, idempotency_key="state"),
    **WRITES,
}


async def erase_last(store: Store, first: int) -> None:
    """Erase every event from a seq on, in all its copies."""
    head = (await store.sessions.get("s")).head_seq
    if head >= first:
        await store.erasure.erase("s", range(first, head + 1), reason="they asked")


@pytest.mark.parametrize("name", UPDATES)
async def test_a_retry_of_an_erased_write_leaves_no_row_without_an_event(
    store: Store, tmp_path: Path, name: str
) -> None:
    """With all that came before it in place, so that the retry finds what it needs."""
    for other, write in UPDATES.items():
        before = (await store.sessions.get("s")).head_seq if other != "state" else 0
        await write(store)
        if other == name:
            break
    await erase_last(store, before + 1)
    head = (await store.sessions.get("s")).head_seq
    for _ in range(2):
        with suppress(HoldfastError):
            await UPDATES[name](store)
        await assert_verified(store, "s")
    added = await store.read("s", after=head)
    assert [event.type for event in added if event.idempotency_key is not None] == []
    assert (await back_up(store, tmp_path / "backup")).damaged == ()


async def test_the_digest_decides_whether_a_retry_of_an_erased_write_is_the_same(store: Store) -> None:
    event = NewEvent("note", {"text": "secret", "n": 1}, event_id="chosen", idempotency_key="k")
    first = await store.append("s", [event])
    state = await store.state.patch("s", {"name": "Mira"}, idempotency_key="p")
    await store.erasure.erase("s", [1, 2], reason="they asked")
    again = await store.append("s", [event])
    assert (again.seqs, again.event_ids, again.replayed) == (first.seqs, first.event_ids, 1)
    assert (await store.state.patch("s", {"name": "Mira"}, idempotency_key="p")).version == state.version
    for other in (
        NewEvent("note", {"text": "another", "n": 1}, idempotency_key="k"),
        NewEvent("note", {"text": "another", "n": 1}, event_id="chosen"),
        NewEvent("other", {"text": "secret", "n": 1}, idempotency_key="k"),
    ):
        with pytest.raises(IdempotencyConflict):
            await store.append("s", [other])
    with pytest.raises(IdempotencyConflict):
        await store.state.patch("s", {"name": "Ada"}, idempotency_key="p")
    await assert_verified(store, "s")


async def test_a_key_of_something_else_never_goes_on_with_a_task(store: Store) -> None:
    """Nor one whose event was erased: it has no body that could be read."""
    await store.tasks.begin("s", "t", "c", message("turn"), owner="me")
    asked = await store.tasks.update(await task(store), TaskState.INPUT_REQUIRED, idempotency_key="asked")
    await store.append("s", [NewEvent("note", {}, idempotency_key="note")])
    for key in ("note", "asked"):
        with pytest.raises(IdempotencyConflict):
            await store.tasks.go_on(asked, message("more"), owner="me", idempotency_key=key)
    await store.erasure.erase("s", [(await store.sessions.get("s")).head_seq], reason="they asked")
    with pytest.raises(IdempotencyConflict):
        await store.tasks.go_on(asked, message("more"), owner="me", idempotency_key="note")
    begun = await store.tasks.go_on(asked, message("more"), owner="me", idempotency_key="resumed")
    resumed = next(event for event in await store.read("s") if event.idempotency_key == "resumed")
    await store.erasure.erase("s", [resumed.seq], reason="they asked")
    with suppress(NotFound):
        again: Any = await store.tasks.go_on(begun.task, message("more"), owner="me", idempotency_key="resumed")
        assert again.task.task_id == "t"
    await assert_verified(store, "s")
