"""Whatever is done to a session, its rows follow from its events; a row that does not is named."""

import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
from tests.support.changes import assert_verified

from holdfast.core import TaskState
from holdfast.core.errors import HoldfastError
from holdfast.store import NewEvent, Store
from holdfast.store.engine import Tx

pytestmark = pytest.mark.own_store

Change = Callable[[Store, random.Random], Awaitable[Any]]

STATUSES = ("pending", "in_progress", "completed", "failed", "cancelled")


def some(chance: random.Random) -> Any:
    """A JSON value, now and then an odd one."""
    return chance.choice(
        [None, True, 0, 1, 1.5, -(2**60), "", "é\0\U0001f600", [], [1, [None]], {}, {"a": {"b": None}}]
    )


def name(chance: random.Random) -> str:
    return chance.choice(["a", "b", "c", "goal-002", "é"])


async def begin_turn(store: Store, chance: random.Random) -> None:
    begun = await store.tasks.begin(
        "s", f"task-{chance.random()}", "context", NewEvent("message", {"parts": []}), owner="me"
    )
    state = chance.choice([TaskState.WORKING, TaskState.COMPLETED])
    await store.tasks.update(begun.task, state, {"n": some(chance)}, messages=[NewEvent("message", {"parts": [1]})])


async def erase_one(store: Store, chance: random.Random) -> None:
    head = (await store.sessions.get("s")).head_seq
    await store.erasure.erase("s", [chance.randint(1, head)], reason="asked to")


async def attach(store: Store, chance: random.Random) -> None:
    kept = await store.attachments.put(chance.randbytes(chance.randint(1, 20)))
    await store.attachments.attach("s", kept.digest, name="a.txt", media_type="text/plain")


CHANGES: list[Change] = [
    lambda s, c: s.append("s", [NewEvent("note", some(c)) for _ in range(c.randint(1, 3))]),
    lambda s, c: s.sessions.create("s", user_id="ada", initial=some(c), metadata={"m": some(c)}, tags=[name(c)]),
    lambda s, c: s.sessions.patch_metadata("s", {name(c): some(c), "deep": {name(c): some(c)}}),
    lambda s, c: s.sessions.tag("s", add=[name(c), name(c)], remove=[name(c)]),
    lambda s, c: s.sessions.finalize("s", c.choice(["completed", "failed"]), outcome=some(c), response=some(c)),
    lambda s, c: s.sessions.hold("s", c.random() < 0.3, reason="case"),
    lambda s, c: s.state.patch("s", {name(c): some(c), "deep": {name(c): {"x": some(c)}}}),
    lambda s, c: s.goals.add("s", name(c), status=c.choice(STATUSES)),
    lambda s, c: s.goals.add("s", name(c), goal_id=name(c)),
    lambda s, c: s.goals.update("s", c.choice(["goal-001", name(c)]), {"status": c.choice(STATUSES)}),
    lambda s, c: s.agents.spawn("s", name(c), some(c), agent_id=name(c)),
    lambda s, c: s.agents.complete("s", name(c), c.choice(["completed", "failed"]), some(c)),
    lambda s, c: s.checkpoints.create("s", name(c)),
    lambda s, c: s.checkpoints.create("s", checkpoint_id=name(c), seq=1),
    lambda s, c: s.checkpoints.save_snapshot("s", some(c)),
    lambda s, c: s.checkpoints.compact("s", "sum", last_seq=1),
    lambda s, c: s.effects.start("s", name(c), name(c), some(c)),
    lambda s, c: s.effects.finish("s", name(c), c.choice(["finished", "failed"]), some(c), note="n"),
    lambda s, c: s.usage.record("s", name(c), input_tokens=c.randint(0, 99), output_tokens=1, cost_micros=3),
    lambda s, c: s.keys.resolve(name(c), session_id="s"),
    begin_turn,
    attach,
]


@pytest.mark.parametrize("erasing", [False, True], ids=["kept", "erased"])
async def test_after_any_sequence_of_changes_the_rows_follow_from_the_events(store: Store, erasing: bool) -> None:
    chance = random.Random(5)
    changes = [*CHANGES, *([erase_one] * 3 if erasing else [])]
    await store.append("s", [NewEvent("note", 0)])
    refused = 0
    for step in range(150):
        try:
            await chance.choice(changes)(store, chance)
        except HoldfastError as error:
            assert error.status in (404, 409), error
            refused += 1
        if step % 30 == 29:
            await assert_verified(store, "s")
    assert refused < 75, "hardly anything was done"
    await assert_verified(store, "s")


@pytest.mark.long(seconds=15)
async def test_after_many_sequences_of_changes_the_rows_follow_from_the_events(store: Store) -> None:
    for seed in range(12):
        chance = random.Random(seed)
        tenant = store.for_tenant(f"t{seed}")
        await tenant.append("s", [NewEvent("note", 0)])
        for _ in range(300):
            with suppress(HoldfastError):
                await chance.choice([*CHANGES, erase_one])(tenant, chance)
        await assert_verified(tenant, "s")


async def fill(store: Store) -> None:
    """A session with a row in every table."""
    await store.sessions.create("s", user_id="ada", tags=["red"], metadata={"a": 1})
    await store.state.patch("s", {"a": 1})
    await store.tasks.begin("s", "task", "context", NewEvent("message", {"parts": []}), owner="me")
    await store.goals.add("s", "g")
    await store.agents.spawn("s", "t", agent_id="a")
    await store.checkpoints.create("s", checkpoint_id="c")
    await store.checkpoints.save_snapshot("s", {})
    await store.effects.start("s", "call", "mail")
    await store.usage.record("s", "m", input_tokens=1, output_tokens=1)
    kept = await store.attachments.put(b"bytes")
    await store.attachments.attach("s", kept.digest, name="a.txt", media_type="text/plain")


DAMAGE = [
    ("goals", "SET status = 'completed'", "list of goals"),
    ("goals", "SET number = 7", "list of goals"),
    ("goals", "SET goal_id = 'other'", "list of goals"),
    ("goals", "SET document = X", "list of goals"),
    ("sub_agents", "SET status = 'failed'", "list of sub-agents"),
    ("sub_agents", "SET document = X", "list of sub-agents"),
    ("checkpoints", "SET status = 'compaction'", "list of checkpoints"),
    ("checkpoints", "SET checkpoint_id = 'other'", "list of checkpoints"),
    ("tool_effects", "SET status = 'finished'", "list of tool effects"),
    ("tool_effects", "SET document = X", "list of tool effects"),
    ("snapshots", "SET last_seq = last_seq - 1", "list of snapshots"),
    ("snapshots", "SET seq = seq - 1", "list of snapshots"),
    ("usage", "SET input_tokens = 2", "usage"),
    ("usage", "SET model = 'other'", "usage"),
    ("session_tags", "SET tag = 'blue'", "tags"),
    ("tasks", "SET state = 'completed'", "list of tasks"),
    ("tasks", "SET state = 'nonsense'", "list of tasks"),
    ("tasks", "SET document = X", "list of tasks"),
    ("session_state", "SET version = 2", "state"),
    ("session_state", "SET document = X", "state"),
    ("session_state", "SET document = {", "state"),
    ("attachment_uses", "SET digest = 'other'", "list of attachments"),
    ("sessions", "SET size_bytes = size_bytes + 1", "size"),
    ("sessions", "SET held = 1", "row"),
    ("sessions", "SET status = 'failed'", "row"),
    ("sessions", "SET user_id = 'bob'", "row"),
    ("sessions", "SET agent = 'other'", "row"),
    ("sessions", "SET document = X", "row"),
    ("sessions", "SET head_seq = head_seq - 1", "events after the log's end|head is not the hash"),
]
VALUES = {"X": (b'{"x":0}', b'{"a":1,"a":2}', b"\xff"), "{": (b'{"a":true}', b'{"a":1.0}')}
TABLES = sorted({table for table, _, _ in DAMAGE} - {"sessions"})


async def problem_after(store: Store, damage: Callable[[Tx], None]) -> str:
    """What verify says of a session with damaged rows; they are repaired afterwards."""
    keep = [f"CREATE TABLE kept_{table} AS SELECT * FROM {table}" for table in [*TABLES, "sessions"]]
    drop = [f"DROP TABLE kept_{table}" for table in [*TABLES, "sessions"]]

    def hurt(tx: Tx) -> None:
        for statement in keep:
            tx.run(statement)
        damage(tx)

    def heal(tx: Tx) -> None:
        for table in TABLES:
            tx.run(f"DELETE FROM {table}")
            tx.run(f"INSERT INTO {table} SELECT * FROM kept_{table}")
        columns = ("size_bytes", "held", "status", "user_id", "agent", "document", "head_seq")
        tx.run("UPDATE sessions SET " + ", ".join(f"{c} = (SELECT {c} FROM kept_sessions)" for c in columns))
        for statement in drop:
            tx.run(statement)

    await store.sessions.workers.write(hurt, ())
    problem = (await store.verification.session("s")).problem
    await store.sessions.workers.write(heal, ())
    await assert_verified(store, "s")
    return problem or "nothing"


async def test_a_row_that_does_not_follow_from_the_events_is_named(store: Store) -> None:
    await fill(store)
    await assert_verified(store, "s")
    for table, change, named in DAMAGE:
        for value in VALUES.get(change[-1], (b"",)):

            def damage(tx: Tx, table: str = table, change: str = change, value: bytes = value) -> None:
                if value:
                    tx.run(f"UPDATE {table} {change[:-1]} ?1", value)
                else:
                    tx.run(f"UPDATE {table} {change}")

            problem = await problem_after(store, damage)
            expected = [f"the session's {part}" if "events" not in part else part for part in named.split("|")]
            assert any(part in problem for part in expected), (table, change, value, problem)


async def test_a_row_that_is_missing_is_named(store: Store) -> None:
    await fill(store)
    for table in TABLES:

        def damage(tx: Tx, table: str = table) -> None:
            tx.run(f"DELETE FROM {table}")

        assert "not what its events say" in await problem_after(store, damage), table
