"""What verification sees when somebody changes a store by hand; and what it cannot see, named one by one."""

import hashlib
from pathlib import Path

import pytest
from tests.contract.test_retries_contract import WRITES
from tests.support.changes import assert_verified
from tests.support.material import numbered
from tests.support.steps import rows, run

from holdfast.core.event_bodies import EventsErased
from holdfast.store import NewEvent, Store
from holdfast.store.backup.backup import back_up
from holdfast.store.log.append import append

pytestmark = pytest.mark.own_store

SESSION = "(SELECT session_no FROM sessions WHERE session_id = 's')"


async def problem(store: Store, session_id: str = "s") -> str:
    return (await store.verification.session(session_id)).problem or ""


async def forge(store: Store, seq: int) -> None:
    """Take an event's bytes away as an erasure would, without its event."""
    payload = (await store.read("s"))[seq - 1].payload
    erase = f"UPDATE transcript_events SET payload = ?1, erased = ?2 WHERE seq = {seq} AND session_no = {SESSION}"
    await run(store, erase, b"", hashlib.sha256(payload).digest())
    await run(store, f"UPDATE sessions SET size_bytes = size_bytes - {len(payload)} WHERE session_id = 's'")


async def test_bytes_that_go_without_an_erasure_are_seen(store: Store) -> None:
    await store.append("s", numbered(1, 2, 3))
    await forge(store, 2)
    found = await store.verification.session("s")
    assert (found.problem or "", found.bad_seq) == ("event 2 was erased, and no event says so", 2)
    await store.erasure.erase("s", [3], reason="lawful")
    assert "event 2 was erased" in await problem(store)


async def test_erasures_of_every_kind_are_lawful(store: Store) -> None:
    """Of erasures too, of forks from before and after, and of what is deleted and comes back."""
    await store.append("s", numbered(*range(1, 8)))
    await store.forks.fork("s", new_session_id="before")
    await store.erasure.erase("s", [2, 3], reason="first", everywhere=True)
    await store.erasure.erase("s", [4], reason="second")
    await store.erasure.erase("s", [8], reason="the reason of the first said too much")
    await store.forks.fork("s", new_session_id="after")
    await store.forks.fork("s", at=5, new_session_id="short")
    await store.append("short", numbered(9))
    await store.erasure.erase("short", [6, 7], reason="of the fork's own")
    await assert_verified(store, "s", "before", "after", "short")
    await forge(store, 1)
    assert await problem(store) == "event 1 was erased, and no event says so"


KEYS = {
    "changed": "UPDATE transcript_event_identities SET idempotency_key = 'x' WHERE idempotency_key = 'k2'",
    "added": "UPDATE transcript_event_identities SET idempotency_key = 'x' WHERE event_id = 'plain'",
    "removed": "UPDATE transcript_event_identities SET idempotency_key = NULL WHERE idempotency_key = 'k3'",
    "moved": """
        UPDATE transcript_event_identities
        SET idempotency_key = CASE WHEN event_id = 'plain' THEN 'k3' END WHERE event_id IN ('plain', 'last')""",
}


@pytest.mark.parametrize("how", KEYS)
async def test_a_changed_key_is_seen(store: Store, how: str) -> None:
    for number in (1, 2):
        await store.append("s", [NewEvent("note", {}, idempotency_key=f"k{number}")])
    await store.append("s", [NewEvent("note", {}, event_id="plain")])
    await store.append("s", [NewEvent("a", {}), NewEvent("note", {}, event_id="last", idempotency_key="k3")])
    await store.append("other", [NewEvent("note", {}, idempotency_key="k2")])
    await assert_verified(store, "s", "other")
    await run(store, f"{KEYS[how]} AND session_no = {SESSION}")
    assert "idempotency keys" in await problem(store)
    await store.append("s", [NewEvent("note", {}, idempotency_key="k4")])
    assert "idempotency keys" in await problem(store), "later keys must not hide it"
    await assert_verified(store, "other")


async def test_keys_are_sealed_in_forks_from_the_fork_on_and_in_whole_by_every_write(store: Store) -> None:
    await store.state.patch("s", {"a": 1}, idempotency_key="state")
    for write in WRITES.values():
        await write(store)
        await assert_verified(store, "s")
    await store.forks.fork("s", new_session_id="t")
    await store.append("t", [NewEvent("note", {}, idempotency_key="after")])
    await assert_verified(store, "s", "t")
    await run(store, "UPDATE transcript_event_identities SET idempotency_key = 'x' WHERE idempotency_key = 'after'")
    assert "idempotency keys" in await problem(store, "t")


async def test_what_an_earlier_version_appends_beside_this_one_is_not_taken_for_damage(store: Store) -> None:
    """It does not know of the seal, and leaves it as it was."""
    await store.append("s", [NewEvent("note", {}, idempotency_key="k1")])
    seal = (await rows(store, "SELECT key_seal FROM sessions"))[0][0]
    await store.append("s", [NewEvent("note", {}, idempotency_key="k2")])
    await run(store, "UPDATE sessions SET key_seal = ?1", seal)
    await assert_verified(store, "s")
    await store.append("s", [NewEvent("note", {}, idempotency_key="k3")])
    await assert_verified(store, "s")
    await run(store, "UPDATE transcript_event_identities SET idempotency_key = 'x' WHERE idempotency_key = 'k3'")
    assert "idempotency keys" in await problem(store)


@pytest.mark.parametrize("table", ["session_tags", "tasks", "attachment_uses"])
async def test_rows_that_went_to_another_tenant_are_seen(store: Store, table: str) -> None:
    for write in WRITES.values():
        await write(store)
    await run(store, f"UPDATE {table} SET tenant = 'other'")
    assert "another tenant's" in await problem(store)


async def test_sessions_of_an_earlier_version_are_sealed_from_their_next_event_on(store: Store) -> None:
    await store.append("s", [NewEvent("note", {}, idempotency_key="old")])
    await run(store, "UPDATE sessions SET key_seal = NULL")
    await assert_verified(store, "s")
    await store.append("s", [NewEvent("note", {}, idempotency_key="new")])
    await assert_verified(store, "s")
    await run(store, "UPDATE transcript_event_identities SET idempotency_key = 'x' WHERE idempotency_key = 'new'")
    assert "idempotency keys" in await problem(store)


async def test_the_keys_and_erasures_of_an_import_are_those_of_its_archive(store: Store, tmp_path: Path) -> None:
    await store.append("s", [NewEvent("note", {}, idempotency_key="k1"), *numbered(2, 3)])
    await store.erasure.erase("s", [2], reason="they asked")
    await store.exporting.archive(tmp_path / "archive")
    there = store.for_tenant("there")
    await there.importing.archive(tmp_path / "archive")
    await assert_verified(there, "s")
    await there.append("s", [NewEvent("note", {}, idempotency_key="k2")])
    await assert_verified(there, "s")
    await run(store, "UPDATE transcript_event_identities SET idempotency_key = 'x' WHERE idempotency_key = 'k1'")
    assert "idempotency keys" in await problem(there)


async def test_an_erasure_that_says_nothing_is_damage_and_not_a_defect(store: Store, tmp_path: Path) -> None:
    """As an earlier version could import it: the session is named, and all others are backed up beside it."""
    await store.append("other", numbered(1))
    await store.append("s", numbered(1))
    draft = store.sessions.own_draft(EventsErased)
    event = draft._replace(payload=b'{"reason":7}')
    await store.sessions.write("s", lambda tx: append(tx, store.tenant, "s", [event]))
    assert await problem(store) == "event 2 does not say which events were erased"
    backed_up = await back_up(store, tmp_path / "backup")
    assert [damaged.session_id for damaged in backed_up.damaged] == ["s"]
    await store.erasure.erase("s", [2], reason="it said nothing")
    await assert_verified(store, "s", "other")
