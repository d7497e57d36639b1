"""The whole service as its clients know it: every route, name and status, over the network, on both engines."""

import hashlib
import json
import re
import secrets
from typing import Any

import pytest
from tests.gateway.calling import Caller, told

from holdfast import __version__

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
STATUSES = ("active", "completed", "failed", "cancelled", "interrupted", "archived")


def fresh(name: str = "test") -> str:
    """A session id that was not used before."""
    return f"{name}-{secrets.token_hex(6)}"


def seqs(found: list[dict[str, Any]]) -> list[int]:
    return [entry["seq"] for entry in found]


def ids(page: dict[str, Any]) -> list[str]:
    return [row["sessionId"] for row in page["sessions"]]


def numbered(caller: Caller, session_id: str, count: int) -> None:
    caller.post(f"/api/actions/{session_id}/batch", [{"type": "n", "details": {"n": n + 1}} for n in range(count)])


def test_health_and_service(caller: Caller) -> None:
    health = caller.get("/health")
    assert (health["status"], health["version"]) == ("ok", __version__)
    assert health["uptime"] > 0
    assert set(health["websocket"]) == {"totalConnections", "users", "sessions"}
    assert health["storage"]["engine"] == caller.engine
    service = caller.get("/", headers={"Accept": "application/json"})
    assert (service["service"], service["version"]) == ("holdfast", __version__)
    assert "/api/sessions" in service["endpoints"]
    assert caller.get("/readyz")["status"] == "ready"
    assert caller.get("/openapi.json")["openapi"].startswith("3.1")


def test_a_session_is_described_once(caller: Caller) -> None:
    parent, session_id = fresh("parent"), fresh()
    initial = {"source": "cli", "input": "hello", "config": {"model": "sim", "depth": 1.0}}
    body = {
        "sessionId": session_id,
        "userId": "ada",
        "initial": initial,
        "tags": ["red", "blue"],
        "metadata": {"team": "kites"},
        "parentSession": parent,
    }
    assert caller.post("/api/sessions", body) == {"success": True, "sessionId": session_id}
    assert caller.post("/api/sessions", body, status=200) == {"success": True, "sessionId": session_id}
    others: list[dict[str, Any]] = [
        *({"userId": "eve"}, {"initial": {}}, {"tags": ["red"]}, {"metadata": {}}, {"parentSession": None}),
    ]
    for other in others:
        assert caller.post("/api/sessions", body | other, status=409)["code"] == "conflict", other
    shown = caller.get(f"/api/sessions/{session_id}")
    assert shown["initial"] == initial
    metadata = shown["metadata"]
    assert (metadata["sessionId"], metadata["userId"], metadata["status"]) == (session_id, "ada", "active")
    assert (sorted(metadata["tags"]), metadata["team"]) == (["blue", "red"], "kites")
    assert metadata["lineage"]["parentSession"] == parent
    assert TIME.fullmatch(metadata["createdAt"])
    made = caller.post("/api/sessions", {"userId": "ada", "initial": {}})
    assert (made["success"], bool(made["sessionId"])) == (True, True)
    bodies: list[dict[str, Any]] = [
        *(
            {"sessionId": "a b"},
            {"sessionId": ".."},
            {"sessionId": ""},
            {"userId": 1},
            {"tags": "red"},
            {"metadata": []},
        ),
    ]
    for bad in bodies:
        assert caller.post("/api/sessions", bad, status=400)["code"] == "invalid_input", bad


def test_a_session_is_shown_whole(caller: Caller) -> None:
    session_id = fresh()
    caller.post("/api/sessions", {"sessionId": session_id, "userId": "ada"})
    numbered(caller, session_id, 120)
    caller.post(f"/api/actions/{session_id}/responses", {"text": "done"})
    caller.patch(f"/api/state/{session_id}", {"phase": "execution"})
    caller.post(f"/api/sessions/{session_id}/finalize", {"status": "completed"}, status=200)
    shown = caller.get(f"/api/sessions/{session_id}?limit=10")
    assert {"metadata", "initial", "state", "actions", "responses", "final"} <= set(shown)
    assert seqs(shown["actions"]) == list(range(113, 122))
    assert [entry["details"] for entry in shown["responses"]] == [{"text": "done"}]
    assert shown["state"]["phase"] == "execution"
    assert shown["final"]["status"] == "completed"
    assert shown["cursor"]["after"] == 124
    older = caller.get(f"/api/actions/{session_id}?limit=1000&before={shown['cursor']['before']}")
    assert seqs(older["actions"]) == list(range(2, 113))
    assert caller.get(f"/api/sessions/{fresh()}", status=404)["code"] == "not_found"


def test_lists_are_paged_by_key_newest_first(caller: Caller) -> None:
    run = secrets.token_hex(6)
    names = [f"{run}-{number}" for number in range(7)]
    for number, name in enumerate(names):
        body = {"sessionId": name, "userId": f"{run}/{number % 2}", "tags": [run, f"{run}-{number % 3}"]}
        caller.post("/api/sessions", body)
    newest = names[::-1]

    def pages(query: str) -> list[str]:
        found: list[str] = []
        more: str | None = ""
        while more is not None:
            page = caller.get(f"/api/sessions?{query}&limit=2{more}")
            assert set(page) == {"sessions", "cursor"}
            found += ids(page)
            more = f"&cursor={page['cursor']}" if page["cursor"] else None
            caller.post("/api/sessions", {"userId": "meanwhile"})
        return found

    assert pages(f"tag={run}") == newest
    assert pages(f"user={run}/1") == newest[1::2]
    assert ids(caller.get(f"/api/sessions/user/{run}%2F1")) == newest[1::2]
    assert pages(f"tag={run}-0") == newest[0::3]
    caller.post(f"/api/sessions/{names[3]}/finalize", {"status": "failed"}, status=200)
    assert pages(f"tag={run}&status=failed") == [names[3]]
    began = caller.get(f"/api/sessions/{names[4]}")["metadata"]["createdAt"]
    assert names[4] in pages(f"tag={run}&from={began}")
    assert names[4] not in pages(f"tag={run}&to={began}")
    caller.post(f"/api/actions/{names[5]}", {"type": "note", "details": {"text": f"the {run} kite"}})
    assert pages(f"q={run}%20kite&tag={run}") == [names[5]]
    caller.ask("DELETE", f"/api/sessions/{names[2]}")
    assert pages(f"tag={run}") == [name for name in newest if name != names[2]]
    for query in ("status=asleep", "limit=0", "limit=x", "cursor=x", "from=soon"):
        assert caller.get(f"/api/sessions?{query}", status=400)["code"] == "invalid_input", query


def test_a_session_changes_and_ends(caller: Caller) -> None:
    session_id = fresh()
    caller.post("/api/sessions", {"sessionId": session_id, "metadata": {"a": {"b": 1}, "gone": True}})
    patched = caller.patch(f"/api/sessions/{session_id}/metadata", {"a": {"c": "+1"}, "gone": None})
    assert patched["metadata"] == {"a": {"b": 1, "c": "+1"}}
    tags = caller.post(f"/api/sessions/{session_id}/tags", {"add": ["x", "y"]}, status=200)
    assert sorted(tags["tags"]) == ["x", "y"]
    assert caller.post(f"/api/sessions/{session_id}/tags", {"remove": ["x"]}, status=200)["tags"] == ["y"]
    for status in STATUSES:
        body = {"status": status, "outcome": {"n": status}, "response": {"text": "bye"}}
        ended = caller.post(f"/api/sessions/{session_id}/finalize", body, status=200)
        assert (ended["status"], ended["final"]["outcome"]) == (status, {"n": status})
        assert caller.get(f"/api/sessions/{session_id}")["metadata"]["status"] == status
    caller.post(f"/api/sessions/{session_id}/finalize", {"status": "asleep"}, status=400)


def test_forks_resets_and_keys(caller: Caller) -> None:
    session_id, fork, key = fresh(), fresh("fork"), fresh("agent:main:walk")
    numbered(caller, session_id, 5)
    made = caller.post(f"/api/sessions/{session_id}/fork", {"at": 3, "sessionId": fork, "key": key})
    assert made["forkedFrom"] == {"sessionId": session_id, "seq": 3}
    assert seqs(caller.get(f"/api/actions/{fork}")["actions"]) == [1, 2, 3]
    assert caller.get(f"/api/keys/{key}")["sessionId"] == fork
    reset = caller.post(f"/api/sessions/{fork}/reset", {})
    assert (reset["previousSession"], reset["keys"]) == (fork, [key])
    again = caller.post(f"/api/keys/{key}/reset")
    assert again["previousSession"] == reset["sessionId"]
    routed = caller.get(f"/api/keys/{key}")
    assert routed["sessionId"] == again["sessionId"]
    assert [route["sessionId"] for route in routed["routes"]] == [fork, reset["sessionId"], again["sessionId"]]
    assert [route["endedAt"] is None for route in routed["routes"]] == [False, False, True]
    assert isinstance(routed["metadata"], dict)
    assert seqs(caller.get(f"/api/actions/{fork}")["actions"]) == [1, 2, 3]
    caller.get(f"/api/keys/{fresh()}", status=404)
    caller.post(f"/api/keys/{fresh()}/reset", status=404)


def test_compaction_and_checkpoints(caller: Caller) -> None:
    session_id = fresh()
    numbered(caller, session_id, 6)
    snapshot = caller.post(f"/api/sessions/{session_id}/compact", {"summary": {"text": "four"}, "lastSeq": 4})
    assert (snapshot["firstSeq"], snapshot["lastSeq"], snapshot["document"]) == (1, 4, {"text": "four"})
    assert seqs(caller.get(f"/api/actions/{session_id}")["actions"]) == [1, 2, 3, 4, 5, 6]
    assert caller.get(f"/api/sessions/{session_id}/resume")["snapshot"] == snapshot
    made = caller.post(f"/api/sessions/{session_id}/checkpoints", {"name": "safe", "seq": 2})
    listed = caller.get(f"/api/sessions/{session_id}/checkpoints")["checkpoints"]
    assert made in listed
    assert {each["reason"] for each in listed} == {"compaction", "manual"}
    at = f"/api/sessions/{session_id}/checkpoints/{made['checkpointId']}"
    branch = caller.post(f"{at}/branch", {})
    assert branch["forkedFrom"] == {"sessionId": session_id, "seq": 2}
    restored = caller.post(f"{at}/restore", {})
    assert seqs(caller.get(f"/api/actions/{restored['sessionId']}")["actions"]) == [1, 2]
    assert caller.get(f"/api/sessions/{session_id}")["metadata"]["lineage"]["nextSession"] == restored["sessionId"]
    for verb in ("branch", "restore"):
        caller.post(f"/api/sessions/{session_id}/checkpoints/none/{verb}", {}, status=404)


def test_a_deleted_session_is_archived_first(caller: Caller) -> None:
    session_id = fresh()
    numbered(caller, session_id, 3)
    head = caller.get(f"/api/sessions/{session_id}")["metadata"]["headHash"]
    gone = caller.ask("DELETE", f"/api/sessions/{session_id}?reason=asked")
    assert (gone["events"], gone["headHash"]) == (3, head)
    assert caller.get(f"/api/sessions/{session_id}", status=410)["code"] == "session_gone"
    assert caller.post(f"/api/actions/{session_id}", {"type": "late"}, status=410)["code"] == "session_gone"
    assert caller.post("/api/sessions", {"sessionId": session_id}, status=410)["code"] == "session_gone"
    caller.ask("DELETE", f"/api/sessions/{fresh()}", status=404)
    archived: list[dict[str, Any]] = []
    more: str | None = ""
    while more is not None:
        page = caller.get(f"/api/archives?limit=500{more}")
        archived += page["archives"]
        more = f"&cursor={page['cursor']}" if page["cursor"] else None
    kept = next(each for each in archived if each["sessionId"] == session_id)
    assert (kept["events"], kept["headHash"], kept["reason"]) == (3, head, "asked")


def test_actions_are_appended(caller: Caller) -> None:
    session_id = fresh("test-customer")
    example: dict[str, Any] = {
        "type": "team_spawn",
        "timestamp": "2026-02-13T10:00:00Z",
        "details": {"team_type": "customer_communication", "architecture": "governor+3specialists"},
    }
    made = caller.post(f"/api/actions/{session_id}", example)
    assert set(made) == {"seq", "eventId", "timestamp"}
    assert (made["seq"], made["timestamp"]) == (1, "2026-02-13T10:00:00.000Z")
    keyed = {"type": "hand_over", "details": {"to": "booking"}, "idempotencyKey": "k", "eventId": "e", "expectedSeq": 1}
    second = caller.post(f"/api/actions/{session_id}", keyed)
    assert (second["seq"], second["eventId"], bool(TIME.fullmatch(second["timestamp"]))) == (2, "e", True)
    assert caller.post(f"/api/actions/{session_id}", keyed, status=200) == second
    other = caller.post(f"/api/actions/{session_id}", keyed | {"details": {}}, status=409)
    assert other["code"] == "idempotency_conflict"
    stale = caller.post(f"/api/actions/{session_id}", {"type": "x", "expectedSeq": 1}, status=409)
    assert (stale["code"], stale["headSeq"], seqs(stale["missed"])) == ("stale_writer", 2, [2])
    page = caller.get(f"/api/actions/{session_id}")
    assert set(page) == {"actions", "cursor"}
    assert page["actions"][0] == {**example, **made}
    assert page["actions"][1]["details"] == {"to": "booking"}
    answer = caller.post(f"/api/actions/{session_id}/responses", {"details": {"text": "ok"}, "idempotencyKey": "r"})
    assert (set(answer), answer["seq"]) == ({"seq", "eventId", "timestamp"}, 3)
    bodies: list[Any] = [{}, {"type": ""}, {"type": 1}, {"type": "x", "timestamp": "soon"}, [], "x", 1, None]
    for bad in bodies:
        text = json.dumps(bad).encode()
        assert caller.post(f"/api/actions/{session_id}", text, status=400)["code"] == "invalid_input", bad


@pytest.mark.parametrize("as_lines", [True, False])
def test_a_batch_is_one_append_of_thousands(caller: Caller, as_lines: bool) -> None:
    session_id = fresh()
    events = [{"type": "n", "details": {"n": n}} for n in range(5_000)]
    lines = "\n".join(map(json.dumps, events)).encode()
    headers = {"Content-Type": "application/x-ndjson"} if as_lines else {"Content-Type": "application/json"}
    done = caller.post(f"/api/actions/{session_id}/batch", lines if as_lines else events, headers=headers)
    assert (done["firstSeq"], done["lastSeq"], len(done["seqs"])) == (1, 5_000, 5_000)
    bad = [{"type": "n"}] * 500 + [{"type": ""}]
    caller.post(f"/api/actions/{session_id}/batch", bad, status=400)
    taken = [{"type": "n"}] * 500 + [{"type": "n", "parentId": "nobody"}]
    caller.post(f"/api/actions/{session_id}/batch", taken, status=400)
    assert caller.get(f"/api/sessions/{session_id}")["metadata"]["headSeq"] == 5_000


def test_the_newest_actions_oldest_first_with_cursors(caller: Caller) -> None:
    session_id = fresh()
    numbered(caller, session_id, 30)
    caller.post(f"/api/actions/{session_id}", {"type": "rare"})
    page = caller.get(f"/api/actions/{session_id}?limit=10")
    assert seqs(page["actions"]) == list(range(22, 32))
    assert page["cursor"] == {"before": 22, "after": 31}
    before = caller.get(f"/api/actions/{session_id}?limit=10&before=22")
    assert seqs(before["actions"]) == list(range(12, 22))
    after = caller.get(f"/api/actions/{session_id}?limit=10&after=5")
    assert seqs(after["actions"]) == list(range(6, 16))
    assert seqs(caller.get(f"/api/actions/{session_id}?type=rare")["actions"]) == [31]
    assert caller.get(f"/api/actions/{session_id}?after=31") == {
        "actions": [],
        "cursor": {"before": 32, "after": 31},
    }
    caller.get(f"/api/actions/{fresh()}", status=404)
    for query in ("limit=0", "limit=-1", "limit=1001", "before=x", "after=-1"):
        assert caller.get(f"/api/actions/{session_id}?{query}", status=400)["code"] == "invalid_input"


def test_state_merges_and_counts_its_versions(caller: Caller) -> None:
    session_id = fresh()
    first = caller.patch(f"/api/state/{session_id}", {"a": {"b": 1, "c": [1, 2]}, "n": 1, "gone": {"x": 1}})
    assert (first["sessionId"], first["version"]) == (session_id, 1)
    second = caller.patch(
        f"/api/state/{session_id}", {"a": {"c": [3], "d": None}, "n": "+1", "gone": None, "expectedVersion": 1}
    )
    shown = {name: second[name] for name in ("a", "n", "version")}
    assert shown == {"a": {"b": 1, "c": [3]}, "n": "+1", "version": 2}
    assert "gone" not in second
    stale = caller.patch(f"/api/state/{session_id}", {"n": 3, "expectedVersion": 1}, status=409)
    assert (stale["code"], stale["version"], stale["state"]) == ("stale_state", 2, second)
    assert caller.get(f"/api/state/{session_id}") == second
    tag = caller.client.get(f"/api/state/{session_id}").headers["etag"]
    assert caller.client.get(f"/api/state/{session_id}", headers={"If-None-Match": tag}).status_code == 304
    third = caller.patch(f"/api/state/{session_id}", {"n": 3}, headers={"If-Match": tag})
    assert third["version"] == 3
    lost = caller.patch(f"/api/state/{session_id}", {"n": 4}, headers={"If-Match": tag}, status=412)
    assert lost["code"] == "precondition_failed"
    assert caller.get(f"/api/state/{session_id}") == third
    example: dict[str, Any] = {
        "phase": "execution",
        "currentStep": "team_ready",
        "workspace": {"cwd": "/app/project"},
        "goals": [
            {
                "goalId": "goal-001",
                "description": "Process customer communication workflows",
                "status": "completed",
                "priority": "high",
            }
        ],
    }
    other = fresh("test-customer")
    kept = caller.patch(f"/api/state/{other}", {"sessionId": other, **example, "version": 7})
    (goal,) = kept.pop("goals")
    assert {"createdAt", "completedAt"} <= goal.keys()
    (given,) = example.pop("goals")
    assert {name: goal[name] for name in given} == given
    assert {name: kept[name] for name in example} == example
    assert (kept["sessionId"], kept["version"]) == (other, 1)
    caller.get(f"/api/state/{fresh()}", status=404)
    caller.patch(f"/api/state/{session_id}", [], status=400)


def test_goals(caller: Caller) -> None:
    session_id = fresh()
    at = f"/api/state/{session_id}/goals"
    first = caller.post(at, {"description": "one"})
    assert set(first) == {"goalId", "description", "status", "priority", "createdAt"}
    assert (first["goalId"], first["status"], first["priority"]) == ("goal-001", "pending", "medium")
    assert caller.post(at, {"description": "two"})["goalId"] == "goal-002"
    assert caller.post(at, {"description": "three", "id": "theirs", "priority": "low"})["goalId"] == "theirs"
    assert caller.post(at, {"description": "four", "goalId": "own", "status": "in_progress"})["goalId"] == "own"
    for status in ("in_progress", "pending", "failed", "cancelled", "completed"):
        changed = caller.patch(f"{at}/goal-001", {"status": status, "priority": "high"})
        assert (changed["status"], changed["priority"]) == (status, "high")
        assert ("completedAt" in changed) == (status in {"failed", "cancelled", "completed"}), changed
    assert TIME.fullmatch(changed["completedAt"])
    assert [goal["goalId"] for goal in caller.get(f"/api/state/{session_id}")["goals"]] == [
        "goal-001",
        "goal-002",
        "theirs",
        "own",
    ]
    caller.patch(f"{at}/none", {"status": "completed"}, status=404)
    for bad in ({}, {"description": "x", "status": "done"}, {"description": "x", "priority": "urgent"}):
        caller.post(at, bad, status=400)


def test_sub_agents(caller: Caller) -> None:
    session_id = fresh()
    at = f"/api/state/{session_id}/agents"
    made = caller.post(at, {"agentId": "a1", "type": "booking", "task": {"mail": "+1"}})
    assert set(made) == {"agentId", "type", "task", "status", "spawnedAt"}
    assert (made["agentId"], made["status"], made["task"]) == ("a1", "active", {"mail": "+1"})
    ended = caller.post(f"{at}/a1/complete", {"result": {"booked": 1}}, status=200)
    assert (ended["status"], ended["result"]) == ("completed", {"booked": 1})
    assert TIME.fullmatch(ended["completedAt"])
    failing = caller.post(at, {"type": "weather"})
    failed = caller.post(f"{at}/{failing['agentId']}/complete", {"status": "failed"}, status=200)
    assert failed["status"] == "failed"
    assert [agent["status"] for agent in caller.get(f"/api/state/{session_id}")["agents"]] == ["completed", "failed"]
    caller.post(f"{at}/none/complete", {}, status=404)


def test_queries(caller: Caller) -> None:
    before = caller.get("/api/query/stats")
    names = [fresh("recent") for _ in range(3)]
    for name in names:
        caller.post(f"/api/actions/{name}", {"type": "note", "details": {"text": f"a red {name} kite"}})
    caller.post(f"/api/sessions/{names[0]}/finalize", {"status": "interrupted"}, status=200)
    assert ids(caller.get("/api/query/recent?limit=3")) == names[::-1]
    after = caller.get("/api/query/stats?days=3660")
    assert after["sessions"] == before["sessions"] + 3
    assert after["events"] == before["events"] + 4
    assert after["byStatus"]["interrupted"] == before["byStatus"].get("interrupted", 0) + 1
    assert {"calls", "inputTokens", "outputTokens"} <= set(after["tokens"])
    assert sum(day["sessions"] for day in after["days"]) == after["sessions"]
    hits = caller.get("/api/query/search", params={"q": f'"{names[1]}" kite'})["hits"]
    assert [(hit["sessionId"], hit["seq"]) for hit in hits] == [(names[1], 1)]
    start, end = hits[0]["highlights"][-1]
    assert hits[0]["snippet"][start:end] == "kite"
    caller.get("/api/query/search", status=400)
    caller.get("/api/query/recent?limit=0", status=400)


def test_writing_to_an_unknown_session_makes_it(caller: Caller) -> None:
    doors: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", "/api/actions/{}", {"type": "x"}),
        ("POST", "/api/actions/{}/responses", {"text": "x"}),
        ("PATCH", "/api/state/{}", {"phase": "x"}),
        ("POST", "/api/state/{}/goals", {"description": "x"}),
        ("POST", "/api/state/{}/agents", {"type": "x"}),
    ]
    for method, path, body in doors:
        session_id = fresh()
        refused = caller.ask(method, path.format(session_id) + "?create=false", body, status=404)
        assert refused["code"] == "not_found"
        caller.get(f"/api/sessions/{session_id}", status=404)
        caller.ask(method, path.format(session_id), body, status=200 if method == "PATCH" else 201)
        described = {"sessionId": session_id, "userId": "ada", "initial": {"source": "late"}, "tags": ["late"]}
        caller.post("/api/sessions", described, status=200)
        shown = caller.get(f"/api/sessions/{session_id}")
        assert (shown["initial"], shown["metadata"]["userId"]) == ({"source": "late"}, "ada")
    batch = fresh()
    caller.post(f"/api/actions/{batch}/batch?create=false", [{"type": "x"}], status=404)
    caller.post(f"/api/actions/{batch}/batch", [{"type": "x"}])
    for path in ("/api/sessions/{}", "/api/actions/{}", "/api/state/{}", "/api/sessions/{}/resume"):
        assert caller.get(path.format(fresh()), status=404)["code"] == "not_found"


@pytest.mark.parametrize("context_id", ["plain-1", "the tower / of ✈ Riga", "..", "x" * 300])
def test_a_context_that_is_no_session_id_is_kept_and_mapped_by_its_hash(caller: Caller, context_id: str) -> None:
    message = {
        "kind": "message",
        "role": "user",
        "messageId": fresh(),
        "contextId": context_id,
        "parts": [{"kind": "text", "text": "hi"}],
    }
    call = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": message}}
    task = caller.post("/a2a", call, status=200)["result"]
    assert task["contextId"] == context_id
    key = f"agent:main:a2a:{context_id}"
    routed = caller.get("/api/keys/" + "".join(f"%{byte:02x}" for byte in key.encode()))
    assert routed["key"] == key
    fits = re.fullmatch("[A-Za-z0-9._:-]{1,200}", key)
    assert routed["sessionId"] == (key if fits else "h-" + hashlib.sha256(key.encode()).hexdigest())
    assert caller.get(f"/api/sessions/{routed['sessionId']}")["actions"]


def test_status_is_for_whoever_runs_it(caller: Caller) -> None:
    status = caller.get("/api/status")
    assert (status["version"], status["engine"]) == (__version__, caller.engine)
    told_of = {"version", "pid", "store", "dataFolder", "logFile", "agents", "engine", "schema", "walSizeBytes"}
    assert told_of <= set(status)
    assert status["agents"] == ["main"]
    assert "password" not in json.dumps(status)


def test_the_log_is_read_by_cursor(caller: Caller) -> None:
    page = caller.get("/api/logs?limit=1")
    assert set(page) == {"lines", "cursor", "file", "size", "truncated"}
    assert (len(page["lines"]), page["truncated"], page["size"] > 0) == (1, False, True)
    following = caller.get(f"/api/logs?limit=1000&cursor={page['cursor']}")
    assert page["lines"][0] not in following["lines"]
    caller.get("/api/logs?cursor=x", status=400)
    caller.get("/api/logs?limit=0", status=400)


def test_figures_and_the_document_need_no_other_site(caller: Caller) -> None:
    figures = caller.bytes_at("/metrics").decode()
    assert "# TYPE" in figures
    page = caller.bytes_at("/docs").decode()
    assert "openapi.json" in page
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", page)
    document = caller.get("/openapi.json")
    assert len(document["paths"]) > 40


def test_the_feed_tells_everything_by_its_name(caller: Caller) -> None:
    session_id, user = fresh(), fresh("user")
    at = f"/api/state/{session_id}"
    with caller.follow(f"user={user}") as live, caller.follow() as whole:
        start = told(live)
        assert start["type"] == told(whole)["type"] == "connected"
        caller.post("/api/sessions", {"sessionId": session_id, "userId": user})
        caller.post(f"/api/actions/{session_id}", {"type": "note", "details": {"n": 1}})
        caller.post(f"/api/actions/{session_id}/responses", {"text": "x"})
        caller.patch(at, {"phase": "x"})
        caller.post(f"{at}/goals", {"description": "x"})
        caller.patch(f"{at}/goals/goal-001", {"status": "completed"})
        caller.post(f"{at}/agents", {"type": "x", "agentId": "a"})
        caller.post(f"{at}/agents/a/complete", {}, status=200)
        caller.patch(f"/api/sessions/{session_id}/metadata", {"n": 1})
        caller.post(f"/api/sessions/{session_id}/finalize", {}, status=200)
        names = [
            *("session_created", "action", "response", "state_updated", "goal_added", "goal_updated"),
            *("agent_spawned", "agent_completed", "metadata_updated", "session_finalized"),
        ]
        seen = [told(live) for _ in names]
        assert [message["type"] for message in seen] == names
        assert [(message["sessionId"], message["seq"]) for message in seen] == [
            (session_id, number) for number in range(1, 11)
        ]
        assert all({"type", "sessionId", "seq", "data", "timestamp"} <= set(message) for message in seen)
        assert seen[1]["data"]["details"] == {"n": 1}
        assert [told(whole)["type"] for _ in names] == names
        with caller.follow(f"session={session_id}&after=4") as resumed:
            assert (told(resumed)["type"], told(resumed)["seq"]) == ("connected", 5)
            for _ in range(5):
                told(resumed)
            counted = caller.get("/health")["websocket"]
            assert counted == {"totalConnections": 3, "users": 1, "sessions": 1}
            caller.ask("DELETE", f"/api/sessions/{session_id}")
            assert told(resumed)["type"] == told(live)["type"] == "session_deleted"
    with caller.follow(f"user={user}&cursor={seen[-2]['cursor']}") as live:
        assert told(live)["type"] == "connected"
        assert told(live)["type"] == "session_deleted"


def test_the_feed_is_there_as_server_sent_events_too(caller: Caller) -> None:
    session_id = fresh()
    numbered(caller, session_id, 3)
    with caller.client.stream("GET", f"/api/feed?session={session_id}&after=1") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        found: list[dict[str, Any]] = []
        for line in answer.iter_lines():
            if line.startswith("data:"):
                found.append(json.loads(line.removeprefix("data:")))
            if len(found) == 3:
                break
    assert [(message["type"], message.get("seq")) for message in found] == [
        ("connected", None),
        ("action", 2),
        ("action", 3),
    ]
