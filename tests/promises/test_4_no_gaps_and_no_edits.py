"""Promise 4: the log has no gaps and no edits."""

import asyncio
import hashlib
import json

import apsw
import psycopg
import pytest

from holdfast.core.chain import GENESIS, seal
from holdfast.store import NewEvent, Store, StoreTuning, open_store


def change(url: str, sql: str) -> None:
    """Change the database behind the store's back."""
    if url.startswith("sqlite"):
        connection = apsw.Connection(url.removeprefix("sqlite:///"))
        connection.set_busy_timeout(10_000)
        connection.execute(sql)
        connection.close()
    else:
        with psycopg.connect(url, autocommit=True) as other:
            other.execute(sql.encode())


def test_the_hash_rule_is_the_documented_one() -> None:
    """Written out by hand from the rule, so that another program can follow it."""
    header = b'[1,"e1","greeting",null,1700000000000]'
    by_hand = hashlib.sha256(bytes(32) + header + hashlib.sha256(b'{"text":"h\xc3\xa9"}').digest()).digest()
    assert seal(GENESIS, 1, "e1", "greeting", None, 1_700_000_000_000, '{"text":"hé"}'.encode()) == by_hand
    assert by_hand.hex() == "512b505c881e022747969a4113256c721dfef82bb86cafec1b3434c24f8ad7a1"


async def test_every_event_seals_the_one_before(store: Store) -> None:
    await store.append("s", [NewEvent("t", {"n": n}) for n in range(3)])
    prev = bytes(32)
    for event in await store.read("s"):
        header = json.dumps(
            [event.seq, event.event_id, event.type, event.parent_id, event.created_at], separators=(",", ":")
        ).encode()
        prev = hashlib.sha256(prev + header + hashlib.sha256(event.payload).digest()).digest()
        assert event.hash == prev
    assert (await store.sessions.get("s")).head_hash == prev


EDITS = [
    ("UPDATE transcript_events SET payload = {blob} WHERE seq = 3", 3),
    ("UPDATE transcript_events SET created_at = created_at + 1 WHERE seq = 3", 3),
    ("UPDATE transcript_event_identities SET type = 'other' WHERE seq = 3", 3),
    ("UPDATE transcript_event_identities SET event_id = 'other' WHERE seq = 3", 3),
    ("UPDATE transcript_event_identities SET parent_id = 'other' WHERE seq = 3", 3),
    ("DELETE FROM transcript_events WHERE seq = 3", 3),
    ("DELETE FROM transcript_events WHERE seq = 5", 5),
    ("DELETE FROM transcript_event_identities WHERE seq = 3", 3),
    ("UPDATE sessions SET head_seq = 4", 4),
    ("UPDATE sessions SET head_seq = 6", 6),
]


@pytest.mark.parametrize(("edit", "bad_seq"), EDITS, ids=[edit for edit, _ in EDITS])
async def test_verify_names_the_first_event_that_was_edited_or_removed(store_url: str, edit: str, bad_seq: int) -> None:
    async with await open_store(store_url) as store:
        await store.append("s", [NewEvent("t", {"n": n}) for n in range(5)])
        assert (await store.verification.session("s")).problem is None
        blob = "x'7B7D'" if store_url.startswith("sqlite") else "'\\x7b7d'::bytea"
        change(store_url, edit.format(blob=blob))
        verified = await store.verification.session("s")
        assert verified.problem is not None
        assert verified.bad_seq == bad_seq


async def test_an_identity_without_an_event_is_found(store_url: str) -> None:
    async with await open_store(store_url) as store:
        await store.append("s", [NewEvent("t", 1)])
        assert await store.verification.files() == []
        change(
            store_url,
            "INSERT INTO transcript_event_identities (session_no, seq, event_id, type)"
            " SELECT session_no, 7, 'stray', 't' FROM sessions",
        )
        assert await store.verification.files() == ["session s has an identity for event 7, which is not there"]


async def test_identities_are_looked_through_a_page_at_a_time(store_url: str) -> None:
    """One read over all of a large store would be ended after 5 s, and be taken for damage."""
    async with await open_store(store_url, tuning=StoreTuning(identities_page=7)) as store:
        for name in ("a", "b", "c"):
            await store.append(name, [NewEvent("t", n, event_id=f"{n:02d}") for n in range(10)])
        assert await store.verification.files() == []
        change(store_url, "DELETE FROM transcript_events WHERE event_id IN ('00', '05', '09')")
        found = await store.verification.files()
        assert sorted(found) == [
            f"session {name} has an identity for event {seq}, which is not there"
            for name in ("a", "b", "c")
            for seq in (1, 10, 6)
        ]


async def test_an_exchanged_tail_does_not_pass_for_the_original(store_url: str) -> None:
    """Whoever rewrites the whole chain still cannot keep the head hash that was noted elsewhere."""
    async with await open_store(store_url) as store:
        await store.append("s", [NewEvent("t", 1), NewEvent("t", 2)])
        noted = (await store.verification.session("s")).head_hash
        await store.append("s", [NewEvent("t", 3)])
        events = await store.read("s")
        assert events[1].hash.hex() == noted


PROJECTIONS = [
    "UPDATE session_state SET version = 7",
    "UPDATE session_state SET document = {blob}",
    "DELETE FROM session_state",
    "UPDATE sessions SET user_id = 'mallory'",
    "UPDATE tasks SET state = 'completed'",
    "DELETE FROM tasks",
]


@pytest.mark.parametrize("edit", PROJECTIONS)
async def test_verify_derives_the_rows_beside_the_log_again(store_url: str, edit: str) -> None:
    async with await open_store(store_url) as store:
        await store.sessions.create("s", user_id="u")
        await store.state.patch("s", {"a": 1})
        await store.tasks.begin("s", "t", "c", NewEvent("message", {"taskId": "t"}), owner="me")
        assert (await store.verification.session("s")).problem is None
        blob = "x'7B7D'" if store_url.startswith("sqlite") else "'\\x7b7d'::bytea"
        change(store_url, edit.format(blob=blob))
        assert (await store.verification.session("s")).problem is not None


async def test_verify_catches_up_with_a_session_that_is_being_written(store: Store) -> None:
    await store.append("s", [NewEvent("t", n) for n in range(100)])
    verifying = asyncio.create_task(store.verification.session("s"))
    for n in range(50):
        await store.state.patch("s", {"n": n})
    verified = await verifying
    assert verified.problem is None
    assert (await store.verification.session("s")).events == 150
