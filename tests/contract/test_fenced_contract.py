"""What is written through a turn's view of the store is refused once its lease was lost, on every engine."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.support.material import numbered

from holdfast.core.errors import LeaseLost
from holdfast.store import Store

WRITES: dict[str, Callable[[Store, str], Awaitable[Any]]] = {
    "append": lambda store, _: store.append("s", numbered(2)),
    "another session": lambda store, _: store.append("s2", numbered(2)),
    "memory": lambda store, _: store.memories.put("n", "colour", "red"),
    "a memory that is forgotten": lambda store, _: store.memories.forget("n", "colour"),
    "usage": lambda store, _: store.usage.record("s", "m", input_tokens=1, output_tokens=1),
    "compaction": lambda store, _: store.checkpoints.compact("s", {"text": "red"}, last_seq=1),
    "snapshot": lambda store, _: store.checkpoints.save_snapshot("s", {"colour": "red"}),
    "bytes": lambda store, _: store.attachments.put(b"red"),
    "attachment": lambda store, digest: store.attachments.attach("s", digest, name="a", media_type="text/plain"),
    "effect": lambda store, _: store.effects.start("s", "call", "write", {}),
    "state": lambda store, _: store.state.patch("s", {"colour": "red"}),
    "goal": lambda store, _: store.goals.add("s", "paint it red"),
}


@pytest.mark.parametrize("what", WRITES)
async def test_an_older_turn_writes_nothing(store: Store, what: str) -> None:
    await store.append("s", numbered(1))
    await store.memories.put("n", "colour", "green")
    digest = (await store.attachments.put(b"green")).digest
    turn = store.under(await store.leases.acquire("s", "older", 60_000))
    await store.leases.acquire("s", "newer", 60_000, take_over=True)
    before = (await store.sessions.get("s"), await store.memories.history("n", "colour"))
    with pytest.raises(LeaseLost):
        await WRITES[what](turn, digest)
    assert before == (await store.sessions.get("s"), await store.memories.history("n", "colour"))


@pytest.mark.parametrize("what", WRITES)
async def test_whoever_holds_the_session_writes(store: Store, what: str) -> None:
    await store.append("s", numbered(1))
    await store.memories.put("n", "colour", "green")
    digest = (await store.attachments.put(b"green")).digest
    await WRITES[what](store.under(await store.leases.acquire("s", "me", 60_000)), digest)


async def test_of_two_turns_the_newer_has_the_last_word(store: Store) -> None:
    """Whatever the order in which their writes come, an older turn's is never after a newer turn's."""
    for number in range(10):
        older = store.under(await store.leases.acquire("s", f"a{number}", 60_000, take_over=True))
        newer = store.under(await store.leases.acquire("s", f"b{number}", 60_000, take_over=True))
        await asyncio.gather(
            *(view.memories.put("n", f"k{number}", value) for value, view in (("red", older), ("green", newer))),
            return_exceptions=True,
        )
        assert (await store.memories.get("n", f"k{number}")).value() == "green"
