"""The contract of deletion, archives and retention, on both engines."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.support.interrupted import Twice
from tests.support.material import numbered
from tests.support.steps import (
    Meanwhile,
    make_rich,
    number_of,
    run,
    traces,
    verified,
    where,
)
from tests.support.tuned import OFTEN, SHORT

from holdfast.core.errors import Corrupt, InvalidInput, LegalHold, NotFound, SessionGone
from holdfast.store import Event, Store
from holdfast.store.lifecycle import arrivals, deletion
from holdfast.store.lifecycle.archives import purge_step
from holdfast.store.lifecycle.deletion import Deletion
from holdfast.store.lifecycle.retention import PAGE, Policy

pytestmark = pytest.mark.tuned(step_events=SHORT)


def with_meanwhile(store: Store, happens: Callable[[], Awaitable[Any]], at: int | None = None) -> Deletion:
    return replace(store.deletion, workers=Meanwhile(store.deletion.workers, happens, at))


async def archived_events(store: Store, session_id: str) -> list[Event]:
    return [event async for event in store.archives.events(session_id)]


async def interrupted(store: Store, session_id: str) -> None:
    """Delete as a process that dies after two steps of the move."""

    class Dead(Exception):
        pass

    async def die() -> None:
        raise Dead

    with pytest.raises(Dead):
        await with_meanwhile(store, die, at=3).delete(session_id)


async def moved(store: Store, number: int) -> None:
    """Wait until an idle store has finished a move."""
    async with asyncio.timeout(30):
        while len((await where(store, number))[0]) > 1:
            await asyncio.sleep(0.01)


async def test_the_archive_says_what_the_session_was(store: Store) -> None:
    await store.keys.resolve("k", session_id="s")
    await make_rich(store, "s")
    await store.leases.acquire("s", "w", 60_000)
    before, session = await store.read("s"), await store.sessions.get("s")
    done = await store.deletion.delete("s", reason="asked")
    assert done == await store.archives.get("s")
    assert (done.events, done.head_hash, done.size_bytes) == (len(before), session.head_hash, session.size_bytes)
    assert (done.reason, done.purged_at) == ("asked", None)
    about = await store.archives.about("s")
    assert about["userId"] == "ada"
    assert [key for key, _, _ in about["routes"]] == ["k"]
    assert await archived_events(store, "s") == before
    assert [each.session_id for each in await store.archives.list()] == ["s"]
    assert await store.archives.list(deleted_before=done.deleted_at) == []
    number = done.session_no
    assert await traces(store, number) == {
        "transcript_events": 1,
        "transcript_event_identities": 1,
        "archived_events": len(before),
        "archives": 1,
        "attachment_uses": 1,
        "usage": 1,
    }
    await verified(store)


async def test_an_empty_session_can_be_deleted(store: Store) -> None:
    await store.keys.resolve("k", session_id="s")
    done = await store.deletion.delete("s")
    assert (done.events, await archived_events(store, "s")) == (0, [])
    assert (await store.archives.purge("s")).purged_at is not None


async def test_what_is_not_there_or_held_is_not_deleted(store: Store) -> None:
    with pytest.raises(NotFound):
        await store.deletion.delete("nobody")
    await store.append("s", numbered(*range(20)))
    await store.sessions.hold("s", True)
    with pytest.raises(LegalHold):
        await store.deletion.delete("s")
    assert len(await store.read("s")) == 21
    with pytest.raises(NotFound):
        await store.archives.get("s")
    await store.sessions.hold("s", False)
    await store.deletion.delete("s")
    with pytest.raises(SessionGone):
        await store.deletion.delete("s")
    with pytest.raises(NotFound):
        await store.for_tenant(f"{store.tenant}-other").archives.get("s")


@pytest.mark.own_store
@pytest.mark.tuned(**OFTEN)
async def test_a_move_that_was_interrupted_goes_on_by_itself(store: Store) -> None:
    await make_rich(store, "s")
    await store.append("s", numbered(*range(40)))
    before = await store.read("s")
    await interrupted(store, "s")
    number = await number_of(store, "s")
    assert number is not None
    await moved(store, number)
    assert await archived_events(store, "s") == before
    await verified(store)


@pytest.mark.own_store(chores=False)
async def test_an_archive_can_be_read_while_its_events_are_still_on_their_way(store: Store) -> None:
    await store.append("s", numbered(*range(40)))
    before = await store.read("s")
    read: list[int] = []

    async def look() -> None:
        if await number_of(store, "s") and await store.archives.list():
            assert await archived_events(store, "s") == before
            read.append(len(before))

    await with_meanwhile(store, look).delete("s")
    assert len(read) > 3


async def test_a_deletion_whose_every_write_is_run_again_happens_once(store: Store) -> None:
    await store.append("s", numbered(*range(40)))
    done = await replace(store.deletion, workers=Twice(store.deletion.workers)).delete("s", reason="r")
    assert (done.events, len(await archived_events(store, "s"))) == (40, 40)
    purged = await replace(store.archives, workers=Twice(store.archives.workers)).purge("s")
    assert purged.purged_at is not None
    await verified(store)


@pytest.mark.own_store
async def test_two_who_move_at_once_do_not_disturb_each_other(store: Store) -> None:
    await store.append("s", numbered(*range(60)))
    before = await store.read("s")

    async def chore() -> None:
        await store.deletion.workers.write(lambda tx: deletion.move_step(tx, store.deletion.tuning), ())

    await with_meanwhile(store, chore).delete("s")
    assert await archived_events(store, "s") == before


DAMAGE = [
    "DELETE FROM archived_events WHERE seq = 20",
    "DELETE FROM archived_events WHERE seq = 40",
    "UPDATE archived_events SET type = 'other' WHERE seq = 20",
    "UPDATE archived_events SET created_at = 1 WHERE seq = 40",
    "UPDATE archives SET last_seq = 39",
]


@pytest.mark.own_store
@pytest.mark.parametrize("damage", DAMAGE)
async def test_a_damaged_archive_is_corrupt(store: Store, damage: str) -> None:
    await store.append("s", numbered(*range(40)))
    await store.deletion.delete("s")
    await run(store, damage)
    with pytest.raises(Corrupt):
        await archived_events(store, "s")


@pytest.mark.own_store(chores=False)
async def test_a_purge_removes_what_was_said_and_the_id_stays_taken(store: Store) -> None:
    await make_rich(store, "s")
    await store.append("s", numbered(*range(40)))
    done = await store.deletion.delete("s")
    digest = (await store.attachments.put(b"bytes")).digest
    assert (await store.attachments.sweep(0)).count == 0, "the archive still uses it"
    told: list[int] = []
    purged = await store.archives.purge("s", progress=lambda last, _: told.append(last))
    assert purged.purged_at is not None
    assert await store.archives.about("s") == {}
    assert (purged.events, purged.head_hash) == (done.events, done.head_hash)
    assert told == sorted(told)
    assert len(told) > 3
    assert (await where(store, done.session_no))[1] == []
    with pytest.raises(NotFound):
        await archived_events(store, "s")
    assert await store.archives.purge("s") == purged
    assert (await store.attachments.sweep(0)).count == 1
    with pytest.raises(NotFound):
        await store.attachments.get(digest)
    with pytest.raises(SessionGone):
        await store.append("s", numbered(1))
    with pytest.raises(NotFound):
        await store.archives.purge("nobody")
    await verified(store)


async def test_an_attachment_that_a_fork_uses_outlives_the_purge(store: Store) -> None:
    await make_rich(store, "s")
    await store.forks.fork("s", new_session_id="f")
    await store.deletion.delete("s")
    await store.archives.purge("s")
    assert (await store.attachments.sweep(0)).count == 0
    assert len(await store.attachments.of_session("f")) == 1
    await verified(store, "f")


@pytest.mark.own_store(chores=False)
async def test_a_purge_waits_for_the_move(store: Store) -> None:
    await store.append("s", numbered(*range(60)))
    refused: list[str] = []

    async def purge() -> None:
        if await store.archives.list():
            try:
                await store.archives.purge("s")
            except InvalidInput as refusal:
                refused.append(refusal.message)

    await with_meanwhile(store, purge).delete("s")
    assert len(refused) > 3
    assert len(await archived_events(store, "s")) == 60


@pytest.mark.own_store
async def test_a_purge_that_was_interrupted_goes_on_by_itself(store: Store) -> None:
    await store.append("s", numbered(*range(60)))
    number = (await store.deletion.delete("s")).session_no

    class Dead(Exception):
        pass

    async def die() -> None:
        raise Dead

    with pytest.raises(Dead):
        await replace(store.archives, workers=Meanwhile(store.archives.workers, die, 3)).purge("s")
    with pytest.raises(NotFound):
        await archived_events(store, "s")
    async with asyncio.timeout(30):
        while (await where(store, number))[1]:
            await asyncio.sleep(0.01)
    assert not await store.archives.workers.write(lambda tx: purge_step(tx) and purge_step(tx), ())


@pytest.mark.tuned(archive_page=10)
async def test_who_reads_an_archive_while_it_is_purged_is_told_so(store: Store) -> None:
    await store.append("s", numbered(*range(60)))
    await store.deletion.delete("s")
    with pytest.raises(NotFound):
        async for event in store.archives.events("s"):
            if event.seq == 5:
                await store.archives.purge("s")


async def make_aged(store: Store) -> None:
    """Five sessions of different age, each of 20 events; the oldest first."""
    for age, name in enumerate("abcde"):
        await store.append(name, numbered(*range(20)))
        await run(
            store, "UPDATE sessions SET updated_at = updated_at - ?2 WHERE session_id = ?1", name, 10**9 * (5 - age)
        )


@pytest.mark.own_store
async def test_retention_by_age_count_and_size(store: Store) -> None:
    await make_aged(store)
    each = (await store.sessions.get("a")).size_bytes

    async def doomed(**limits: int) -> list[tuple[str, str]]:
        plan = await store.retention.plan(Policy(**limits))
        return [(one.session_id, one.reason) for one in plan.doomed]

    assert await doomed() == []
    assert await doomed(max_age_ms=35 * 10**8) == [("a", "age"), ("b", "age")]
    assert await doomed(max_sessions=2) == [("a", "count"), ("b", "count"), ("c", "count")]
    assert await doomed(max_bytes=each * 4) == [("a", "size")]
    assert await doomed(max_bytes=each * 4 - 1) == [("a", "size"), ("b", "size")]
    assert await doomed(max_age_ms=45 * 10**8, max_sessions=3) == [("a", "age"), ("b", "count")]
    assert len(await doomed(max_sessions=0)) == 5
    await store.sessions.hold("a", True)
    await run(store, "UPDATE sessions SET updated_at = updated_at - ?2 WHERE session_id = ?1", "a", 10**10)
    assert await doomed(max_sessions=2) == [("b", "count"), ("c", "count"), ("d", "count")], "what is held counts"
    left = [session.session_id for session in (await store.sessions.list()).sessions]
    assert left == ["e", "d", "c", "b", "a"], "a plan changes nothing"
    for limit in (-1, True, 1.5, "1"):
        with pytest.raises(InvalidInput):
            await store.retention.plan(Policy(max_sessions=limit))  # type: ignore[arg-type]


@pytest.mark.own_store
async def test_of_sessions_of_one_moment_the_first_goes_first(store: Store) -> None:
    for name in ("z", "m", "a"):
        await store.append(name, numbered(1))
    await run(store, "UPDATE sessions SET updated_at = 1000")
    plan = await store.retention.plan(Policy(max_sessions=1))
    assert [one.session_id for one in plan.doomed] == ["z", "m"]


SESSIONS_LIKE_IT = """
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?1)
    INSERT INTO sessions (tenant, session_id, agent, status, created_at, updated_at, head_seq, head_hash, document)
    SELECT tenant, session_id || CAST(n AS TEXT), agent, status, created_at, updated_at, head_seq, head_hash, document
    FROM sessions, numbers WHERE session_id = 's'"""


@pytest.mark.own_store
async def test_retention_sees_all_sessions_however_many_there_are(store: Store) -> None:
    await store.append("s", numbered(1))
    await run(store, SESSIONS_LIKE_IT, PAGE + 2)
    plan = await store.retention.plan(Policy(max_sessions=1))
    assert len({one.session_id for one in plan.doomed}) == len(plan.doomed) == PAGE + 2
    assert (await store.retention.plan(Policy(max_sessions=PAGE + 3))).doomed == []


@pytest.mark.own_store
async def test_retention_deletes_what_the_plan_names_and_spares_what_is_held_or_leased(store: Store) -> None:
    await make_aged(store)
    await store.sessions.hold("a", True)
    await run(store, "UPDATE sessions SET updated_at = updated_at - ?2 WHERE session_id = ?1", "a", 10**10)
    await store.leases.acquire("b", "w", 60_000)
    await store.leases.release(await store.leases.acquire("c", "w", 60_000))
    await store.leases.acquire("d", "w", 60_000)
    await run(store, "UPDATE leases SET expires_at = 1 WHERE session_no = ?1", await number_of(store, "d"))
    plan = await store.retention.plan(Policy(max_age_ms=10**8))
    assert [one.session_id for one in plan.doomed] == ["c", "d", "e"]
    assert plan.held == ["a"]
    told: list[tuple[int, int]] = []
    done = await store.retention.run(plan, progress=lambda n, of: told.append((n, of)))
    assert done == plan.doomed
    assert told == [(1, 3), (2, 3), (3, 3)]
    assert (await store.archives.get("d")).reason == "retention: age"
    assert sorted(s.session_id for s in (await store.sessions.list()).sessions) == ["a", "b"]


async def test_retention_spares_what_is_used_held_leased_or_gone_since_the_plan(store: Store) -> None:
    await make_aged(store)
    plan = await store.retention.plan(Policy(max_age_ms=10**8))
    assert len(plan.doomed) == 5
    await store.append("a", numbered(1))
    await store.sessions.hold("b", True)
    await store.leases.acquire("c", "w", 60_000)
    await store.deletion.delete("d")
    assert [one.session_id for one in await store.retention.run(plan)] == ["e"]
    assert len(await store.read("a")) == 21


@pytest.mark.own_store
async def test_retention_spares_what_is_used_since_the_plan_by_a_program_whose_clock_is_late(store: Store) -> None:
    await make_aged(store)
    plan = await store.retention.plan(Policy(max_age_ms=10**8))
    await store.append("a", numbered(1))
    await run(store, "UPDATE sessions SET updated_at = 1 WHERE session_id = 'a'")
    assert [one.session_id for one in await store.retention.run(plan)] == ["b", "c", "d", "e"]
    assert len(await store.read("a")) == 21


async def test_retention_does_not_count_what_was_deleted_or_has_not_arrived(store: Store) -> None:
    await make_aged(store)
    for name in ("a", "b"):
        await store.deletion.delete(name)
    await store.forks.workers.write(lambda tx: arrivals.begin(tx, store.tenant, "arriving", "somebody", 0, 0), ())
    assert (await store.retention.plan(Policy(max_sessions=3))).doomed == []
    plan = await store.retention.plan(Policy(max_sessions=0))
    assert [one.session_id for one in plan.doomed] == ["c", "d", "e"]


async def test_retention_sees_its_own_tenant_only(store: Store) -> None:
    await make_aged(store)
    assert (await store.for_tenant(f"{store.tenant}-other").retention.plan(Policy(max_sessions=0))).doomed == []


async def test_archives_are_listed_page_by_page_oldest_first(store: Store) -> None:
    for number in range(5):
        await store.append(f"s{number}", numbered(1))
        await store.deletion.delete(f"s{number}")
    found: list[str] = []
    page = await store.archives.list(limit=2)
    while page:
        found += [archived.session_id for archived in page]
        page = await store.archives.list(limit=2, after=page[-1])
    assert found == [f"s{number}" for number in range(5)]
    assert await store.for_tenant(f"{store.tenant}-stranger").archives.list() == []
