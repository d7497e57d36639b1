"""Events of a later Holdfast, with members that this one does not know: kept as they are, and ignored by the rows."""

from pathlib import Path

from tests.support.changes import assert_verified

from holdfast.core.event_bodies import EventBody, GoalAdded, SessionCreated, SessionFinalized, StateUpdated, ToolStarted
from holdfast.store import Store
from holdfast.store.log.append import append

LATER: list[tuple[type[EventBody], bytes]] = [
    (SessionCreated, b'{"mood" : "good", "agent":"helper","tags":["x"]}'),
    (StateUpdated, b'{"patch":{"n":1},"why":{"deep":[null]}}'),
    (GoalAdded, b'{"colour":"red","goalId":"g","description":"d","status":"pending","priority":"low"}'),
    (ToolStarted, b'{"callId":"c","tool":"t","digest":"' + b"0" * 64 + b'","cost":9007199254740993}'),
    (SessionFinalized, b'{"tokens":7,"status":"failed","outcome":null,"response":null}'),
]


async def test_they_survive_an_import_to_the_byte(store: Store, tmp_path: Path) -> None:
    drafts = [store.sessions.own_draft(body)._replace(payload=payload) for body, payload in LATER]
    await store.sessions.write("s", lambda tx: append(tx, store.tenant, "s", drafts))
    first = await store.read("s")
    await store.exporting.archive(tmp_path / "archive")

    there = store.for_tenant(f"{store.tenant}-there")
    await there.importing.archive(tmp_path / "archive")
    imported = await there.read("s")
    assert [event.payload for event in imported] == [payload for _, payload in LATER]
    assert [event.hash for event in imported] == [event.hash for event in first]
    await assert_verified(there, "s")

    session = await there.sessions.get("s")
    assert (session.agent, session.tags, session.metadata, session.status) == ("helper", ("x",), {}, "failed")
    assert session.final is not None
    assert session.final["tokens"] == 7, "an end that was imported from files may say more"
    assert (await there.state.get("s")).document == {"n": 1}
    assert [goal.goal_id for goal in await there.goals.list("s")] == ["g"]
    assert [effect.call_id for effect in await there.effects.unresolved("s")] == ["c"]

    fork = await there.forks.fork("s")
    copied = await there.read(fork.session_id, before=len(LATER) + 1)
    assert [event.payload for event in copied] == [payload for _, payload in LATER]
    await assert_verified(there, fork.session_id)
