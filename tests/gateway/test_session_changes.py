"""What becomes of a session, over HTTP: metadata, tags, holds, its end, forks, checkpoints, resets, deletion."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

from holdfast.gateway.app import create_app
from holdfast.store import NewEvent, Store, open_store


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    async with await open_store(store_url) as opened:
        yield opened


@pytest.fixture
def app(store: Store) -> FastAPI:
    return create_app(store)


async def numbered(store: Store, session_id: str, count: int) -> None:
    await store.append(session_id, [NewEvent("n", {"n": number}) for number in range(1, count + 1)])


async def view(client: httpx2.AsyncClient, session_id: str) -> Any:
    answer = await client.get(f"/api/sessions/{session_id}")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_metadata_merges(client: httpx2.AsyncClient, store: Store) -> None:
    await numbered(store, "s", 1)
    headers = {"Idempotency-Key": "k"}
    for _ in range(2):
        patched = await client.patch(
            "/api/sessions/s/metadata", json={"a": {"b": 1}, "gone": 1, "big": 2**80}, headers=headers
        )
        assert (patched.status_code, patched.json()["headSeq"]) == (200, 2)
    after = await client.patch("/api/sessions/s/metadata", json={"a": {"c": 2}, "gone": None})
    assert after.json()["metadata"] == {"a": {"b": 1, "c": 2}, "big": 2**80}
    assert (await view(client, "s"))["metadata"]["metadata"] == after.json()["metadata"]
    assert (await client.patch("/api/sessions/s/metadata", json=[1])).status_code == 400


async def test_tags_come_and_go(client: httpx2.AsyncClient, store: Store) -> None:
    await numbered(store, "s", 1)
    assert (await client.post("/api/sessions/s/tags", json={"add": ["a", "b"]})).json()["tags"] == ["a", "b"]
    assert (await client.post("/api/sessions/s/tags", json={"remove": ["a"], "add": ["c"]})).json() == {
        "sessionId": "s",
        "tags": ["b", "c"],
    }
    for body in ({}, {"add": "a"}, {"add": [""]}, {"add": [1]}):
        assert (await client.post("/api/sessions/s/tags", json=body)).status_code == 400


async def test_a_session_is_finalized(client: httpx2.AsyncClient, store: Store) -> None:
    await numbered(store, "s", 1)
    body = {"status": "completed", "outcome": {"mails": 2**70}, "response": "done"}
    ended = await client.post("/api/sessions/s/finalize", json=body)
    assert (ended.status_code, ended.json()["status"]) == (200, "completed")
    final = ended.json()["final"]
    assert final.pop("at").endswith("Z")
    assert final == body
    shown = await view(client, "s")
    assert (shown["metadata"]["status"], shown["final"]["response"]) == ("completed", "done")
    assert (await client.post("/api/sessions/s/finalize")).json()["final"]["outcome"] is None
    assert (await client.post("/api/sessions/s/finalize", json={"status": "gone"})).status_code == 400


async def test_a_held_session_cannot_be_deleted(client: httpx2.AsyncClient, store: Store) -> None:
    await numbered(store, "s", 2)
    held = await client.post("/api/sessions/s/hold", json={"held": True, "reason": "a case"})
    assert held.json() == {"sessionId": "s", "held": True}
    refused = await client.delete("/api/sessions/s")
    assert (refused.status_code, refused.json()["code"]) == (409, "legal_hold")
    assert (await client.post("/api/sessions/s/hold", json={"held": False})).json()["held"] is False
    head = (await view(client, "s"))["metadata"]
    gone = await client.delete("/api/sessions/s?reason=no%20longer%20needed")
    assert gone.status_code == 200
    assert (gone.json()["events"], gone.json()["headHash"]) == (head["headSeq"], head["headHash"])
    assert gone.json()["deletedAt"].endswith("Z")
    assert (await store.archives.get("s")).reason == "no longer needed"
    again = await client.delete("/api/sessions/s")
    assert (again.status_code, again.json()["code"]) == (410, "session_gone")
    late = await client.post("/api/actions/s", json={"type": "late"})
    assert (late.status_code, late.json()["code"]) == (410, "session_gone")
    assert (await client.get("/api/sessions")).json()["sessions"] == []
    assert (await client.delete("/api/sessions/other?reason=%00")).status_code == 400


async def test_a_fork_has_the_log_up_to_its_point(client: httpx2.AsyncClient, store: Store) -> None:
    await numbered(store, "s", 5)
    made = await client.post("/api/sessions/s/fork", json={"at": 3, "sessionId": "f", "key": "team/a"})
    assert (made.status_code, made.json()) == (
        201,
        {"sessionId": "f", "forkedFrom": {"sessionId": "s", "seq": 3}, "headSeq": 4},
    )
    assert [event.hash for event in (await store.read("f"))[:3]] == [
        event.hash for event in (await store.read("s"))[:3]
    ]
    assert (await view(client, "f"))["metadata"]["lineage"] == {"forkedFrom": {"sessionId": "s", "seq": 3}}
    assert (await client.get("/api/keys/team/a")).json()["sessionId"] == "f"
    taken = await client.post("/api/sessions/s/fork", json={"sessionId": "f"})
    assert (taken.status_code, taken.json()["code"]) == (409, "conflict")
    whole = await client.post("/api/sessions/s/fork")
    assert whole.json()["forkedFrom"]["seq"] == 5
    for body in ({"at": 6}, {"at": 0}, {"at": 1, "checkpointId": "c"}, {"sessionId": "bad id"}, {"sessionId": "s"}):
        assert (await client.post("/api/sessions/s/fork", json=body)).status_code == 400, body


async def test_a_retry_makes_no_second_fork_reset_or_restore(client: httpx2.AsyncClient, store: Store) -> None:
    await numbered(store, "s", 3)
    await store.keys.resolve("k", session_id="s")
    cid = (await client.post("/api/sessions/s/checkpoints", json={"name": "safe"})).json()["checkpointId"]
    headers = {"Idempotency-Key": "once"}
    for path in (
        "/api/sessions/s/fork",
        f"/api/sessions/s/checkpoints/{cid}/branch",
        "/api/sessions/s/reset",
        f"/api/sessions/s/checkpoints/{cid}/restore",
        "/api/keys/k/reset",
    ):
        before = len((await client.get("/api/sessions")).json()["sessions"])
        first, again = [await client.post(path, headers=headers) for _ in range(2)]
        assert (path, first.status_code, again.status_code) == (path, 201, 200)
        assert first.json() == again.json()
        assert len((await client.get("/api/sessions")).json()["sessions"]) == before + 1
    other = await client.post("/api/sessions/s/fork", json={"at": 1}, headers=headers)
    assert (other.status_code, other.json()["code"]) == (409, "conflict")


async def test_checkpoints_are_branched_and_restored(client: httpx2.AsyncClient, store: Store) -> None:
    await numbered(store, "s", 3)
    await store.keys.resolve("main/key", session_id="s")
    body, headers = {"name": "safe", "seq": 2}, {"Idempotency-Key": "k"}
    made, again = [await client.post("/api/sessions/s/checkpoints", json=body, headers=headers) for _ in range(2)]
    assert (made.status_code, again.status_code) == (201, 200)
    assert made.json() == again.json()
    cid = made.json()["checkpointId"]
    assert (made.json()["name"], made.json()["seq"], made.json()["reason"]) == ("safe", 2, "manual")
    assert (await client.get("/api/sessions/s/checkpoints")).json() == {"checkpoints": [made.json()]}
    branch = await client.post(f"/api/sessions/s/checkpoints/{cid}/branch", json={"sessionId": "b", "key": "new"})
    assert (branch.status_code, branch.json()["forkedFrom"]) == (201, {"sessionId": "s", "seq": 2})
    by_fork = await client.post("/api/sessions/s/fork", json={"checkpointId": cid})
    assert by_fork.json()["forkedFrom"]["seq"] == 2
    assert (await client.get("/api/keys/main/key")).json()["sessionId"] == "s"
    restored = await client.post(f"/api/sessions/s/checkpoints/{cid}/restore", json={"sessionId": "r"})
    assert (restored.status_code, restored.json()["sessionId"]) == (201, "r")
    key = (await client.get("/api/keys/main/key")).json()
    assert (key["sessionId"], [route["sessionId"] for route in key["routes"]]) == ("r", ["s", "r"])
    assert key["routes"][0]["endedAt"] is not None
    assert key["routes"][1]["endedAt"] is None
    assert (await view(client, "s"))["metadata"]["lineage"]["nextSession"] == "r"
    for verb in ("branch", "restore"):
        assert (await client.post(f"/api/sessions/s/checkpoints/none/{verb}")).status_code == 404
    assert (await client.post("/api/sessions/s/checkpoints", json={"seq": 99})).status_code == 400


async def test_compaction_keeps_the_originals(client: httpx2.AsyncClient, store: Store) -> None:
    await numbered(store, "s", 4)
    body = {"summary": {"text": "four numbers"}, "lastSeq": 3, "expectedSeq": 4}
    headers = {"Idempotency-Key": "k"}
    first, again = [await client.post("/api/sessions/s/compact", json=body, headers=headers) for _ in range(2)]
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    assert (first.json()["kind"], first.json()["firstSeq"], first.json()["lastSeq"]) == ("compaction", 1, 3)
    stale = await client.post("/api/sessions/s/compact", json=body)
    assert (stale.status_code, stale.json()["code"]) == (409, "stale_writer")
    assert stale.json()["missed"][0]["details"]["summary"] == {"text": "four numbers"}
    resumed = (await client.get("/api/sessions/s/resume")).json()
    assert resumed["snapshot"] == first.json()
    assert [event["seq"] for event in resumed["events"]] == [4, 5, 6]
    assert len((await client.get("/api/actions/s")).json()["actions"]) == 4
    assert (await client.get("/api/sessions/s/checkpoints")).json()["checkpoints"][0]["reason"] == "compaction"
    for wrong in (
        {"lastSeq": 0},
        {"summary": "", "lastSeq": 1},
        {"summary": "x", "lastSeq": 99},
        {"summary": "x", "lastSeq": -1},
    ):
        assert (await client.post("/api/sessions/s/compact", json=wrong)).status_code == 400, wrong


async def test_resume_says_what_is_open(client: httpx2.AsyncClient, store: Store) -> None:
    await numbered(store, "s", 3)
    await client.patch("/api/state/s", json={"phase": "air"})
    for name in ("one", "two"):
        await client.post("/api/state/s/goals", json={"description": name, "id": name})
        await client.post("/api/state/s/agents", json={"type": "x", "agentId": name})
    await client.patch("/api/state/s/goals/one", json={"status": "completed"})
    await client.post("/api/state/s/agents/one/complete")
    await store.effects.start("s", "call-1", "mail", {"to": "ada"})
    resumed = (await client.get("/api/sessions/s/resume?limit=4")).json()
    assert (resumed["session"]["sessionId"], resumed["snapshot"], resumed["complete"]) == ("s", None, False)
    assert [event["seq"] for event in resumed["events"]] == [8, 9, 10, 11]
    assert (resumed["state"]["phase"], resumed["state"]["version"]) == ("air", 1)
    assert [goal["goalId"] for goal in resumed["goals"]] == ["two"]
    assert [agent["agentId"] for agent in resumed["agents"]] == ["two"]
    assert [(effect["callId"], effect["status"]) for effect in resumed["effects"]] == [("call-1", "started")]
    assert (await client.get("/api/sessions/s/resume")).json()["complete"] is True
    assert (await client.get("/api/sessions/s/resume?limit=0")).status_code == 400


async def test_a_reset_moves_the_keys(client: httpx2.AsyncClient, store: Store) -> None:
    await client.post("/api/sessions", json={"sessionId": "s", "userId": "ada"})
    await store.keys.resolve("agent:main:a", session_id="s")
    done = await client.post("/api/sessions/s/reset", json={"sessionId": "t"})
    assert (done.status_code, done.json()) == (
        201,
        {"sessionId": "t", "previousSession": "s", "keys": ["agent:main:a"]},
    )
    assert (await view(client, "t"))["metadata"]["userId"] == "ada"
    by_key = await client.post("/api/keys/agent:main:a/reset")
    assert (by_key.status_code, by_key.json()["previousSession"], by_key.json()["keys"]) == (
        201,
        "t",
        ["agent:main:a"],
    )
    key = (await client.get("/api/keys/agent:main:a")).json()
    assert (key["key"], key["sessionId"]) == ("agent:main:a", by_key.json()["sessionId"])
    assert len(key["routes"]) == 3
    for path in ("/api/keys/none", "/api/keys/none/reset"):
        missing = await client.request("POST" if path.endswith("reset") else "GET", path)
        assert (missing.status_code, missing.json()["code"]) == (404, "not_found")
    assert (await client.get("/api/keys/a%00b")).status_code == 400


async def test_forks_at_once_are_all_whole(client: httpx2.AsyncClient, store: Store) -> None:
    await numbered(store, "s", 600)
    made = await asyncio.gather(*(client.post("/api/sessions/s/fork", json={"sessionId": f"f{n}"}) for n in range(3)))
    assert [answer.status_code for answer in made] == [201] * 3
    for number in range(3):
        assert (await store.verification.session(f"f{number}")).problem is None
