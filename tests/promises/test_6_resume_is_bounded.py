"""Promise 6: resume is bounded. What it reads is counted; how long that takes is measured in `bench/`."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.support.read_costs import cost_of, steps_of

from holdfast.core import Resumed
from holdfast.core.errors import InvalidInput
from holdfast.store import NewEvent, Store, open_store
from holdfast.store.engine import Tx
from holdfast.store.sessions.resume import resume

SHORT, LONG = 1_000, 20_000


async def make(store: Store, session_id: str, events: int) -> None:
    """A session that has been used for so long: its log, and what was begun and ended in it."""
    for start in range(0, events, 1_000):
        batch = [NewEvent("note", {"text": f"{n:08}" * 4}) for n in range(start, start + 1_000)]
        await store.append(session_id, batch)
    ended = events // 100
    await asyncio.gather(*(store.goals.add(session_id, "ended", status="completed") for _ in range(ended)))
    for number in range(0, ended, 4):
        await store.agents.spawn(session_id, "writer", agent_id=f"a{number}")
        await store.agents.complete(session_id, f"a{number}")
        await store.effects.start(session_id, f"c{number}", "mail")
        await store.effects.finish(session_id, f"c{number}")
    await store.goals.add(session_id, "open", goal_id="open")
    await store.agents.spawn(session_id, "writer", agent_id="at work")
    await store.effects.start(session_id, "open", "mail")
    await store.state.patch(session_id, {"phase": "execution"})


async def snapshot(store: Store, session_id: str) -> None:
    """Let a summary stand for everything, then go on a little."""
    head = (await store.sessions.get(session_id)).head_seq
    await store.checkpoints.compact(session_id, "what happened", last_seq=head)
    await store.append(session_id, [NewEvent("note", {"text": "since"}) for _ in range(10)])


def resuming(session_id: str) -> Any:
    def read(tx: Tx) -> Any:
        return resume(tx, "default", session_id)

    return read


async def test_a_long_session_is_resumed_with_as_much_reading_as_a_short_one(store_url: str) -> None:
    async with await open_store(store_url) as store:
        for session_id, events in (("short", SHORT), ("long", LONG)):
            await make(store, session_id, events)
        for summed_up in (False, True):
            costs = {}
            steps = {}
            for session_id in ("short", "long"):
                if summed_up:
                    await snapshot(store, session_id)
                statements, rows, size = await cost_of(store, resuming(session_id))
                costs[session_id] = (statements, rows)
                assert rows < 250
                assert size < 100_000
                if store_url.startswith("sqlite"):
                    steps[session_id] = steps_of(Path(store_url.removeprefix("sqlite:///")), resuming(session_id))
            assert costs["long"] == costs["short"], "a longer session is read further"
            assert not steps or steps["long"] < 1.1 * steps["short"], f"a longer session is looked at further: {steps}"


async def test_with_a_summary_the_tail_is_all_and_without_one_it_is_the_newest(store: Store) -> None:
    await make(store, "s", SHORT)
    head = (await store.sessions.get("s")).head_seq
    before = await store.resume("s")
    assert (before.snapshot, before.complete, len(before.events)) == (None, False, 200)
    assert before.events[-1].seq == head
    await snapshot(store, "s")
    after = await store.resume("s")
    assert after.snapshot is not None
    assert (after.snapshot.document, after.complete) == ("what happened", True)
    assert [event.seq for event in after.events] == list(range(head + 1, head + 13))
    assert ([goal.goal_id for goal in after.goals], [agent.agent_id for agent in after.agents]) == (
        ["open"],
        ["at work"],
    )
    assert [effect.call_id for effect in after.effects] == ["open"]
    assert after.state.document == {"phase": "execution"}


async def test_nobody_can_ask_for_more_than_is_bounded(store: Store) -> None:
    await store.append("s", [NewEvent("note", n) for n in range(3_000)])
    assert len((await store.resume("s", limit=2_000)).events) == 2_000
    for limit in (0, 2_001, -1):
        with pytest.raises(InvalidInput):
            await store.resume("s", limit=limit)


async def test_it_is_one_moment(store: Store) -> None:
    """While others write, what a resume says of the log, the state and the goals is from the same moment."""

    async def write() -> None:
        for number in range(60):
            await store.goals.add("s", "g")
            await store.state.patch("s", {"n": number})

    await store.append("s", [NewEvent("note", 0)])
    writer = asyncio.create_task(write())
    while not writer.done():
        resumed = await store.resume("s", limit=2_000)
        kinds = [event.type for event in resumed.events]
        assert len(resumed.goals) == kinds.count("holdfast.goal_added")
        assert resumed.state.version == kinds.count("holdfast.state_updated")
        assert resumed.session.head_seq == len(kinds)
    await writer


async def test_what_is_open_is_bounded_and_how_much_more_there_is_is_said(store: Store) -> None:
    """By number and by bytes; what is done does not count."""

    async def resumed(**bounds: int) -> Resumed:
        return await store.sessions.workers.read(lambda tx: resume(tx, store.tenant, "s", **bounds))

    for number in range(6):
        await store.goals.add("s", f"goal {number}", goal_id=f"g{number}")
        await store.agents.spawn("s", "helper", {}, agent_id=f"a{number}")
        await store.effects.start("s", f"c{number}", "tool", {"n": number})
    await store.goals.update("s", "g5", {"status": "completed"})
    await store.goals.update("s", "g4", {"status": "in_progress"})
    await store.agents.complete("s", "a5")
    found = await resumed(most_open=3)
    assert ([goal.goal_id for goal in found.goals], found.goals_omitted) == (["g2", "g3", "g4"], 2)
    assert ([agent.agent_id for agent in found.agents], found.agents_omitted) == (["a2", "a3", "a4"], 2)
    assert ([effect.call_id for effect in found.effects], found.effects_omitted) == (["c3", "c4", "c5"], 3)
    found = await store.resume("s")
    assert (len(found.goals), found.goals_omitted, found.agents_omitted, found.effects_omitted) == (5, 0, 0, 0)
    found = await resumed(most_open_bytes=200)
    assert 0 < len(found.goals) < 5 == len(found.goals) + found.goals_omitted
