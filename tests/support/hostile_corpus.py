"""What hostile inputs are made from: good requests, and everything that does not belong into one."""

from dataclasses import dataclass
from typing import Any

METHODS = ["GET", "POST", "PATCH", "DELETE", "PUT", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "M-SEARCH", "get"]
"""No CONNECT, after which there is no HTTP any more, and no made-up names, which the parser refuses."""

IDS = [
    *("..", ".", "%2e%2e", "a%2fb", "%00", "%ff%fe", "a b".replace(" ", "%20"), "x" * 201, "x" * 2_000, "%c3%a9"),
    *("%", "%zz", "user", "batch", "*", "'%20or%201=1--", "%0d%0aX-Evil:1", "%f0%9f%9b%a9", "-1", "0", "null"),
]
OTHER_IDS = ["goal-001", "a", "none", "%00", "x" * 600, "..", "%2f%2f", "%e2%80%ae", "k/ey", "cp"]

TOKENS = [
    *(
        b"NaN",
        b"Infinity",
        b"-Infinity",
        b"1e999",
        b"-0",
        b"1" * 400,
        b"9" * 4_400,
        b"0.1e-999",
        b"18446744073709551616",
    ),
    *(
        b'"\\ud800"',
        b'"\\u0000"',
        b'"\\udc00\\ud800"',
        b'"\xff"',
        b'"\xed\xa0\x80"',
        b'"\xc0\xaf"',
        b"\0",
        b"\xef\xbb\xbf",
    ),
    *(
        b"[" * 100,
        b"]" * 100,
        b'{"a":' * 70,
        b"[" * 40 + b"]" * 40,
        b"{}",
        b"[]",
        b"null",
        b"true",
        b'""',
        b'"a":',
        b",",
    ),
    *(b'"__proto__":{}', b'"type":"x"', b'"details":', b"\\", b'"', b"/*x*/", b"//", b"'", b"\n", b"\r\n", b"\t", b" "),
    *(
        '"é\u202e\U0010ffff"'.encode(),
        b'"' + b"a" * 3_000 + b'"',
        b'"\\' + b'"\\' * 400,
        b"+1",
        b"01",
        b".5",
        b"holdfast.",
    ),
]
VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64, -(2**63) - 1, 1.5, -0.0, 1e308),
    *(
        "",
        "x",
        "\0",
        "é",
        "x" * 600,
        "..",
        "../../etc/passwd",
        "holdfast.x",
        "2026-02-13T10:00:00Z",
        "9999-99-99",
        "+1",
    ),
    *(
        [],
        {},
        [[]],
        [None],
        {"": None},
        ["x"] * 50,
        {"a": {"b": {"c": [1, {"d": None}]}}},
        "completed",
        "active",
        "fuzz-1",
    ),
]
HEADER_NAMES = [
    *("Idempotency-Key", "If-Match", "If-None-Match", "Accept", "Accept-Encoding", "Content-Type", "Authorization"),
    *(
        "Cookie",
        "Origin",
        "X-Forwarded-For",
        "X-Forwarded-Host",
        "Forwarded",
        "Range",
        "Expect",
        "Upgrade",
        "Connection",
    ),
    *("A2A-Version", "Holdfast-Tenant", "Last-Event-ID", "Referer", "User-Agent", "X-" + "a" * 200, "Keep-Alive", "TE"),
]
HEADER_VALUES = [
    *(
        "",
        "x",
        "*",
        '"1"',
        'W/"9"',
        "application/json",
        "application/x-ndjson",
        "text/event-stream",
        "gzip, br",
        "close",
    ),
    *("Bearer hf_aaaaaaaaaa_x", "Bearer", "Basic Og==", "http://localhost", "http://evil.example", "null", "bytes=0-1"),
    *("100-continue", "0", "-1", "9" * 30, "x" * 900, "\xe9\xff", "a\tb", "other", "..", "1.0", "0.3", "keep-alive, x"),
]


@dataclass(frozen=True, slots=True)
class Template:
    """A request that is good before it is made hostile."""

    method: str
    path: str
    body: Any = None
    weight: int = 4


TEMPLATES = [
    Template(
        "POST", "/api/actions/{s}", {"type": "note", "details": {"n": 1}, "timestamp": "2026-02-13T10:00:00Z"}, 16
    ),
    Template("POST", "/api/actions/{s}", {"type": "n", "eventId": "e", "idempotencyKey": "k", "expectedSeq": 1}, 8),
    Template("POST", "/api/actions/{s}/batch", [{"type": "a", "details": {}}, {"type": "b", "details": [1]}], 8),
    Template("POST", "/api/actions/{s}/responses", {"details": {"text": "done"}}, 6),
    Template("GET", "/api/actions/{s}?limit=5&before=9&after=1&type=n", weight=10),
    Template(
        "POST", "/api/sessions", {"sessionId": "fuzz-1", "userId": "u", "initial": {}, "tags": ["t"], "metadata": {}}
    ),
    Template("GET", "/api/sessions?user=u&tag=t&status=active&q=x&from=0&to=9&cursor=x&limit=5", weight=6),
    Template("GET", "/api/sessions/{s}?limit=5", weight=6),
    Template("GET", "/api/sessions/{s}/resume?limit=5"),
    Template("GET", "/api/sessions/{s}/log?after=1&limit=5"),
    Template("GET", "/api/sessions/user/{o}?limit=5"),
    Template("PATCH", "/api/sessions/{s}/metadata", {"a": {"b": 1}, "c": None}),
    Template("POST", "/api/sessions/{s}/finalize", {"status": "completed", "outcome": {}, "response": "x"}),
    Template("POST", "/api/sessions/{s}/tags", {"add": ["a"], "remove": ["b"]}),
    Template("POST", "/api/sessions/{s}/hold", {"held": True, "reason": "x"}, 1),
    Template("POST", "/api/sessions/{s}/fork", {"at": 1, "sessionId": "fuzz-2", "key": "k/1"}, 2),
    Template("POST", "/api/sessions/{s}/reset", {"sessionId": "fuzz-3"}, 2),
    Template("DELETE", "/api/sessions/{s}?reason=x", weight=1),
    Template("GET", "/api/sessions/{s}/checkpoints"),
    Template("POST", "/api/sessions/{s}/checkpoints", {"name": "x", "seq": 1, "checkpointId": "cp"}),
    Template("POST", "/api/sessions/{s}/checkpoints/{o}/branch", {"sessionId": "fuzz-4"}, 2),
    Template("POST", "/api/sessions/{s}/checkpoints/{o}/restore", {}, 2),
    Template("POST", "/api/sessions/{s}/compact", {"summary": "x", "firstSeq": 1, "lastSeq": 1, "expectedSeq": 1}, 2),
    Template("GET", "/api/state/{s}", weight=8),
    Template("PATCH", "/api/state/{s}", {"phase": "x", "a": {"b": [1]}, "gone": None, "expectedVersion": 1}, 10),
    Template(
        "POST", "/api/state/{s}/goals", {"description": "x", "goalId": "g", "status": "pending", "priority": "low"}
    ),
    Template("PATCH", "/api/state/{s}/goals/{o}", {"status": "completed"}),
    Template("POST", "/api/state/{s}/agents", {"type": "x", "agentId": "a", "task": {}}),
    Template("POST", "/api/state/{s}/agents/{o}/complete", {"status": "failed", "result": {}}),
    Template("GET", "/api/query/recent?limit=5"),
    Template("GET", "/api/query/stats?days=3", weight=1),
    Template("GET", "/api/query/usage?session={s}", weight=1),
    Template(
        "GET", '/api/query/search?q="a%20phrase"%20pre*%20-x&session={s}&user=u&type=n&cursor=x&limit=5', weight=2
    ),
    Template("GET", "/api/keys/{o}"),
    Template("POST", "/api/keys/{o}/reset", {"sessionId": "fuzz-5"}, 2),
    # Half of these are left out each time: seldom all of them, which asks for everything.
    Template("GET", "/api/export?session={s}" + "&session=fuzz-1" * 5, weight=1),
    Template("POST", "/api/import", "not an archive", 2),
    Template("POST", "/api/retention", {"maxAgeMs": 2**50, "maxSessions": 2**50, "maxBytes": None, "dryRun": True}, 1),
    Template("GET", "/api/archives?cursor=x&limit=5", weight=2),
    Template("POST", "/api/archives/{s}/restore", weight=2),
    Template("POST", "/api/archives/purge", {"sessions": ["fuzz-9"], "dryRun": True}, 1),
    Template("GET", "/api/audit?cursor=x&limit=5", weight=2),
    Template("GET", "/api/tokens", weight=1),
    Template("DELETE", "/api/tokens/{o}", weight=1),
    Template("GET", "/api/logs?cursor=x&limit=5", weight=1),
    Template("GET", "/api/status", weight=1),
    Template("GET", "/metrics", weight=1),
    Template("GET", "/health", weight=2),
    Template("GET", "/", weight=2),
    Template("GET", "/agent-card", weight=1),
    Template("GET", "/ws?session={s}", weight=1),
    Template("POST", "/a2a", {"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": "t"}}, 2),
    Template("POST", "/a2a", {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": {}}}, 2),
    Template("GET", "/{o}", weight=2),
]
"""No backup among them, which would write where it is told to, and no new token; no answer that takes long."""

STREAMS = [
    "GET /api/feed",
    "GET /api/feed?session=fuzz-1&after=0",
    "GET /api/export",
    "GET /api/export?session=fuzz-1",
    "GET /api/sessions/fuzz-1/log",
    "POST /api/verify",
]
"""Answers that go on for long, or for ever."""
