"""A store of the first schema is brought up to the newest, with everything in it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest
from tests.support.changes import assert_verified

from holdfast.core import TaskState, strict_json
from holdfast.core.chain import GENESIS, seal
from holdfast.core.errors import SchemaUnknown
from holdfast.store import Filter, NewEvent, open_store
from holdfast.store.migrations import newest, scripts
from holdfast.store.sql_script import statements
from holdfast.store.sqlite.backup import APPLICATION_ID

Run = Callable[..., list[Any]]

AT = 1_700_000_000_000
STORE_ID = "00000000000000000000000001"


@contextmanager
def database(url: str) -> Iterator[Run]:
    """Run SQL with `?` placeholders in one transaction, without any of the store's code."""
    if url.startswith("sqlite"):
        path = Path(url.removeprefix("sqlite:///"))
        path.parent.mkdir(exist_ok=True)
        connection = apsw.Connection(str(path))
        with connection:
            yield lambda sql, *args: connection.execute(sql, args).fetchall()
        connection.close()
        return
    with psycopg.connect(url) as other:

        def run(sql: str, *args: Any) -> list[Any]:
            cursor = other.execute(sql.replace("?", "%s").encode(), args or None)
            return cursor.fetchall() if cursor.description else []

        yield run


def engine_of(url: str) -> str:
    return "sqlite" if url.startswith("sqlite") else "postgres"


@dataclass
class Log:
    """One session's log, written as the first schema had it."""

    run: Run
    session_no: int
    seq: int = 0
    hash: bytes = GENESIS

    def add(self, type: str, value: Any, key: str | None = None) -> None:
        self.seq += 1
        payload, event_id = strict_json.dump(value), f"e{self.session_no}-{self.seq}"
        self.hash = seal(self.hash, self.seq, event_id, type, None, AT + self.seq, payload)
        self.run(
            "INSERT INTO transcript_events (session_no, seq, created_at, event_id, hash, payload)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            *(self.session_no, self.seq, AT + self.seq, event_id, self.hash, payload),
        )
        self.run(
            "INSERT INTO transcript_event_identities (session_no, seq, event_id, type, parent_id, idempotency_key)"
            " VALUES (?, ?, ?, ?, NULL, ?)",
            *(self.session_no, self.seq, event_id, type, key),
        )


def add_session(
    run: Run, tenant: str, session_id: str, events: Sequence[tuple[str, Any, str | None]], **row: Any
) -> Log:
    """A session with its log."""
    document = strict_json.dump(row.get("document", {}))
    values = (tenant, session_id, row.get("agent", "main"), row.get("user_id"), AT, AT, 0, GENESIS, document)
    run(
        "INSERT INTO sessions"
        " (tenant, session_id, agent, user_id, status, created_at, updated_at, head_seq, head_hash, document)"
        " VALUES (?, ?, ?, ?, 'active', ?, ?, ?, ?, ?)",
        *values,
    )
    ((session_no,),) = run("SELECT session_no FROM sessions WHERE tenant = ? AND session_id = ?", tenant, session_id)
    log = Log(run, session_no)
    for event in events:
        log.add(*event)
    run(
        "UPDATE sessions SET head_seq = ?, head_hash = ?, updated_at = ? WHERE session_no = ?",
        *(log.seq, log.hash, AT + log.seq, session_no),
    )
    return log


CREATED = {
    "agent": "researcher",
    "userId": "ada",
    "initial": {},
    "metadata": {"nul": "\0"},
    "tags": ["red", 'q"\\'],
    "parentSession": None,
}


def make_first_store(url: str) -> None:
    """What the first Holdfast would have left behind."""
    engine = engine_of(url)
    number, script = scripts(engine)[0]
    assert number == 1
    with database(url) as run:
        for statement in statements(script, engine):
            run(statement)
        for key, value in (("version", "1"), ("store_id", STORE_ID)):
            run("INSERT INTO schema_meta (key, value) VALUES (?, ?)", key, value)
        if engine == "sqlite":
            run(f"PRAGMA application_id = {APPLICATION_ID}")
            run("PRAGMA user_version = 1")
        described = {name: CREATED[name] for name in ("metadata", "tags")}
        created = ("holdfast.session_created", CREATED, "holdfast.session_created")
        notes = [("note", {"text": "ünïcode", "n": n}, f"k{n}") for n in range(3)]
        facts = {"agent": "researcher", "user_id": "ada", "document": described}
        one = add_session(run, "default", "described", [created, *notes], **facts)
        state = [("holdfast.state_updated", {"patch": {"n": n, "deep": {f"m{n}": [n]}}}, None) for n in (1, 2)]
        two = add_session(run, "default", "with-state", state)
        document = strict_json.dump({"n": 2, "deep": {"m1": [1], "m2": [2]}})
        run("INSERT INTO session_state VALUES (?, ?, ?, ?)", two.session_no, 2, document, AT + 2)
        turn = [
            ("message", {"role": "user", "taskId": "t1", "parts": [{"text": "hello"}]}, "m1"),
            ("holdfast.task_updated", {"taskId": "t1", "contextId": "c", "state": "submitted", "changes": {}}, None),
            (
                "holdfast.task_updated",
                {"taskId": "t1", "contextId": "c", "state": "completed", "changes": {"n": 1}},
                None,
            ),
        ]
        three = add_session(run, "default", "turns", turn)
        run(
            "INSERT INTO tasks (tenant, task_id, session_no, context_id, state, owner, document, version, created_at,"
            " updated_at) VALUES ('default', 't1', ?, 'c', 'completed', 'me', ?, 2, ?, ?)",
            *(three.session_no, b'{"n":1}', AT + 2, AT + 3),
        )
        for key, log in (("key-1", one), ("key-3", three)):
            values = ("default", key, log.session_no)
            run("INSERT INTO session_entries VALUES (?, ?, ?, ?, ?, ?)", *values, b"{}", AT, AT)
            run("INSERT INTO session_routes VALUES (?, ?, ?, ?, NULL)", *values, AT)
        run("INSERT INTO leases VALUES (?, 7, 'me', ?)", one.session_no, AT)
        add_session(run, "default", "empty", [])
        add_session(run, "other", "described", [("note", 1, None)])


def contents(url: str) -> dict[str, list[Any]]:
    """Every row of every table that is the store's own."""
    tables = {
        "sqlite": "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND sql NOT LIKE"
        " '%VIRTUAL%' AND name NOT LIKE '%\\_text\\_%' ESCAPE '\\'",
        "postgres": "SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = current_schema()",
    }[engine_of(url)]
    with database(url) as run:
        return {
            name: sorted(run(f"SELECT * FROM {name}"), key=repr)
            for (name,) in run(tables)
            if name not in {"search_progress", "event_days"}  # a chore's own
        }


async def test_a_store_of_the_first_schema_is_brought_up_to_date_with_everything_in_it(empty_url: str) -> None:
    make_first_store(empty_url)
    with pytest.raises(SchemaUnknown):
        await open_store(empty_url, read_only=True)
    async with await open_store(empty_url) as store:
        assert store.store_id == STORE_ID, "cursors that were given out before no longer fit"
        described = await store.sessions.get("described")
        assert (described.user_id, described.agent, described.status) == ("ada", "researcher", "active")
        assert (described.tags, described.metadata) == (("red", 'q"\\'), {"nul": "\0"})
        assert (described.initial, described.held, described.lineage) == ({}, False, {})
        for name in ("described", "with-state", "turns", "empty"):
            events = await store.read(name)
            assert (await store.sessions.get(name)).size_bytes == sum(len(event.payload) for event in events)
        for tag in ("red", 'q"\\'):
            found = await store.sessions.list(Filter(tag=tag))
            assert [session.session_id for session in found.sessions] == ["described"]
        state = await store.state.get("with-state")
        assert (state.version, state.document) == (2, {"n": 2, "deep": {"m1": [1], "m2": [2]}})
        task = await store.tasks.get("t1")
        assert (task.state, task.document, task.version) == (TaskState.COMPLETED, {"n": 1}, 2)
        assert (await store.keys.get("key-1")).session_id == "described"
        assert [route.session_id for route in await store.keys.routes("key-3")] == ["turns"]
        assert [session.session_id for session in (await store.sessions.list()).sessions] == [
            "empty",
            "turns",
            "with-state",
            "described",
        ]
        assert [found.seq for found in (await store.search.find("ünïcode")).hits] == [4, 3, 2]
        await assert_verified(store, "described", "with-state", "turns", "empty")
        await assert_verified(store.for_tenant("other"), "described")
        assert await store.verification.files() == []
    with database(empty_url) as run:
        assert run("SELECT value FROM schema_meta WHERE key = 'version'") == [(str(newest(engine_of(empty_url))),)]


async def test_opening_it_again_changes_nothing(empty_url: str) -> None:
    make_first_store(empty_url)
    async with await open_store(empty_url) as store:
        await store.search.find("anything")  # brings the index up to date, which is a chore otherwise
    before = contents(empty_url)
    async with await open_store(empty_url) as store:
        assert (await store.sessions.get("described")).tags == ("red", 'q"\\')
    assert contents(empty_url) == before
    async with await open_store(empty_url, read_only=True) as store:
        await assert_verified(store, "described")


async def test_a_store_that_was_brought_up_to_date_goes_on(empty_url: str) -> None:
    make_first_store(empty_url)
    async with await open_store(empty_url) as store:
        again = await store.append("described", [NewEvent("note", {"text": "ünïcode", "n": 1}, idempotency_key="k1")])
        assert (again.seqs, again.replayed) == ((3,), 1)
        created: dict[str, Any] = {"agent": "researcher", "user_id": "ada", "initial": {}}
        made = await store.sessions.create("described", metadata={"nul": "\0"}, tags=["red", 'q"\\'], **created)
        assert not made.new
        assert (await store.leases.acquire("described", "me too", 60_000)).fence == 8
        await store.sessions.tag("described", remove=["red"])
        await store.goals.add("described", "go on")
        await store.state.patch("with-state", {"n": 3})
        await store.keys.reset("key-3")
        await assert_verified(store, "described", "with-state", "turns")
