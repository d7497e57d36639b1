"""One session with something of everything that its page can show: put there over the API, like anybody's."""

import base64
import struct
import zlib
from dataclasses import dataclass

import httpx2
from tests.dashboard.writing import append, describe, message, ok

NOTES = b"one\ntwo\nthree\n"


def picture(width: int = 8, height: int = 6) -> bytes:
    """A PNG of one colour."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = (b"\0" + bytes((83, 113, 206)) * width) * height
    drawn = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + drawn


@dataclass(frozen=True)
class Whole:
    """Where it is, and what leads to it."""

    session: str
    key: str


def whole_session(client: httpx2.Client, name: str) -> Whole:
    """A conversation with the agent, with files, a compaction, tools, goals, sub-agents, checkpoints and memories."""
    key = f"agent:main:{name}"
    files = [
        {"name": "chart.png", "mediaType": "image/png", "data": base64.b64encode(picture()).decode()},
        {"name": "notes.txt", "mediaType": "text/plain", "data": base64.b64encode(NOTES).decode()},
    ]
    ok(client.post(f"/api/chat/{key}", json={"text": "Hi, my name is Ada.", "attachments": files}))
    session = str(ok(client.get(f"/api/keys/{key}"))["sessionId"])
    append(client, session, message("user", "the first of the originals"), message("agent", "the last of them"))
    last = int(ok(client.get(f"/api/sessions/{session}"))["metadata"]["headSeq"])
    summary = {"summary": "They spoke of *originals*.", "lastSeq": last, "name": "before the summary"}
    ok(client.post(f"/api/sessions/{session}/compact", json=summary))
    append(
        client,
        session,
        {"type": "search", "eventId": f"{name}-1", "details": {"status": "started", "input": {"q": "tea"}}},
        {"type": "search", "parentId": f"{name}-1", "details": {"status": "finished", "output": {"hits": 3}}},
        {"type": "lookup", "eventId": f"{name}-2", "details": {"status": "started", "input": {"q": "cake"}}},
        {"type": "import_failed", "details": {"error": "no such file"}},
        {"type": "note", "details": {"text": "in passing", "deep": {"list": [1, None, True]}}},
    )
    ok(client.patch(f"/api/state/{session}", json={"phase": "plan", "steps": [1, 2]}))
    ok(client.post(f"/api/sessions/{session}/checkpoints", json={"name": "planned"}))
    ok(client.patch(f"/api/state/{session}", json={"phase": "do", "steps": [2], "cause": "tea"}))
    for number, status in enumerate(("completed", "failed", None), 1):
        ok(client.post(f"/api/state/{session}/goals", json={"description": f"goal number {number}"}))
        if status:
            ok(client.patch(f"/api/state/{session}/goals/goal-00{number}", json={"status": status}))
    _children(client, session)
    ok(client.post(f"/api/sessions/{session}/tags", json={"add": ["one", "two", "three", "four"]}))
    ok(client.put("/api/memories", json={"namespace": session, "key": "colour", "value": "blue", "source": session}))
    ok(client.put("/api/memories", json={"namespace": session, "key": "zone", "value": {"name": "Europe/London"}}))
    ok(client.put("/api/memories", json={"namespace": "user:elsewhere", "key": "secret", "value": "other"}))
    append(
        client,
        session,
        message("agent", "# A head\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n`code` and [a link](https://a.example)"),
    )
    return Whole(session, key)


def _children(client: httpx2.Client, session: str) -> None:
    """A sub-agent that ended, one that failed, one at work, and two sessions below: one in the other."""
    agents = f"/api/state/{session}/agents"
    for agent, task in (("a-1", "read the logs"), ("a-2", {"ask": "what does it cost?"}), ("a-3", "wait")):
        ok(client.post(agents, json={"type": f"helper {agent}", "task": task, "agentId": agent}))
    ok(client.post(f"{agents}/a-1/complete", json={"status": "completed", "result": {"found": 2}}))
    ok(client.post(f"{agents}/a-2/complete", json={"status": "failed", "result": {"error": "no price"}}))
    child, below = f"{session[:100]}-child", f"{session[:100]}-below"
    describe(client, child, agent="reader", parentSession=session, metadata={"title": "Which sessions grew"})
    append(client, child, message("user", "which?"), message("agent", "these"))
    describe(client, below, agent="counter", parentSession=child, metadata={"title": "Count them"})
    append(client, below, *(message("user", f"count {number}") for number in range(5)))
