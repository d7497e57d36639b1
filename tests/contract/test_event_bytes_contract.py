"""The bytes of Holdfast's own events: which members, in which order, and what is left out.

They are hashed into the log, compared by retries and read by other programs, so none may change by accident.
"""

import hashlib
import json
from pathlib import Path

from holdfast.core import NewEvent, SystemClock, TaskState, TimeOrderedIds, types
from holdfast.store import Store
from holdfast.store.portable import read_log
from holdfast.store.sessions.children import AgentPatch, ChildrenPatch, GoalPatch

MAIL = hashlib.sha256(b'{"to": "ada"}').hexdigest()


async def own_events(store: Store, session_id: str, after: int = 0) -> list[tuple[str, str]]:
    """The short types and the payloads of the store's own events of a session."""
    events = await store.read(session_id, after=after)
    return [
        (event.type.removeprefix(types.PREFIX), event.payload.decode())
        for event in events
        if event.type.startswith(types.PREFIX)
    ]


async def test_a_session_as_it_is_described(store: Store) -> None:
    await store.sessions.create("bare")
    assert await own_events(store, "bare") == [
        (
            "session_created",
            '{"agent":"main","userId":null,"initial":null,"metadata":{},"tags":[],"parentSession":null}',
        )
    ]
    described = {"user_id": "ada", "agent": "helper", "parent_session": "bare"}
    await store.sessions.create("s", initial={"b": 1, "a": None}, metadata={"m": 1.0}, tags=["x", "y"], **described)
    await store.sessions.patch_metadata("s", {"m": None, "n": {"é": "\n"}})
    await store.sessions.tag("s", add=["z"], remove=["x"])
    await store.sessions.hold("s", True, reason="case 1")
    await store.sessions.hold("s", False)
    await store.sessions.finalize("s")
    await store.sessions.finalize("s", "failed", outcome={"why": "tired"}, response="bye")
    assert await own_events(store, "s") == [
        (
            "session_created",
            '{"agent":"helper","userId":"ada","initial":{"b":1,"a":null},"metadata":{"m":1.0},"tags":["x","y"],'
            '"parentSession":"bare"}',
        ),
        ("metadata_updated", '{"patch":{"m":null,"n":{"é":"\\n"}}}'),
        ("tags_updated", '{"add":["z"],"remove":["x"]}'),
        ("hold_changed", '{"held":true,"reason":"case 1"}'),
        ("hold_changed", '{"held":false,"reason":""}'),
        ("session_finalized", '{"status":"completed","outcome":null,"response":null}'),
        ("session_finalized", '{"status":"failed","outcome":{"why":"tired"},"response":"bye"}'),
    ]


async def test_a_session_that_takes_its_agent_from_before(store: Store) -> None:
    await store.keys.open("key", agent="helper")
    session_id = (await store.keys.get("key")).session_id
    await store.sessions.create(session_id, user_id="ada")
    assert await own_events(store, session_id) == [
        ("session_created", '{"agent":"helper"}'),
        (
            "session_created",
            '{"agent":"helper","userId":"ada","initial":null,"metadata":{},"tags":[],"parentSession":null}',
        ),
    ]


async def test_keys_that_move_on(store: Store) -> None:
    await store.keys.resolve("key", session_id="one")
    await store.keys.reset("key", new_session_id="two")
    assert await own_events(store, "one") == [
        ("session_reset", '{"nextSession":"two","keys":["key"],"reason":"reset"}')
    ]
    assert await own_events(store, "two") == [
        ("session_created", '{"agent":"main","userId":null,"previousSession":"one"}')
    ]
    await store.deletion.delete("two", reason="not needed")
    await store.keys.reset("key", new_session_id="three")
    assert await own_events(store, "three") == [("session_created", '{"agent":"main","previousSession":"two"}')]


async def test_forks_and_restores(store: Store) -> None:
    await store.append("s", [NewEvent("note", 1)])
    (note,) = await store.read("s")
    await store.keys.resolve("key", session_id="s")
    point = await store.checkpoints.create("s", "before", checkpoint_id="c1")
    await store.forks.restore("s", point.checkpoint_id, new_session_id="again")
    forked = f'{{"sessionId":"s","seq":1,"hash":"{note.hash.hex()}"}}'
    assert await own_events(store, "again") == [("session_forked", forked)]
    assert await own_events(store, "s") == [
        ("checkpoint_created", '{"checkpointId":"c1","name":"before","seq":1,"reason":"manual"}'),
        ("session_reset", '{"nextSession":"again","keys":["key"],"reason":"restore"}'),
    ]


async def test_a_deletion_says_why_in_the_feed(store: Store) -> None:
    await store.append("s", [NewEvent("note", 1)])
    start = await store.feed.now()
    await store.deletion.delete("s", reason="not needed")
    async for envelope in store.feed.everything(start):
        assert (envelope.event.type, envelope.event.payload) == (types.SESSION_DELETED, b'{"reason":"not needed"}')
        break


async def test_an_undelete_says_which_keys_came_back(store: Store) -> None:
    await store.append("s", [NewEvent("note", 1)])
    for key in ("mine", "used again"):
        await store.keys.resolve(key, session_id="s")
    await store.deletion.delete("s")
    await store.keys.resolve("used again")
    await store.undeletion.undelete("s")
    await store.deletion.delete("s", reason="again")
    await store.undeletion.undelete("s")
    assert await own_events(store, "s") == [
        ("session_deleted", '{"reason":""}'),
        ("session_restored", '{"keys":["mine"],"keysTaken":["used again"]}'),
        ("session_deleted", '{"reason":"again"}'),
        ("session_restored", '{"keys":["mine"]}'),
    ]


async def test_state_and_the_children_that_come_with_it(store: Store) -> None:
    await store.state.patch("s", {"b": None, "a": {"x": 1e3}})
    goals = [
        GoalPatch("g1", {"priority": "low", "description": "one"}),
        GoalPatch("g2", {"description": "two", "status": "completed"}, created_at=1, completed_at=2),
        GoalPatch("g1", {"status": "in_progress"}),
    ]
    agents = [AgentPatch("a1", {"result": [1], "type": "searcher", "status": "completed"})]
    await store.state.patch("s", {}, children=ChildrenPatch(goals, agents, "0" * 64))
    assert await own_events(store, "s") == [
        ("state_updated", '{"patch":{"b":null,"a":{"x":1000.0}}}'),
        ("state_updated", f'{{"patch":{{}},"children":"{"0" * 64}"}}'),
        ("goal_added", '{"goalId":"g1","description":"one","status":"pending","priority":"low"}'),
        ("goal_added", '{"goalId":"g2","description":"two","status":"pending","priority":"medium"}'),
        ("goal_updated", '{"goalId":"g2","changes":{"status":"completed"}}'),
        ("goal_updated", '{"goalId":"g1","changes":{"status":"in_progress"}}'),
        ("agent_spawned", '{"agentId":"a1","type":"searcher","task":null}'),
        ("agent_completed", '{"agentId":"a1","status":"completed","result":[1]}'),
    ]


async def test_goals_and_sub_agents(store: Store) -> None:
    await store.goals.add("s", "one", goal_id="g1", priority="high")
    await store.goals.add("s", "one", goal_id="g1", idempotency_key="k")
    await store.goals.update("s", "g1", {"status": "failed"})
    await store.goals.update("s", "g1", {"priority": "low", "status": "pending", "description": "1"})
    await store.goals.add("s", "two", goal_id="g2", status="completed", created_at=1, completed_at=2)
    await store.agents.spawn("s", "searcher", agent_id="a1")
    await store.agents.complete("s", "a1", "failed", {"b": None})
    assert await own_events(store, "s") == [
        ("goal_added", '{"goalId":"g1","description":"one","status":"pending","priority":"high"}'),
        ("goal_updated", '{"goalId":"g1","changes":{"description":"one"}}'),
        ("goal_updated", '{"goalId":"g1","changes":{"status":"failed"}}'),
        ("goal_updated", '{"goalId":"g1","changes":{"priority":"low","status":"pending","description":"1"}}'),
        ("goal_added", '{"goalId":"g2","description":"two","status":"pending","priority":"medium"}'),
        ("goal_updated", '{"goalId":"g2","changes":{"status":"completed"}}'),
        ("agent_spawned", '{"agentId":"a1","type":"searcher","task":null}'),
        ("agent_completed", '{"agentId":"a1","status":"failed","result":{"b":null}}'),
    ]


async def test_checkpoints_and_compactions(store: Store) -> None:
    await store.append("s", [NewEvent("note", n) for n in range(3)])
    second = (await store.read("s"))[1]
    await store.checkpoints.save_snapshot("s", {"b": 1, "a": None}, last_seq=1)
    await store.checkpoints.compact("s", "two notes", last_seq=2, name="tidy")
    made = (await store.checkpoints.list("s"))[-1].checkpoint_id
    assert await own_events(store, "s") == [
        ("snapshot_saved", '{"document":{"b":1,"a":null},"firstSeq":1,"lastSeq":1}'),
        (
            "compacted",
            f'{{"summary":"two notes","firstSeq":1,"lastSeq":2,"lastHash":"{second.hash.hex()}",'
            f'"checkpointId":"{made}"}}',
        ),
        ("checkpoint_created", f'{{"checkpointId":"{made}","name":"tidy","seq":4,"reason":"compaction"}}'),
    ]


async def test_effects_usage_and_attachments(store: Store) -> None:
    await store.effects.start("s", "c1", "mail", {"to": "ada"})
    await store.effects.start("s", "c2", "mail", {"to": "ada"}, shown="to ada")
    await store.effects.finish("s", "c1", result={"sent": None})
    await store.effects.finish("s", "c2", "failed", note="no answer")
    await store.usage.record("s", "small", input_tokens=1, output_tokens=2, cached_tokens=3, cost_micros=4)
    kept = await store.attachments.put(b"hello")
    await store.attachments.attach("s", kept.digest, name="a.txt", media_type="text/plain")
    assert await own_events(store, "s") == [
        ("tool_started", f'{{"callId":"c1","tool":"mail","digest":"{MAIL}"}}'),
        ("tool_started", f'{{"callId":"c2","tool":"mail","digest":"{MAIL}","shown":"to ada"}}'),
        ("tool_finished", '{"callId":"c1","status":"finished","result":{"sent":null},"note":""}'),
        ("tool_finished", '{"callId":"c2","status":"failed","result":null,"note":"no answer"}'),
        (
            "usage_recorded",
            '{"model":"small","inputTokens":1,"outputTokens":2,"cachedTokens":3,"costMicros":4}',
        ),
        (
            "attachment_added",
            f'{{"digest":"{hashlib.sha256(b"hello").hexdigest()}","name":"a.txt","mediaType":"text/plain",'
            '"sizeBytes":5}',
        ),
    ]


async def test_tasks_and_what_they_make_of_their_session(store: Store) -> None:
    task = (await store.tasks.begin("s", "t1", "ctx", NewEvent("message", {"taskId": "t1"}), owner="me")).task
    message = NewEvent("message", {"taskId": "t1"})
    await store.tasks.go_on(task, message, {"n": 1}, owner="me", idempotency_key="k")
    task = await store.tasks.update(task, TaskState.WORKING, {"b": None, "a": [1]}, session_status="interrupted")
    await store.tasks.update(task, TaskState.COMPLETED)
    await store.tasks.begin("s", "t2", "ctx", NewEvent("message", {"taskId": "t2"}), owner="me")
    assert await own_events(store, "s") == [
        ("task_updated", '{"taskId":"t1","contextId":"ctx","state":"submitted","changes":{}}'),
        ("task_updated", '{"taskId":"t1","contextId":"ctx","state":"submitted","changes":{"waiting":1}}'),
        ("session_finalized", '{"status":"interrupted","outcome":{"taskId":"t1"},"response":null}'),
        ("task_updated", '{"taskId":"t1","contextId":"ctx","state":"working","changes":{"b":null,"a":[1]}}'),
        ("task_updated", '{"taskId":"t1","contextId":"ctx","state":"completed","changes":{}}'),
        ("session_finalized", '{"status":"active","outcome":{"taskId":"t2"},"response":null}'),
        ("task_updated", '{"taskId":"t2","contextId":"ctx","state":"submitted","changes":{}}'),
    ]


async def test_erasures_and_erasures_of_those(store: Store) -> None:
    await store.append("s", [NewEvent("note", n) for n in range(2)])
    await store.erasure.erase("s", [2, 1], reason="asked")
    await store.erasure.erase("s", [3], reason="and this")
    events = await store.read("s", after=3)
    assert [event.payload for event in events] == [b'{"seqs":[3],"reason":"and this","saidAgain":[1,2]}']
    (erased,) = await store.read("s", after=2, before=4)
    assert erased.erased == hashlib.sha256(b'{"seqs":[1,2],"reason":"asked"}').digest()


def test_the_documents_of_a_folder(tmp_path: Path) -> None:
    documents = {
        "metadata.json": {
            "sessionId": "s",
            "userId": "ada",
            "agent": "helper",
            "model": "small",
            "headSeq": 12,
            "tags": ["x"],
            "lineage": {
                "forkedFrom": {"sessionId": "z", "seq": 3},
                "previousSession": "p",
                "nextSession": "n",
                "parentSession": "q",
            },
        },
        "initial.json": {"input": "hi"},
        "state.json": {
            "version": 7,
            "goals": [{"id": "g1", "description": "one", "status": "completed"}],
            "agents": [{"id": "a1", "type": "searcher", "task": {"b": 1}, "status": "failed", "result": None}],
            "phase": "plan",
        },
        "final.json": {"status": "failed", "tokens": 7, "outcome": {"b": None}, "at": 5},
    }
    folder = tmp_path / "s"
    folder.mkdir()
    for name, document in documents.items():
        (folder / name).write_text(json.dumps(document))
    log = read_log(folder, SystemClock(), TimeOrderedIds())
    assert [(event.type.removeprefix(types.PREFIX), event.payload.decode()) for event in log.own] == [
        ("session_forked", '{"sessionId":"z","seq":3}'),
        (
            "session_created",
            '{"agent":"helper","userId":"ada","initial":{"input":"hi"},"metadata":{"model":"small"},"tags":["x"],'
            '"parentSession":"q","previousSession":"p"}',
        ),
        ("goal_added", '{"goalId":"g1","description":"one","status":"completed","priority":"medium"}'),
        ("agent_spawned", '{"agentId":"a1","type":"searcher","task":{"b":1}}'),
        ("agent_completed", '{"agentId":"a1","status":"failed","result":null}'),
        ("state_updated", '{"patch":{"phase":"plan"},"version":7}'),
        ("session_reset", '{"nextSession":"n","keys":[]}'),
        ("session_finalized", '{"status":"failed","outcome":{"b":null},"response":null,"tokens":7}'),
    ]
    (left_out,) = [event for event in log._events() if event.type == types.LEFT_OUT][:1]
    assert left_out.payload == b"{}"
