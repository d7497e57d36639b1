"""Limits are those of the store, not of an engine: what one takes the other takes, and what one refuses so does the
other, before anything is written.

PostgreSQL's indexes take entries of at most 2,704 bytes, so names that are in one index share a limit.
"""

import random
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.material import numbered, said
from tests.support.steps import run

from holdfast.core.errors import BadArchive, HoldfastError, InvalidInput
from holdfast.core.ids import MAX_NAME_LENGTH, MAX_NAMES_BYTES
from holdfast.store import NewEvent, Store, open_store
from holdfast.store.tasks.push_configs import StoredPushConfig

pytestmark = pytest.mark.own_store

LONG = MAX_NAME_LENGTH
Write = Callable[[Store, str, str], Awaitable[Any]]


def text(length: int, bytes_each: int = 4, seed: int = 1) -> str:
    """Text that no engine can compress."""
    chosen = random.Random(seed)
    first, last = {1: (0x21, 0x7E), 2: (0x100, 0x7FF), 3: (0x4E00, 0x9FFF), 4: (0x20000, 0x2A6DF)}[bytes_each]
    return "".join(chr(chosen.randint(first, last)) for _ in range(length))


async def push(store: Store, one: str, two: str) -> None:
    await store.tasks.begin("s", one, "c", said("hello", one), owner="me")
    await store.push_configs.put(StoredPushConfig(one, two, "http://127.0.0.1/", None, None, None, "1.0"))


async def use_attachment(store: Store, one: str, _two: str) -> None:
    kept = await store.attachments.put(b"bytes")
    await store.attachments.attach("s", kept.digest, name=one, media_type="text/plain")


WRITES: dict[str, Write] = {
    "memory": lambda s, one, two: s.memories.put(one, two, 1),
    "memory key": lambda s, one, two: s.memories.put("n", one, 1, source=two, idempotency_key=two),
    "task": lambda s, one, two: s.tasks.begin("s", one, two, said("hello", one), owner="me"),
    "push": push,
    "event": lambda s, one, two: s.append("s", [NewEvent(one[:400], {}, event_id=one, idempotency_key=two)]),
    "parent": lambda s, one, two: s.append("s", [NewEvent("n", {}, event_id=one), NewEvent("n", {}, parent_id=one)]),
    "user": lambda s, one, two: s.sessions.create(user_id=one, agent=two, tags=[one, two]),
    "session key": lambda s, one, two: s.keys.resolve(one, agent=two),
    "goal": lambda s, one, two: s.goals.add("s", "land", goal_id=one, idempotency_key=two),
    "agent": lambda s, one, two: s.agents.spawn("s", one, agent_id=two, idempotency_key=one),
    "checkpoint": lambda s, one, two: s.checkpoints.create("s", one[:100], checkpoint_id=two),
    "effect": lambda s, one, two: s.effects.start("s", one, two, {}),
    "usage": lambda s, one, two: s.usage.record("s", one, input_tokens=1, output_tokens=1),
    "lease": lambda s, one, two: s.leases.acquire("s", one, 1_000),
    "attachment": use_attachment,
    "duty": lambda s, one, two: s.duties.take(one, two, 1_000),
    "token": lambda s, one, two: s.tokens.create(one, ["read"]),
}


@pytest.fixture
async def both(sqlite_url: str, postgres_url: str) -> AsyncIterator[tuple[Store, Store]]:
    async with await open_store(sqlite_url) as one, await open_store(postgres_url) as other:
        for store in (one, other):
            await store.append("s", [NewEvent("note", {})])
        yield one, other


async def outcome(store: Store, write: Write, one: str, two: str) -> str:
    try:
        await write(store, one, two)
    except HoldfastError as refusal:
        return refusal.code
    return "done"


@pytest.mark.parametrize("name", WRITES)
async def test_the_longest_names_are_taken_by_both_or_by_none(both: tuple[Store, Store], name: str) -> None:
    seed = 0
    for lengths in ((LONG, LONG), (LONG, 1), (1, LONG), (LONG // 2, LONG // 2)):
        for bytes_each in (4, 3, 1):
            seed += 2
            one, two = (text(length, bytes_each, seed + n) for n, length in enumerate(lengths))
            outcomes = [await outcome(store, WRITES[name], one, two) for store in both]
            assert outcomes[0] == outcomes[1], (name, lengths, bytes_each)
            assert outcomes[0] in {"done", "invalid_input", "too_large", "lease_held"}, (name, lengths, bytes_each)
            if name in {"memory", "task", "push"}:
                assert (outcomes[0] == "done") == (len((one + two).encode()) <= MAX_NAMES_BYTES)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(sorted(WRITES)),
    lengths=st.tuples(st.integers(1, LONG + 2), st.integers(1, LONG + 2)),
    kinds=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    seed=st.integers(0, 2**32),
)
async def test_both_engines_say_the_same_of_any_names(
    both: tuple[Store, Store], name: str, lengths: tuple[int, int], kinds: tuple[int, int], seed: int
) -> None:
    one, two = (text(length, kind, seed + n) for n, (length, kind) in enumerate(zip(lengths, kinds, strict=True)))
    outcomes = [await outcome(store, WRITES[name], one, two) for store in both]
    assert outcomes[0] == outcomes[1]
    assert outcomes[0] not in {"store_failed", "internal", "store_unavailable"}


async def test_the_limit_of_names_together_is_exact(both: tuple[Store, Store]) -> None:
    fits = text(MAX_NAMES_BYTES // 4 - 400), text(400, seed=2)
    for store in both:
        await store.memories.put(*fits, 1)
        assert (await store.memories.get(*fits)).value() == 1
        with pytest.raises(InvalidInput, match="together"):
            await store.memories.put(fits[0], fits[1] + "x", 1)


async def test_a_tenants_name_and_its_longest_names_fit_together(postgres_url: str) -> None:
    tenant = "".join(random.Random(3).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=64))
    async with await open_store(postgres_url, tenant=tenant) as store:
        await store.append("s", [NewEvent("note", {})])
        for seed, write in enumerate(WRITES.values()):
            await write(store, text(LONG, seed=2 * seed), text(MAX_NAMES_BYTES // 4 - LONG, seed=2 * seed + 1))


async def test_names_that_do_not_fit_an_index_are_refused_before_anything_is_imported(
    sqlite_url: str, store: Store, tmp_path: Path
) -> None:
    """By either engine: an earlier version kept such a memory in a SQLite store."""
    async with await open_store(f"{sqlite_url}.other") as source:
        await source.append("s", numbered(1))
        await source.memories.put("n", "k", 1)
        await run(source, "UPDATE memories SET namespace = ?1, key = ?2", "\N{EURO SIGN}" * 512, "\N{EURO SIGN}" * 512)
        assert (await source.memories.list("\N{EURO SIGN}" * 512)).memories
        await source.exporting.archive(tmp_path / "archive")
    there = store.for_tenant("there")
    with pytest.raises(BadArchive):
        await there.importing.archive(tmp_path / "archive")
    assert (await there.sessions.list()).sessions == []
