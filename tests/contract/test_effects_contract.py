"""What tool effects do, on every engine."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest
from tests.support.changes import assert_verified, types_of
from tests.support.interrupted import Twice
from tests.support.material import numbered

from holdfast.core.errors import (
    Conflict,
    EffectUnresolved,
    IdempotencyConflict,
    InvalidInput,
    LeaseLost,
    NotFound,
    SessionGone,
)
from holdfast.core.event_bodies import ToolStarted, read
from holdfast.store import NewEvent, Store
from holdfast.store.engine import Tx
from holdfast.store.log.append import append
from holdfast.store.log.log_reader import existing_head
from holdfast.store.log.projection import started_effect
from holdfast.store.log.rows import EFFECTS

Call = Callable[[Store], Coroutine[Any, Any, Any]]


async def test_an_effect_is_started_then_ends_with_its_result(store: Store) -> None:
    started = await store.effects.start("s", "c1", "mail", {"to": "ada"})
    assert started.run
    assert (started.effect.call_id, started.effect.tool, started.effect.status) == ("c1", "mail", "started")
    assert len(started.effect.digest) == 64
    assert await store.effects.unresolved("s") == [started.effect]
    ended = await store.effects.finish("s", "c1", result={"id": 17})
    assert (ended.status, ended.result, ended.started_at) == ("finished", {"id": 17}, started.effect.started_at)
    assert ended.finished_at is not None
    assert await store.effects.unresolved("s") == []
    again = await store.effects.start("s", "c1", "mail", {"to": "ada"})
    assert (again.effect, again.run) == (ended, False)
    assert await types_of(store, "s") == ["tool_started", "tool_finished"]
    await assert_verified(store, "s")


async def test_arguments_are_not_kept_only_their_digest(store: Store) -> None:
    await store.effects.start("s", "c", "mail", {"password": "hunter2"})
    assert b"hunter2" not in (await store.read("s"))[0].payload


async def test_a_start_without_an_end_is_unresolved_until_somebody_says_what_became_of_it(store: Store) -> None:
    await store.effects.start("s", "c", "mail", [1])
    with pytest.raises(EffectUnresolved) as refusal:
        await store.effects.start("s", "c", "mail", [1])
    assert refusal.value.details["call_id"] == "c"
    assert refusal.value.details["tool"] == "mail"
    assert refusal.value.hint
    await store.effects.finish("s", "c", "failed", note="the mail is not in the outbox")
    again = await store.effects.start("s", "c", "mail", [1])
    assert (again.run, again.effect.status, again.effect.result) == (False, "failed", None)
    assert (await store.read("s"))[-1].value()["note"] == "the mail is not in the outbox"
    await assert_verified(store, "s")


async def test_the_order_of_arguments_names_does_not_matter_and_anything_else_does(store: Store) -> None:
    await store.effects.start("s", "c", "mail", {"to": "ada", "copies": 1})
    with pytest.raises(EffectUnresolved):
        await store.effects.start("s", "c", "mail", {"copies": 1, "to": "ada"})
    for tool, arguments in (
        ("post", {"to": "ada", "copies": 1}),
        ("mail", {"to": "bob", "copies": 1}),
        ("mail", {"to": "ada", "copies": True}),
        ("mail", {"to": "ada", "copies": 1.0}),
        ("mail", None),
    ):
        with pytest.raises(Conflict) as refusal:
            await store.effects.start("s", "c", tool, arguments)
        assert refusal.value.code == "conflict"


async def test_a_retry_of_the_very_start_is_told_what_the_first_was_told(store: Store) -> None:
    first = await store.effects.start("s", "c", "mail", 1, idempotency_key="k")
    assert await store.effects.start("s", "c", "mail", 1, idempotency_key="k") == first
    with pytest.raises(EffectUnresolved):
        await store.effects.start("s", "c", "mail", 1, idempotency_key="k2")
    with pytest.raises(IdempotencyConflict):
        await store.effects.start("s", "other", "mail", 1, idempotency_key="k")
    await store.effects.finish("s", "c", result=2)
    told = await store.effects.start("s", "c", "mail", 1, idempotency_key="k")
    assert (told.run, told.effect.result) == (False, 2)
    assert await types_of(store, "s") == ["tool_started", "tool_finished"]


async def test_the_same_end_again_changes_nothing_and_another_is_a_conflict(store: Store) -> None:
    await store.effects.start("s", "c", "mail")
    ended = await asyncio.gather(*(store.effects.finish("s", "c", result={"a": (1,), "b": 2}) for _ in range(8)))
    assert all(each == ended[0] for each in ended)
    assert await store.effects.finish("s", "c", result={"b": 2, "a": [1]}) == ended[0]
    for status, result in (("failed", {"a": [1], "b": 2}), ("finished", {"a": [True], "b": 2}), ("finished", None)):
        with pytest.raises(Conflict):
            await store.effects.finish("s", "c", status, result)
    assert await types_of(store, "s") == ["tool_started", "tool_finished"]
    await assert_verified(store, "s")


async def test_of_many_starts_at_once_one_runs(store: Store) -> None:
    results = await asyncio.gather(*(store.effects.start("s", "c", "mail") for _ in range(16)), return_exceptions=True)
    assert sum(not isinstance(result, BaseException) and result.run for result in results) == 1
    assert sum(isinstance(result, EffectUnresolved) for result in results) == 15


async def test_a_fenced_writer_starts_nothing(store: Store) -> None:
    await store.append("s", numbered(1))
    old = await store.leases.acquire("s", "old", 60_000)
    new = await store.leases.acquire("s", "new", 60_000, take_over=True)
    with pytest.raises(LeaseLost):
        await store.effects.start("s", "c", "mail", lease=old)
    assert await store.effects.unresolved("s") == []
    assert (await store.effects.start("s", "c", "mail", lease=new)).run


BAD: list[Call] = [
    lambda s: s.effects.start("a/b", "c", "t"),
    lambda s: s.effects.start("s", "", "t"),
    lambda s: s.effects.start("s", "nul\0", "t"),
    lambda s: s.effects.start("s", "c", ""),
    lambda s: s.effects.start("s", "c", "t", object()),
    lambda s: s.effects.start("s", "c", "t", float("nan")),
    lambda s: s.effects.start("s", "c", "t", idempotency_key=""),
    lambda s: s.effects.start("s", "c", "t", idempotency_key="holdfast.mine"),
    lambda s: s.effects.finish("s", "there", "exploded"),
    lambda s: s.effects.finish("s", "there", "started"),
    lambda s: s.effects.finish("s", "there", result=object()),
    lambda s: s.effects.finish("s", "nul\0"),
    lambda s: s.effects.finish("s", "lone\ud800"),
]


async def test_bad_effects_are_refused_and_nothing_is_written(store: Store) -> None:
    await store.effects.start("s", "there", "t")
    for number, bad in enumerate(BAD):
        with pytest.raises(InvalidInput):
            await bad(store)
            pytest.fail(f"{number} was accepted")
    assert len(await store.read("s")) == 1


async def test_unknown_effects_sessions_and_other_tenants_are_not_found(store: Store) -> None:
    await store.effects.start("s", "c", "t")
    stranger = store.for_tenant(f"{store.tenant}-stranger")
    unknown: list[Coroutine[Any, Any, Any]] = [
        store.effects.finish("s", "nobody"),
        store.effects.finish("nobody", "c"),
        store.effects.unresolved("nobody"),
        stranger.effects.finish("s", "c"),
        stranger.effects.unresolved("s"),
    ]
    for call in unknown:
        with pytest.raises(NotFound):
            await call
    assert (await stranger.effects.start("s", "c", "other tool")).run
    await store.deletion.delete("s")
    with pytest.raises(SessionGone):
        await store.effects.start("s", "c", "t")


async def test_writes_that_are_run_again_after_a_lost_answer_are_one_and_still_told_to_run(store: Store) -> None:
    async def meanwhile() -> None:
        await store.append("s", numbered(1))

    again = replace(store.effects, workers=Twice(store.effects.workers, meanwhile))
    assert (await again.start("s", "c", "t")).run
    assert (await again.finish("s", "c", result=1)).result == 1
    mine = [name for name in await types_of(store, "s") if name != "number"]
    assert mine == ["tool_started", "tool_finished"]
    await assert_verified(store, "s")


async def test_a_keyed_start_that_was_erased_is_not_run_again(store: Store) -> None:
    await store.effects.start("s", "c", "t", idempotency_key="k")
    await store.erasure.erase("s", [1], reason="asked to")
    with pytest.raises(Conflict):
        await store.effects.start("s", "c", "t", idempotency_key="k")
    await assert_verified(store, "s")


async def test_the_key_of_one_effect_says_nothing_of_another(store: Store) -> None:
    assert (await store.effects.start("s", "one", "mail", {"to": "ada"}, idempotency_key="k")).run
    assert (await store.effects.start("s", "two", "mail", {"to": "bob"}, idempotency_key="l")).run
    with pytest.raises(IdempotencyConflict):
        await store.effects.start("s", "two", "mail", {"to": "bob"}, idempotency_key="k")
    with pytest.raises(IdempotencyConflict):
        await store.effects.start("s", "three", "mail", {"to": "ada"}, idempotency_key="k")
    assert (await store.effects.start("s", "two", "mail", {"to": "bob"}, idempotency_key="l")).run
    await store.append("s", [NewEvent("note", {}, idempotency_key="n")])
    with pytest.raises(IdempotencyConflict):
        await store.effects.start("s", "two", "mail", {"to": "bob"}, idempotency_key="n")
    await store.effects.finish("s", "two", result="sent")
    with pytest.raises(IdempotencyConflict):
        await store.effects.start("s", "two", "mail", {"to": "bob"}, idempotency_key="k")
    assert [effect.call_id for effect in await store.effects.unresolved("s")] == ["one"]


async def test_what_may_be_shown_of_an_effect_is_in_the_log_and_bounded(store: Store) -> None:
    await store.effects.start("s", "short", "mail", {"to": "ada"}, shown="to ada")
    await store.effects.start("s", "long", "mail", {"to": "bob"}, shown="é" * 100_000)
    short, long = [event.value() for event in await store.read("s")]
    assert short["shown"] == "to ada"
    assert long["shown"] == "é" * 2_048
    with pytest.raises(EffectUnresolved):
        await store.effects.start("s", "long", "mail", {"to": "bob"})
    with pytest.raises(InvalidInput):
        await store.effects.start("s", "other", "mail", shown={"to": "bob"})  # type: ignore[arg-type]
    await assert_verified(store, "s")


async def test_an_effect_that_an_earlier_version_started_is_still_the_same(store: Store) -> None:
    """Which did not write down what it was asked."""
    await store.effects.start("s", "one", "mail", {"to": "ada"}, shown="to ada", idempotency_key="k")
    (event,) = await store.read("s")
    first = read(event, ToolStarted)
    old = ToolStarted(first.call_id, first.tool, first.digest)
    await store.append("t", [NewEvent("note", {})])

    def write(tx: Tx) -> None:
        prepared = store.effects.own_event(old, "k")
        append(tx, store.tenant, "t", [prepared])
        head = existing_head(tx, store.tenant, "t")
        EFFECTS.put(tx, head.session_no, {"one": started_effect(1, old, prepared.created_at)})

    await store.effects.workers.write(write, ())
    assert (await store.effects.start("t", "one", "mail", {"to": "ada"}, shown="x", idempotency_key="k")).run
    assert (await store.verification.session("t")).problem is None
