"""The contract of undeletes, on both engines: what comes back, what does not, and what is refused."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.following import take
from tests.support.interrupted import Twice
from tests.support.material import numbered, said
from tests.support.steps import make_rich, number_of, rows, run, traces, verified
from tests.support.tuned import SHORT
from tests.support.undeletes import KEYED, check_gone, seen

from holdfast.core import strict_json
from holdfast.core.errors import (
    ArchivePurged,
    Conflict,
    Corrupt,
    IdempotencyConflict,
    InvalidInput,
    LeaseLost,
    NotDeleted,
    NotFound,
    SessionArriving,
)
from holdfast.store import NewEvent, Policy, Store
from holdfast.store.lifecycle import arrivals
from holdfast.store.tasks.push_configs import StoredPushConfig
from holdfast.store.tasks.task_texts import TaskText

pytestmark = pytest.mark.tuned(step_events=SHORT)


async def test_all_of_it_comes_back(store: Store) -> None:
    await make_rich(store, "s")
    await store.keys.resolve("k", session_id="s")
    await store.append("s", [*numbered(*range(40)), NewEvent("last", {"text": "hi again"})])
    before, log, size = await seen(store, "s"), await store.read("s"), (await store.sessions.get("s")).size_bytes
    number = await number_of(store, "s")
    assert number is not None
    rows_before = await traces(store, number)
    gone = await store.deletion.delete("s", reason="a mistake")
    told: list[tuple[int, int]] = []
    done = await store.undeletion.undelete("s", progress=lambda n, of: told.append((n, of)))
    after, session = await store.read("s"), await store.sessions.get("s")
    assert after[: len(log)] == log
    assert [event.type for event in after[len(log) :]] == ["holdfast.session_deleted", "holdfast.session_restored"]
    assert (done.session_id, done.events, done.head_hash) == ("s", len(log) + 2, session.head_hash)
    assert (done.keys, done.keys_taken, done.not_restored) == (("k",), (), ())
    assert len(told) > 3
    assert told[-1] == (len(log), len(log))
    now = await seen(store, "s")
    now["keys"] = [(entry.key, entry.session_id, entry.created_at) for entry in now["keys"]]
    before["keys"] = [(entry.key, entry.session_id, entry.created_at) for entry in before["keys"]]
    assert now == before
    assert session.size_bytes == size + sum(len(event.payload) for event in after[len(log) :])
    assert session.updated_at == after[-1].created_at >= gone.deleted_at
    events = ("transcript_events", "transcript_event_identities")
    assert await traces(store, number) == {**rows_before, **dict.fromkeys(events, len(after))}
    await verified(store, "s")


async def test_a_retry_of_what_was_written_before_is_a_replay_again(store: Store) -> None:
    await make_rich(store, "s")
    first = (await store.append("s", [KEYED])).seqs
    patched = await store.state.patch("s", {"step": 3}, idempotency_key="patch")
    await store.deletion.delete("s")
    await store.undeletion.undelete("s")
    head = (await store.sessions.get("s")).head_seq
    again = await store.append("s", [KEYED])
    assert (again.seqs, again.replayed) == (first, 1)
    assert (await store.state.patch("s", {"step": 3}, idempotency_key="patch")).version == patched.version
    with pytest.raises(IdempotencyConflict):
        await store.append("s", [NewEvent("keyed", {"n": 2}, idempotency_key="k1")])
    assert (await store.sessions.get("s")).head_seq == head
    await store.append("s", [NewEvent("new", {"n": 1}, idempotency_key="k2")])
    await verified(store, "s")


async def test_it_can_be_deleted_and_undeleted_again_and_again(store: Store) -> None:
    await make_rich(store, "s")
    log = await store.read("s")
    for time in range(1, 4):
        assert (await store.deletion.delete("s")).events == len(log) + 2 * (time - 1)
        await store.undeletion.undelete("s")
        assert (await store.read("s"))[: len(log)] == log
        await verified(store, "s")
    assert await store.archives.list() == []


async def test_an_empty_session_comes_back(store: Store) -> None:
    await store.keys.resolve("k", session_id="s")
    await store.deletion.delete("s")
    assert (await store.undeletion.undelete("s")).keys == ("k",)
    assert (await store.keys.get("k")).session_id == "s"
    await verified(store, "s")


async def test_what_was_not_deleted_or_is_no_more_is_refused(store: Store) -> None:
    with pytest.raises(NotFound):
        await store.undeletion.undelete("nobody")
    with pytest.raises(InvalidInput):
        await store.undeletion.undelete("no id")
    await store.append("s", numbered(*range(20)))
    with pytest.raises(NotDeleted):
        await store.undeletion.undelete("s")
    await store.deletion.delete("s")
    with pytest.raises(NotFound):
        await store.for_tenant(f"{store.tenant}-other").undeletion.undelete("s")
    await store.undeletion.undelete("s")
    with pytest.raises(NotDeleted):
        await store.undeletion.undelete("s")
    await store.deletion.delete("s")
    await store.archives.purge("s")
    with pytest.raises(ArchivePurged):
        await store.undeletion.undelete("s")
    await store.forks.workers.write(lambda tx: arrivals.begin(tx, store.tenant, "arriving", "somebody", 0, 0), ())
    with pytest.raises(SessionArriving):
        await store.undeletion.undelete("arriving")


async def test_keys_that_were_used_again_stay_where_they_are(store: Store) -> None:
    for key in ("free", "elsewhere", "reset", "used and free"):
        await store.keys.resolve(key, session_id="s")
    await store.keys.resolve("left before", session_id="s")
    await store.keys.reset("left before", new_session_id="other")
    made = (await store.keys.get("free")).created_at
    await store.append("s", numbered(*range(20)))
    await store.deletion.delete("s")
    await store.keys.resolve("elsewhere", session_id="other")
    renewed = (await store.keys.reset("reset")).session_id
    between = (await store.keys.resolve("used and free")).session_id
    await store.append(between, numbered(1))
    await store.deletion.delete(between)
    done = await store.undeletion.undelete("s")
    assert (done.keys, done.keys_taken) == (("free",), ("elsewhere", "reset", "used and free"))
    back = await store.keys.get("free")
    assert (back.session_id, back.created_at) == ("s", made)
    assert (await store.keys.get("elsewhere")).session_id == (await store.keys.get("left before")).session_id == "other"
    assert (await store.keys.get("reset")).session_id == renewed
    with pytest.raises(NotFound):
        await store.keys.get("used and free")
    open_routes = [route.key for route in await store.keys.of_session("s") if route.ended_at is None]
    assert open_routes == ["free"]
    assert (await store.keys.open("used and free")).session_id not in {"s", between}, "no deletion is undone by a key"
    await verified(store, "s")


async def test_the_feed_tells_the_deletion_and_the_undelete_and_nothing_twice(store: Store) -> None:
    start = await store.feed.now()
    await store.append("s", numbered(*range(20)))
    told = await take(store.feed.everything(start), 20)
    await store.deletion.delete("s")
    await store.undeletion.undelete("s")
    await store.append("s", [NewEvent("after", {})])
    news = await take(store.feed.everything(told[-1].cursor), 3)
    assert [(each.event.type, each.event.seq) for each in news] == [
        ("holdfast.session_deleted", 21),
        ("holdfast.session_restored", 22),
        ("after", 23),
    ]
    late = await take(store.feed.everything(start), 3)
    assert [each.event.seq for each in late] == [21, 22, 23], "what came back is no news"
    assert [event.seq for event in await take(store.feed.session("s"), 23)] == list(range(1, 24))


async def test_its_words_are_found_in_the_same_order(store: Store) -> None:
    await store.append("s", [NewEvent("note", {"text": f"kingfisher {n}"}) for n in range(30)])
    before = [hit.seq for hit in (await store.search.find("kingfisher")).hits]
    await store.deletion.delete("s")
    assert (await store.search.find("kingfisher")).hits == ()
    await store.undeletion.undelete("s")
    assert [hit.seq for hit in (await store.search.find("kingfisher")).hits] == before == list(range(30, 10, -1))


async def test_retention_spares_it_and_a_hold_keeps_it(store: Store) -> None:
    await store.append("s", numbered(*range(20)))
    await run(store, "UPDATE sessions SET updated_at = 1 WHERE tenant = ?1", store.tenant)
    plan = await store.retention.plan(Policy(max_age_ms=3_600_000))
    assert [one.session_id for one in await store.retention.run(plan)] == ["s"]
    await store.undeletion.undelete("s")
    assert (await store.retention.plan(Policy(max_age_ms=3_600_000))).doomed == []
    assert await store.retention.run(plan) == [], "a plan from before is about a session that was not used since"
    await store.sessions.hold("s", True)
    with pytest.raises(Conflict):
        await store.deletion.delete("s")


async def test_a_writer_from_before_stays_fenced(store: Store) -> None:
    await store.append("s", numbered(1))
    for holder in ("a", "b", "w"):
        old = await store.leases.acquire("s", holder, 60_000, take_over=True)
    await store.deletion.delete("s")
    await store.undeletion.undelete("s")
    with pytest.raises(LeaseLost):
        await store.append("s", numbered(2), lease=old)
    new = await store.leases.acquire("s", "w", 60_000)
    assert new.fence > old.fence
    with pytest.raises(LeaseLost):
        await store.append("s", numbered(2), lease=old)
    await store.append("s", numbered(2), lease=new)


async def test_what_a_turn_had_said_comes_back_and_where_to_post_it_does_not(store: Store) -> None:
    task = (await store.tasks.begin("s", "t", "ctx", said("hi", "t"), owner="o")).task
    lease = await store.leases.acquire("s", "o", 60_000)
    await store.task_texts.put(task, TaskText("a", "so far"), lease=lease)
    await store.push_configs.put(StoredPushConfig("t", "c", "https://example.org/", token="secret"))
    await store.deletion.delete("s")
    assert await store.task_texts.get("t") is None
    assert (await rows(store, "SELECT count(*) FROM push_configs WHERE tenant = ?1", store.tenant)) == [(0,)]
    done = await store.undeletion.undelete("s")
    assert done.not_restored == ("push configurations of its tasks: 1",)
    assert await store.task_texts.get("t") == TaskText("a", "so far")
    assert [orphan.task.task_id for orphan in await store.tasks.orphans() if orphan.tenant == store.tenant] == ["t"]
    await store.deletion.delete("s")
    await store.archives.purge("s")
    assert (await rows(store, "SELECT count(*) FROM task_texts WHERE tenant = ?1", store.tenant)) == [(0,)]


async def test_an_archive_of_an_earlier_version_comes_back_with_what_it_kept(store: Store) -> None:
    await make_rich(store, "s")
    await store.keys.resolve("k", session_id="s")
    old = await store.leases.acquire("s", "w", 60_000)
    before = await seen(store, "s")
    gone = await store.deletion.delete("s")
    number = await number_of(store, "s")
    about = await store.archives.about("s")
    del about["kept"]
    await run(store, "UPDATE archives SET document = ?2 WHERE session_no = ?1", number, strict_json.dump(about))
    done = await store.undeletion.undelete("s")
    assert done.keys == ("k",)
    (told,) = done.not_restored
    assert told.startswith("push configurations of its tasks, if there were any")
    now = await seen(store, "s")
    assert now["keys"][0].created_at == before["keys"][0].created_at
    assert {**now, "keys": 0} == {**before, "keys": 0}
    assert (await store.leases.acquire("s", "w", 60_000)).fence > gone.deleted_at > old.fence
    await verified(store, "s")


@pytest.mark.own_store
@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM archived_events WHERE seq = 20",
        "DELETE FROM archived_events WHERE seq = 40",
        "UPDATE archived_events SET type = 'other' WHERE seq = 20",
        "UPDATE archived_events SET type = '' WHERE seq = 20",
        "UPDATE sessions SET head_hash = substr(head_hash, 1, 31)",
    ],
)
async def test_what_is_damaged_stays_an_archive(store: Store, damage: str) -> None:
    await store.append("s", numbered(*range(40)))
    number = (await store.deletion.delete("s")).session_no
    await run(store, damage)
    kept = await rows(store, "SELECT seq, type, hash FROM archived_events ORDER BY seq")
    with pytest.raises(Corrupt):
        await store.undeletion.undelete("s")
    assert await rows(store, "SELECT seq, type, hash FROM archived_events ORDER BY seq") == kept
    assert await rows(store, "SELECT life FROM sessions WHERE session_no = ?1", number) == [("gone",)]
    assert await rows(store, "SELECT 1 FROM returns") == []


async def test_a_task_that_is_anothers_by_now_keeps_it_deleted(store: Store) -> None:
    await store.tasks.begin("s", "t", "ctx", said("hi", "t"), owner="o")
    await store.append("s", numbered(*range(20)))
    await store.deletion.delete("s")
    await store.tasks.begin("other", "t", "ctx", said("hi", "t"), owner="o")
    with pytest.raises(Conflict, match="'other'"):
        await store.undeletion.undelete("s")
    await check_gone(store, "s", 22)
    await store.deletion.delete("other")
    await store.undeletion.undelete("s")
    await verified(store, "s")


async def test_an_undelete_whose_every_write_is_run_again_happens_once(store: Store) -> None:
    await make_rich(store, "s")
    await store.keys.resolve("k", session_id="s")
    before = await store.read("s")
    await store.deletion.delete("s")
    done = await replace(store.undeletion, workers=Twice(store.undeletion.workers)).undelete("s")
    assert (done.events, done.keys) == (len(before) + 2, ("k",))
    assert (await store.read("s"))[: len(before)] == before
    await verified(store, "s")


async def test_it_can_be_exported_imported_and_forked(store: Store, tmp_path: Path) -> None:
    await make_rich(store, "s")
    await store.keys.resolve("k", session_id="s")
    await store.append("s", numbered(*range(20)))
    await store.deletion.delete("s")
    await store.undeletion.undelete("s")
    log = await store.read("s")
    await store.exporting.archive(tmp_path / "one", ["s"])
    other = store.for_tenant(f"{store.tenant}-other")
    assert (await other.importing.archive(tmp_path / "one")).sessions == ["s"]
    assert await other.read("s") == log
    assert (await other.keys.get("k")).session_id == "s"
    await store.forks.fork("s", new_session_id="fork")
    assert (await store.read("fork"))[: len(log)] == log
    await verified(store, "s", "fork")
    await verified(other, "s")
