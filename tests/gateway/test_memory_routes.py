"""Memories over the API: put, read, found, forgotten; on both engines and over a real socket."""

import uuid
from typing import Any

from tests.gateway.calling import Caller


def put(caller: Caller, namespace: str, key: str, value: Any, *, status: int = 200, **more: Any) -> Any:
    body = {"namespace": namespace, "key": key, "value": value, **more}
    return caller.ask("PUT", "/api/memories", body, status=status)


def name() -> str:
    return f"n-{uuid.uuid4()}"


def test_a_memory_is_put_listed_and_told_with_its_versions(caller: Caller) -> None:
    here = name()
    value = {"likes": "green", "cups": 12345678901234567890123}
    first = put(caller, here, "tea", value, source="s1")
    assert (first["version"], first["source"], first["value"]) == (1, "s1", value)
    second = put(caller, here, "tea", "black", expectedVersion=1)
    listed = caller.get(f"/api/memories?namespace={here}")
    assert listed == {"memories": [second], "cursor": None}
    history = caller.get(f"/api/memories/history?namespace={here}&key=tea")
    assert [(each["version"], each["value"]) for each in history["versions"]] == [
        (2, "black"),
        (1, value),
    ]
    page = caller.get(f"/api/memories/history?namespace={here}&key=tea&limit=1")
    assert ([each["version"] for each in page["versions"]], page["cursor"]) == ([2], 2)
    older = caller.get(f"/api/memories/history?namespace={here}&key=tea&limit=1&before=2")
    assert ([each["version"] for each in older["versions"]], older["cursor"]) == ([1], None)


def test_a_stale_put_is_refused_and_a_retry_changes_nothing(caller: Caller) -> None:
    here = name()
    put(caller, here, "k", 1, idempotencyKey="a")
    put(caller, here, "k", 2)
    assert put(caller, here, "k", 1, idempotencyKey="a")["version"] == 1
    assert put(caller, here, "k", 3, idempotencyKey="a", status=409)["code"] == "idempotency_conflict"
    stale = put(caller, here, "k", 3, expectedVersion=1, status=409)
    assert (stale["code"], stale["version"], stale["value"]) == ("stale_state", 2, 2)
    assert "vlue" in caller.ask("PUT", "/api/memories", {"namespace": "n", "key": "k", "vlue": 1}, status=400)["detail"]
    assert put(caller, here, "large", "x" * 300_000, status=413)["code"] == "too_large"


def test_namespaces_and_keys_come_in_pages(caller: Caller) -> None:
    here = name()
    for number in range(3):
        put(caller, f"{here}-{number}", "k", 1)
        put(caller, here, f"key-{number}", number)
    put(caller, here, "other", 1)
    page = caller.get(f"/api/memories/namespaces?limit=2&cursor={here[:-1]}")
    assert [each for each in page["namespaces"] if each["namespace"] == here] == [{"namespace": here, "memories": 4}]
    rest = caller.get(f"/api/memories/namespaces?limit=2&cursor={here}")
    assert [each["namespace"] for each in rest["namespaces"]] == [f"{here}-0", f"{here}-1"]
    assert rest["cursor"] == f"{here}-1"
    keys = caller.get(f"/api/memories?namespace={here}&prefix=key-&limit=2")
    assert ([each["key"] for each in keys["memories"]], keys["cursor"]) == (["key-0", "key-1"], "key-1")
    last = caller.get(f"/api/memories?namespace={here}&prefix=key-&cursor=key-1")
    assert ([each["key"] for each in last["memories"]], last["cursor"]) == (["key-2"], None)


def test_memories_are_found_by_their_words(caller: Caller) -> None:
    here, word = name(), f"w{uuid.uuid4().hex}"
    put(caller, here, "a", {"note": f"the {word} is red"})
    put(caller, name(), "b", {"note": f"the {word} is blue"})
    assert len(caller.get(f"/api/memories?q={word}")["memories"]) == 2
    assert [each["key"] for each in caller.get(f"/api/memories?q={word}&namespace={here}")["memories"]] == ["a"]
    assert caller.get("/api/memories", status=400)["code"] == "invalid_input"
    assert caller.get(f"/api/memories?q={word}&prefix=a", status=400)["code"] == "invalid_input"


def test_a_forgotten_memory_leaves_its_versions(caller: Caller) -> None:
    here = name()
    put(caller, here, "k", "secret")
    gone = caller.post("/api/memories/forget", {"namespace": here, "key": "k"}, status=200)
    assert gone == {"namespace": here, "key": "k", "version": 2}
    assert caller.get(f"/api/memories?namespace={here}")["memories"] == []
    newest = caller.get(f"/api/memories/history?namespace={here}&key=k")["versions"][0]
    assert (newest["version"], newest["value"], newest["digest"]) == (2, None, None)
    assert caller.post("/api/memories/forget", {"namespace": here, "key": "none"}, status=404)["code"] == "not_found"
    targets = [entry["target"] for entry in caller.get("/api/audit?limit=200")["entries"]]
    assert "/api/memories/forget" in targets
