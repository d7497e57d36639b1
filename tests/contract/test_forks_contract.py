"""The contract of forks, on both engines."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from tests.support.changes import assert_verified
from tests.support.following import take
from tests.support.interrupted import Twice
from tests.support.material import numbered
from tests.support.steps import (
    Meanwhile,
    make_rich,
    number_of,
    rows,
    run,
    traces,
    verified,
)
from tests.support.tuned import OFTEN, SHORT

from holdfast.core import Event, HoldfastError
from holdfast.core.errors import (
    Conflict,
    Corrupt,
    InvalidInput,
    NotFound,
    SessionArriving,
    SessionGone,
)
from holdfast.store import NewEvent, Store
from holdfast.store.engine import Tx
from holdfast.store.lanes.shares import ReadLength
from holdfast.store.lifecycle import arrivals
from holdfast.store.lifecycle.forks import COPY_EVENTS, Forks
from holdfast.store.part import Workers
from holdfast.store.tuning import DEFAULT_TUNING

pytestmark = pytest.mark.tuned(step_events=SHORT)


def stored(events: list[Event]) -> list[tuple[Any, ...]]:
    return [
        (e.seq, e.event_id, e.type, e.payload, e.created_at, e.hash, e.parent_id, e.idempotency_key) for e in events
    ]


def with_meanwhile(store: Store, happens: Callable[[], Awaitable[Any]], at: int | None = None) -> Forks:
    return replace(store.forks, workers=Meanwhile(store.forks.workers, happens, at))


async def test_a_fork_has_the_same_bytes_ids_and_hashes_and_then_its_own(store: Store) -> None:
    await store.append("s", numbered(*range(40)))
    before = await store.read("s")
    made = await store.forks.fork("s", new_session_id="f")
    assert stored(await store.read("f"))[:40] == stored(before)
    assert (made.session_id, made.head_seq, made.status) == ("f", 41, "active")
    assert made.lineage == {"forkedFrom": {"sessionId": "s", "seq": 40}}
    last = (await store.read("f"))[-1]
    assert (last.type, last.value()) == (
        "holdfast.session_forked",
        {"sessionId": "s", "seq": 40, "hash": before[-1].hash.hex()},
    )
    assert stored(await store.read("s")) == stored(before), "the source is untouched"
    await store.append("s", numbered(40))
    await store.append("f", numbered(41))
    assert (await store.read("s"))[-1].hash != (await store.read("f"))[-1].hash
    await verified(store, "s", "f")


async def test_a_fork_at_a_seq_is_the_session_as_it_was_then(store: Store) -> None:
    between = await make_rich(store, "s")
    made = await store.forks.fork("s", at=between, new_session_id="f")
    assert made.head_seq == between + 1
    assert (made.metadata, made.tags, made.user_id, made.status, made.final) == (
        {"a": 1},
        ("x",),
        "ada",
        "active",
        None,
    )
    state = await store.state.get("f")
    assert (state.version, state.document) == (1, {"step": 1})
    assert [(goal.goal_id, goal.status) for goal in await store.goals.list("f")] == [("g1", "pending")]
    assert [agent.status for agent in await store.agents.list("f")] == ["active"]
    assert [effect.call_id for effect in await store.effects.unresolved("f")] == ["call1"]
    assert [point.checkpoint_id for point in await store.checkpoints.list("f")] == ["c1"]
    resumed = await store.resume("f")
    assert resumed.snapshot is not None and resumed.snapshot.document == {"summary": "so far"}
    assert len(await store.attachments.of_session("f")) == 1
    await verified(store, "s", "f")


async def test_tasks_and_usage_stay_with_the_source(store: Store) -> None:
    await make_rich(store, "s")
    await store.forks.fork("s", new_session_id="f")
    assert (await store.tasks.get("t-s")).session_id == "s"
    number = await number_of(store, "f")
    assert await rows(store, "SELECT 1 FROM tasks WHERE session_no = ?1", number) == []
    assert (await store.usage.session("f")).calls == 0
    assert (await store.usage.session("s")).calls == 1
    assert sum(row.usage.calls for row in await store.usage.by_day()) == 1
    await verified(store, "s", "f")


async def test_a_hold_and_an_end_are_the_sources_own(store: Store) -> None:
    await make_rich(store, "s")
    await store.sessions.hold("s", True)
    made = await store.forks.fork("s", new_session_id="f")
    assert (made.held, made.status, made.final) == (False, "active", None)
    assert (await store.sessions.get("s")).held
    await verified(store, "s", "f")


async def test_the_sources_idempotency_keys_are_known_in_the_fork(store: Store) -> None:
    await make_rich(store, "s")
    await store.forks.fork("s", new_session_id="f")
    done = await store.append("f", [NewEvent("keyed", {"n": 1}, idempotency_key="k1")])
    assert (done.seqs, done.replayed) == ((2,), 1)
    early = await store.forks.fork("s", at=1)
    assert (await store.append(early.session_id, [NewEvent("keyed", {"n": 1}, idempotency_key="k1")])).replayed == 0


async def test_a_fork_of_a_session_that_followed_another_has_a_place_of_its_own(store: Store) -> None:
    await store.keys.resolve("k", session_id="first")
    await store.keys.reset("k", new_session_id="second")
    await store.keys.reset("k", new_session_id="third")
    second = await store.sessions.get("second")
    assert second.lineage == {"previousSession": "first", "nextSession": "third"}
    made = await store.forks.fork("second", new_session_id="f")
    assert made.lineage == {"forkedFrom": {"sessionId": "second", "seq": second.head_seq}}
    await assert_verified(store, "second", "f")


async def test_a_fork_of_a_fork(store: Store) -> None:
    between = await make_rich(store, "s")
    await store.forks.fork("s", new_session_id="f")
    await store.goals.add("f", "of the fork", goal_id="g2")
    await store.tasks.begin("f", "t-f", "ctx", NewEvent("message", {"taskId": "t-f"}), owner="o")
    made = await store.forks.fork("f", new_session_id="ff")
    assert made.lineage["forkedFrom"]["sessionId"] == "f"
    assert [goal.goal_id for goal in await store.goals.list("ff")] == ["g1", "g2"]
    await store.forks.fork("f", at=between, new_session_id="early")
    assert stored(await store.read("early"))[:between] == stored(await store.read("s"))[:between]
    await verified(store, "s", "f", "ff", "early")


async def test_a_branch_leaves_the_keys_and_takes_a_new_one(store: Store) -> None:
    await store.keys.resolve("old", session_id="s")
    await make_rich(store, "s")
    made = await store.forks.branch("s", "c1", key="new", new_session_id="f")
    point = await store.checkpoints.get("s", "c1")
    assert made.head_seq == point.seq + 1
    assert (await store.keys.get("old")).session_id == "s"
    assert (await store.keys.get("new")).session_id == "f"
    with pytest.raises(NotFound):
        await store.forks.branch("s", "c9")
    await verified(store, "s", "f")


async def test_a_restore_takes_the_place_on_every_key(store: Store) -> None:
    await store.keys.resolve("one", session_id="s")
    await store.keys.resolve("two", session_id="s")
    await make_rich(store, "s")
    await store.forks.restore("s", "c1", new_session_id="f")
    assert [(await store.keys.get(key)).session_id for key in ("one", "two")] == ["f", "f"]
    assert [route.session_id for route in await store.keys.routes("one")] == ["s", "f"]
    left = (await store.read("s"))[-1]
    assert (left.type, left.value()["reason"]) == ("holdfast.session_reset", "restore")
    assert (await store.sessions.get("s")).lineage["nextSession"] == "f"
    assert (await store.goals.list("f"))[0].status == "pending"
    await verified(store, "s", "f")


@pytest.mark.own_store
async def test_a_taken_id_or_key_is_refused_and_nothing_is_left(store: Store) -> None:
    await store.append("s", numbered(*range(20)))
    await store.keys.resolve("k", session_id="other")
    await store.append("gone", numbered(1))
    await store.deletion.delete("gone")
    for refused, wanted in (
        (Conflict, {"new_session_id": "other"}),
        (Conflict, {"new_session_id": "f", "key": "k"}),
        (SessionGone, {"new_session_id": "gone"}),
        (InvalidInput, {"new_session_id": "s"}),
        (InvalidInput, {"new_session_id": "no/slash"}),
        (InvalidInput, {"at": 21}),
        (InvalidInput, {"at": 0}),
        (InvalidInput, {"at": -1}),
        (InvalidInput, {"at": True}),
        (InvalidInput, {"at": "1"}),
    ):
        with pytest.raises(refused):
            await store.forks.fork("s", **wanted)
    with pytest.raises(NotFound):
        await store.forks.fork("nobody")
    with pytest.raises(SessionGone):
        await store.forks.fork("gone")
    await store.sessions.list()
    assert await number_of(store, "f") is None
    assert await rows(store, "SELECT 1 FROM arrivals") == []


async def test_a_key_taken_meanwhile_refuses_the_fork_and_nothing_is_left(store: Store) -> None:
    await store.append("s", numbered(*range(20)))

    async def take_key() -> None:
        await store.keys.resolve("k", session_id="other")

    with pytest.raises(Conflict):
        await with_meanwhile(store, take_key, at=2).fork("s", new_session_id="f", key="k")
    assert await number_of(store, "f") is None
    await store.forks.fork("s", new_session_id="f", key="k2")
    await verified(store, "s", "f")


async def test_nobody_sees_a_fork_that_is_still_arriving(store: Store) -> None:
    await store.append("s", [NewEvent("t", {"word": "albatross"}), *numbered(*range(20))])
    seen: list[str] = []

    async def look() -> None:
        if await number_of(store, "f") is None:
            return
        for operation in (
            store.read("f"),
            store.sessions.get("f"),
            store.append("f", numbered(1)),
            store.sessions.create("f"),
            store.forks.fork("s", new_session_id="f"),
            store.forks.fork("f"),
            store.deletion.delete("f"),
            store.erasure.erase("f", [1], reason="r"),
            store.keys.resolve("k", session_id="f"),
        ):
            with pytest.raises(SessionArriving):
                await operation
        page = await store.sessions.list()
        assert [session.session_id for session in page.sessions] == ["s"]
        assert [hit.session_id for hit in (await store.search.find("albatross")).hits] == ["s"]
        assert await store.verification.sessions() == ["s"]
        seen.append("f")

    await with_meanwhile(store, look).fork("s", new_session_id="f")
    assert len(seen) > 3
    hits = (await store.search.find("albatross")).hits
    assert sorted(hit.session_id for hit in hits) == ["f", "s"]


async def test_the_source_is_written_during_the_fork(store: Store) -> None:
    await store.append("s", numbered(*range(30)))

    async def write() -> None:
        await store.append("s", numbered(99))
        await store.state.patch("s", {"later": True})

    made = await with_meanwhile(store, write).fork("s", new_session_id="f")
    assert made.head_seq == 31
    assert (await store.state.get("f")).version == 0
    assert (await store.sessions.get("s")).head_seq > 40
    await verified(store, "s", "f")


@pytest.mark.parametrize("at", [1, 3, 6, 7])
async def test_a_source_deleted_in_the_middle_leaves_no_fork(store: Store, at: int) -> None:
    """The writes are: begin, six steps of the copy, show."""
    await store.append("s", numbered(*range(42)))

    async def delete() -> None:
        await store.deletion.delete("s")

    with pytest.raises(SessionGone):
        await with_meanwhile(store, delete, at=at).fork("s", new_session_id="f")
    assert await number_of(store, "f") is None
    assert len([event async for event in store.archives.events("s")]) == 42
    await verified(store)


class Racing:
    """A transaction in which the source leaves between two statements of a step, as PostgreSQL's may see it."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)

    def run(self, sql: str, *args: Any) -> None:
        if sql == COPY_EVENTS and args[2] == 8:
            self._tx.run("UPDATE sessions SET life = 'leaving' WHERE session_id = 's'")
            self._tx.run("DELETE FROM transcript_events WHERE session_no = ?1 AND seq < 12", args[1])
        self._tx.run(sql, *args)


class Racy(Meanwhile):
    """Workers whose transactions are such."""

    async def write(self, run: Any, *args: Any, **more: Any) -> Any:
        return await self.inner.write(lambda tx: run(Racing(tx)), *args, **more)


@pytest.mark.own_store
async def test_a_source_that_leaves_while_a_step_reads_it_is_gone_and_not_corrupt(store: Store) -> None:
    await store.append("s", numbered(*range(20)))

    async def nothing() -> None:
        pass

    with pytest.raises(SessionGone):
        await replace(store.forks, workers=Racy(store.forks.workers, nothing)).fork("s", new_session_id="f")
    assert await number_of(store, "f") is None
    assert len(await store.read("s")) == 20, "the step was taken back"


DAMAGE = [
    "UPDATE transcript_events SET payload = {blob} WHERE seq = 20",
    "UPDATE transcript_event_identities SET type = 'other' WHERE seq = 20",
    "DELETE FROM transcript_event_identities WHERE seq = 20",
    "DELETE FROM transcript_events WHERE seq = 20",
    "DELETE FROM transcript_events WHERE seq = 30",
    "UPDATE sessions SET head_hash = {blob}",
]


@pytest.mark.parametrize("damage", DAMAGE)
async def test_a_damaged_source_is_corrupt_and_nothing_is_left(store: Store, store_url: str, damage: str) -> None:
    await store.append("s", numbered(*range(30)))
    blob = "x'6869'" if store_url.startswith("sqlite") else r"'\x6869'::bytea"
    await run(store, damage.format(blob=blob))
    with pytest.raises(Corrupt):
        await store.forks.fork("s", new_session_id="f")
    assert await number_of(store, "f") is None
    assert await rows(store, "SELECT 1 FROM arrivals") == []
    if "head_hash" not in damage and "30" not in damage:
        await store.forks.fork("s", at=19, new_session_id="f")
        assert (await store.verification.session("f")).problem is None


async def test_erased_events_fork_as_erased(store: Store) -> None:
    await store.append("s", numbered(*range(20)))
    await store.erasure.erase("s", [3], reason="asked")
    await store.forks.fork("s", new_session_id="f")
    event = (await store.read("f"))[2]
    assert (event.payload, event.value()) == (b"", None)
    assert event.erased is not None
    await verified(store, "s", "f")


@pytest.mark.parametrize("at", [1, 3, 4])
async def test_what_is_erased_during_a_fork_is_not_in_the_fork(store: Store, at: int) -> None:
    """The copy has taken the event already, or not yet: either way the fork is refused, and can be made again."""
    await store.append("s", [*numbered(*range(20)), NewEvent("t", {"secret": "cormorant"})])

    async def erase() -> None:
        done = await store.erasure.erase("s", [2, 21], reason="asked", everywhere=True)
        assert done.copies == ()

    with pytest.raises(Conflict):
        await with_meanwhile(store, erase, at=at).fork("s", new_session_id="f")
    assert await number_of(store, "f") is None
    await store.forks.fork("s", new_session_id="f")
    assert [event.seq for event in await store.read("f") if event.erased] == [2, 21]


async def test_a_cancelled_fork_leaves_nothing_and_its_id_is_free(store: Store) -> None:
    await store.append("s", numbered(*range(40)))
    reached = asyncio.Event()

    async def stop() -> None:
        reached.set()
        await asyncio.Event().wait()

    for at in (1, 3, 6):
        reached.clear()
        task = asyncio.create_task(with_meanwhile(store, stop, at=at).fork("s", new_session_id="f"))
        await reached.wait()
        number = await number_of(store, "f")
        assert number is not None
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await number_of(store, "f") is None
        assert await traces(store, number) == {}
    await store.forks.fork("s", new_session_id="f")
    await verified(store, "s", "f")


async def test_a_fork_whose_every_write_is_run_again_is_made_once(store: Store) -> None:
    """As after acknowledgements that were lost on their way."""
    await store.keys.resolve("k", session_id="s")
    await make_rich(store, "s")
    await store.append("s", numbered(*range(40)))
    made = await replace(store.forks, workers=Twice(store.forks.workers)).fork("s", new_session_id="f", key="k2")
    assert (await store.read("f"))[-1].type == "holdfast.session_forked"
    assert made.head_seq == (await store.sessions.get("s")).head_seq + 1
    restored = await replace(store.forks, workers=Twice(store.forks.workers)).restore("s", "c1", new_session_id="r")
    assert (await store.keys.get("k")).session_id == restored.session_id
    await verified(store, "s", "f", "r")


@pytest.mark.own_store
async def test_a_fork_that_pauses_too_long_is_undone_and_says_so(store: Store) -> None:
    """Between two steps the arrival expires, and part of it is taken back by a chore."""
    await store.append("s", numbered(*range(40)))

    async def expire_and_undo_a_step() -> None:
        await run(store, "UPDATE arrivals SET expires_at = 0")
        assert await store.forks.workers.write(lambda tx: arrivals.undo_step(tx, store.forks.tuning), ())

    with pytest.raises(SessionArriving):
        await with_meanwhile(store, expire_and_undo_a_step, at=4).fork("s", new_session_id="f")
    assert await number_of(store, "f") is None
    await store.forks.fork("s", new_session_id="f")
    await verified(store, "s", "f")


@pytest.mark.own_store
async def test_an_idle_store_undoes_what_nobody_brings_any_more(store: Store) -> None:
    await make_rich(store, "s")
    await store.append("s", numbered(*range(40)))
    numbers: list[int | None] = []

    class Dead(Exception):
        pass

    async def die() -> None:
        numbers.append(await number_of(store, "f"))
        raise Dead

    class Silent(Meanwhile):
        """Dies, and never says so."""

        async def write(self, *args: Any, **more: Any) -> Any:
            if self.writes > 4:
                raise Dead
            return await Meanwhile.write(self, *args, **more)

    with pytest.raises(Dead):
        await replace(store.forks, workers=Silent(store.forks.workers, die, at=4)).fork("s", new_session_id="f")
    assert await number_of(store, "f") == numbers[0]
    await store.declare_all_dead()
    async with asyncio.timeout(30):
        while await number_of(store, "f") is not None:
            await asyncio.sleep(0.01)
    assert numbers[0] is not None
    assert await traces(store, numbers[0]) == {}
    assert (
        await rows(store, "SELECT 1 FROM event_text t WHERE t.rowid NOT IN (SELECT pos FROM transcript_events)") == []
    )
    await store.forks.fork("s", new_session_id="f")
    await verified(store, "s", "f")


class HeldOn:
    """A transaction in which the arrival says that it goes on just before the chore has its lock, as on PostgreSQL."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)

    def try_lock(self, name: str) -> bool:
        self._tx.run("UPDATE arrivals SET expires_at = ?1", self._tx.now() + DEFAULT_TUNING.arrival_ms)
        return self._tx.try_lock(name)


@pytest.mark.own_store
async def test_an_arrival_that_goes_on_after_all_is_not_undone(store: Store) -> None:
    write = store.forks.workers.write
    arriving = await write(lambda tx: arrivals.begin(tx, store.tenant, "f", "somebody", 0, 0), ())

    def expire_and_look(tx: Tx) -> None:
        tx.run("UPDATE arrivals SET expires_at = 0")
        arrivals.undo_step(HeldOn(tx))

    await write(expire_and_look, ())
    await write(lambda tx: arrivals.hold_on(tx, arriving), ())
    assert await number_of(store, "f") == arriving.session_no


async def test_progress_is_told(store: Store) -> None:
    await store.append("s", numbered(*range(20)))
    told: list[tuple[int, int]] = []
    await store.forks.fork("s", progress=lambda done, of: told.append((done, of)))
    assert told == [(7, 20), (14, 20), (20, 20)]


async def test_what_was_copied_is_not_news_to_the_whole_store(store: Store) -> None:
    await store.append("s", numbered(*range(20)))
    start = await store.feed.now()
    await store.forks.fork("s", new_session_id="f")
    await store.append("f", numbered(1))
    got = await take(store.feed.everything(start), 2)
    assert [(envelope.session_id, envelope.event.seq) for envelope in got] == [("f", 21), ("f", 22)]
    assert [event.seq for event in await take(store.feed.session("f"), 22)] == list(range(1, 23))


async def test_another_tenants_session_cannot_be_forked(store: Store) -> None:
    await store.append("s", numbered(1))
    with pytest.raises(HoldfastError) as refused:
        await store.for_tenant(f"{store.tenant}-other").forks.fork("s")
    assert isinstance(refused.value, NotFound)


@dataclass(slots=True)
class SlowReads:
    """Reads that take long, as those of a very long log do together."""

    inner: Workers
    seconds: float

    async def write(
        self, run: Callable[[Tx], Any], locks: Sequence[str], weight: int = 1, *, makes_room: bool = False
    ) -> Any:
        return await self.inner.write(run, locks, weight, makes_room=makes_room)

    async def read(self, run: Callable[[Tx], Any], length: ReadLength = ReadLength.LONG) -> Any:
        await asyncio.sleep(self.seconds)
        return await self.inner.read(run, length)


@pytest.mark.own_store
@pytest.mark.tuned(arrival_ms=600, **OFTEN)
async def test_a_fork_is_not_given_up_while_its_rows_are_derived(store: Store) -> None:
    await store.append("s", numbered(*range(20)))
    forks = replace(store.forks, workers=SlowReads(store.forks.workers, 1.0))
    forked = await forks.fork("s", new_session_id="f")
    assert forked.head_seq == 21
    await verified(store, "s", "f")
