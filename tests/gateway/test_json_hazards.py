"""JSON that other services stumble over: each is refused with its reason, or kept byte for byte, on both engines.

What is kept is read back through every door: windows, views, the log, the feed. Where a value is merged or becomes a
row of its own, it is the value that must be the same, to its last digit.
"""

import json
import secrets
from dataclasses import dataclass
from typing import Any

import pytest
from tests.gateway.calling import Caller, checked, told

LIMIT = 16 * 1024 * 1024
SMALL = 20_000
"""Bytes of a value that fits, with the others, into metadata and other descriptions."""

Kept = None


@dataclass(frozen=True, slots=True)
class Hazard:
    """A JSON text, and why it is refused; without a reason it is kept."""

    name: str
    text: bytes
    reason: str | None = Kept

    def __str__(self) -> str:
        return self.name


def nested(levels: int, opening: bytes = b"[", closing: bytes = b"]") -> bytes:
    return opening * levels + closing * levels


VALUES = [
    Hazard("61 levels", nested(61)),
    Hazard("61 objects", b'{"a":' * 61 + b"0" + b"}" * 61),
    Hazard("many brackets in a string", b'"' + b"[{" * 500 + b'"'),
    Hazard("many brackets side by side", b"[" + b"[]," * 5_000 + b"{}]"),
    Hazard("61 levels with others beside them", b'[[],{"":' * 30 + b"[]" + b"}]" * 30),
    Hazard("65 levels", nested(65), "depth"),
    Hazard("66 levels with others beside them", b'[[],{"":' * 33 + b"1" + b"}]" * 33, "depth"),
    Hazard("65 objects", b'{"a":' * 65 + b"0" + b"}" * 65, "depth"),
    Hazard("1,024 levels", nested(1_024), "depth"),
    Hazard("100,000 levels", nested(100_000), "depth"),
    Hazard("100,000 open brackets", b"[" * 100_000, "depth"),
    Hazard("100,000 open objects", b'{"a":' * 100_000, "depth"),
    Hazard("2^53+1", b"9007199254740993"),
    Hazard("2^63", b"9223372036854775808"),
    Hazard("2^64", b"18446744073709551616"),
    Hazard("-2^64", b"-18446744073709551616"),
    Hazard("4,300 digits", b"9" * 4_300),
    Hazard("4,301 digits", b"9" * 4_301, "digits"),
    Hazard("100,000 digits", b"[-" + b"9" * 100_000 + b"]", "digits"),
    Hazard("a fraction of many digits", b"0." + b"1" * 5_000),
    Hazard("1e400", b"1e400", "not_finite"),
    Hazard("-1e400", b"[-1E+400]", "not_finite"),
    Hazard("1e-400", b"1e-400"),
    Hazard("the largest number", b"1.7976931348623157e308"),
    Hazard("NaN", b"NaN", "not_finite"),
    Hazard("nested NaN", b'{"a":[NaN]}', "not_finite"),
    Hazard("Infinity", b"[Infinity]", "not_finite"),
    Hazard("-Infinity", b'{"n":-Infinity}', "not_finite"),
    Hazard("minus zero", b"[-0, -0.0, 0, 0.0]"),
    Hazard("1.0 and 1", b"[1.0, 1, 1.00, 1e0, 10E-1]"),
    Hazard("a leading zero", b"01", "syntax"),
    Hazard("a leading plus", b"+1", "syntax"),
    Hazard("a bare point", b"[1.]", "syntax"),
    Hazard("hexadecimal", b"0x1", "syntax"),
    Hazard("a key twice", b'{"a":1,"a":2}', "duplicate_key"),
    Hazard("a key twice, below", b'[{"b":{"a":1,"c":0,"a":1}}]', "duplicate_key"),
    Hazard("a key twice, spelt otherwise", b'{"a":1,"\\u0061":2}', "duplicate_key"),
    Hazard("an empty key twice", b'{"":1,"":2}', "duplicate_key"),
    Hazard("keys that look alike", '{"é":1,"e\u0301":2,"É":3}'.encode()),
    Hazard("a lone high surrogate", b'"\\ud800"', "surrogate"),
    Hazard("a lone low surrogate", b'["\\udc00"]', "surrogate"),
    Hazard("surrogates in the wrong order", b'"\\udc00\\ud800"', "surrogate"),
    Hazard("a lone surrogate as a key", b'{"\\ud800":1}', "surrogate"),
    Hazard("a raw surrogate", b'"\xed\xa0\x80"', "encoding"),
    Hazard("a raw pair of surrogates", b'"\xed\xa0\xbd\xed\xbb\xa9"', "encoding"),
    Hazard("a pair of surrogates", b'["\\ud83d\\udee9", "\\uD83D\\uDEE9"]'),
    Hazard("invalid UTF-8", b'"\xff"', "encoding"),
    Hazard("cut UTF-8", b'"\xf0\x9f\x9b"', "encoding"),
    Hazard("overlong UTF-8", b'"\xc0\xaf"', "encoding"),
    Hazard("UTF-8 beyond Unicode", b'"\xf4\x90\x80\x80"', "encoding"),
    Hazard("Latin-1", b'"caf\xe9"', "encoding"),
    Hazard("NUL", b'{"text":"a\\u0000b","list":["\\u0000"]}'),
    Hazard("NUL in a key", b'{"a\\u0000b":1,"\\u0000":2}'),
    Hazard("a raw NUL", b'"a\0b"', "syntax"),
    Hazard("a raw control character", b'"a\x01b"', "syntax"),
    Hazard("control characters", b'"\\u0001\\u001f\\b\\f\\n\\r\\t\\/\\\\\\""'),
    Hazard("DEL and beyond", '"\x7f\u0080\u2028\u2029\ufeff\ufffe\uffff"'.encode()),
    Hazard("the last character", '"\U0010ffff"'.encode()),
    Hazard("text from right to left", '"\u202eabc\u202d"'.encode()),
    Hazard("an unknown escape", b'"\\x41"', "syntax"),
    Hazard("a broken escape", b'"\\u12"', "syntax"),
    Hazard("a raw line break", b'"a\nb"', "syntax"),
    Hazard("comments", b"[1 /* one */]", "syntax"),
    Hazard("a comment line", b"[1 // one\n]", "syntax"),
    Hazard("single quotes", b"{'a':1}", "syntax"),
    Hazard("a bare key", b"{a:1}", "syntax"),
    Hazard("a trailing comma", b"[1,]", "syntax"),
    Hazard("a trailing comma in an object", b'{"a":1,}', "syntax"),
    Hazard("no comma", b"[1 2]", "syntax"),
    Hazard("an open string", b'"abc', "syntax"),
    Hazard("an open string of quotes", b'"' + b'\\"' * 50_000 + b"[" * 65, "syntax"),
    Hazard("Python's words", b"[True, None]", "syntax"),
    Hazard("undefined", b"undefined", "syntax"),
    Hazard("dangerous keys", b'{"__proto__":{"x":1},"constructor":{"prototype":{}},"toString":null,"__class__":"x"}'),
    Hazard("keys that mean something elsewhere", b'{"$ref":"#/a","$where":"1","@type":"x","lc":1,"!!python":"x"}'),
    Hazard("our own names", b'{"seq":1,"version":2,"sessionId":"x","holdfast.state":{},"expectedVersion":"x"}'),
    Hazard(
        "text that means something elsewhere", b'"\'; DROP TABLE sessions; -- ${jndi:ldap://x} {{7*7}} %s %n <script>"'
    ),
    Hazard("spaces", b'{ "a" :\t[ 1 ,\t2 ] , "b" : { } }'),
    Hazard("spelt otherwise", b'{"\\u0061":"\\u00e9\xc3\xa9\\/","n":1e2}'),
    Hazard("an empty key", b'{"":{"":[]}}'),
    Hazard("many keys", b"{" + b",".join(b'"k%d":%d' % (n, n) for n in range(20_000)) + b"}"),
    Hazard("a long key", b'{"' + b"k" * 100_000 + b'":1}'),
    *(Hazard(text.decode(), text) for text in (b"null", b"true", b'""', b"[]", b"{}", b"0", b'"text"')),
]
LINE_BREAKS = Hazard("line breaks", b'{\r\n  "a": [\n1,\n2]\n}')
TEN_MEGABYTES = Hazard("a string of 10 MB", b'"' + b"x" * 10 * 1024 * 1024 + b'"')

BODIES = [
    Hazard("nothing", b"", "syntax"),
    Hazard("white space", b" \r\n\t ", "syntax"),
    Hazard("a byte order mark", b'\xef\xbb\xbf{"type":"x"}', "encoding"),
    Hazard("UTF-16", '{"type":"x"}'.encode("utf-16"), "encoding"),
    Hazard("UTF-16 without a mark", '{"type":"x"}'.encode("utf-16-le"), "syntax"),
    Hazard("something after it", b'{"type":"x"}x', "syntax"),
    Hazard("two values", b'{"type":"x"} {"type":"y"}', "syntax"),
    Hazard("a NUL after it", b'{"type":"x"}\0', "syntax"),
    Hazard("a cut body", b'{"type":"x","details":{"a":[1,2', "syntax"),
    Hazard("a key twice", b'{"type":"x","type":"x"}', "duplicate_key"),
    Hazard("a key twice, unknown", b'{"type":"x","other":1,"other":1}', "duplicate_key"),
    Hazard("NaN beside the details", b'{"type":"x","other":NaN}', "not_finite"),
    Hazard("a form", b"type=x&details=1", "syntax"),
    Hazard("XML", b'<?xml version="1.0"?><type>x</type>', "syntax"),
]


def fresh() -> str:
    """A session id that was not used before."""
    return f"hazard-{secrets.token_hex(6)}"


def exactly(value: Any) -> str:
    """Text that is the same for the same value only: 1 and 1.0 differ, and so do the signs of zero."""
    return json.dumps(value, sort_keys=True)


def refused(caller: Caller, method: str, path: str, body: bytes, hazard: Hazard) -> None:
    problem = caller.ask(method, path, body, status=400)
    assert (problem["code"], problem["reason"]) == ("invalid_json", hazard.reason), (hazard.name, problem["detail"])


def check_kept(caller: Caller, session_id: str, details: bytes) -> None:
    """The bytes are in every view of the session as they were sent."""
    shown = b'"details":' + details + b',"timestamp"'
    assert shown in caller.bytes_at(f"/api/sessions/{session_id}")
    if LINE_BREAKS.text not in details:
        line = b'"payload":' + details + b"}"
        assert line in caller.bytes_at(f"/api/sessions/{session_id}/log")


@pytest.mark.parametrize("hazard", [*VALUES, LINE_BREAKS], ids=str)
def test_details_of_an_action(caller: Caller, hazard: Hazard) -> None:
    session_id = fresh()
    path = f"/api/actions/{session_id}"
    body = b'{"type":"x","details":' + hazard.text + b"}"
    if hazard.reason:
        refused(caller, "POST", path, body, hazard)
        caller.get(path, status=404)
        return
    assert caller.post(path, body)["seq"] == 1
    assert b'"details":' + hazard.text + b',"timestamp"' in caller.bytes_at(path)
    check_kept(caller, session_id, hazard.text)
    with caller.follow(f"session={session_id}&after=0") as live:
        told(live)
        assert '"details":' + hazard.text.decode() + ',"timestamp"' in str(live.recv(timeout=10))
    again = b'{"details":' + hazard.text + b',"type":"x","idempotencyKey":"k"}'
    assert caller.post(path, again)["seq"] == 2
    assert caller.post(path, again, status=200)["seq"] == 2


@pytest.mark.parametrize("as_lines", [True, False], ids=["lines", "array"])
def test_details_in_a_batch(caller: Caller, as_lines: bool) -> None:
    session_id = fresh()
    path = f"/api/actions/{session_id}/batch"

    def batch(*texts: bytes) -> bytes:
        bodies = [b'{"type":"x","details":' + text + b"}" for text in texts]
        return b"\n".join(bodies) if as_lines else b"[" + b",".join(bodies) + b"]"

    good = [hazard for hazard in VALUES if not hazard.reason]
    done = caller.post(path, batch(*(hazard.text for hazard in good)))
    assert done["lastSeq"] == len(good)
    shown = caller.bytes_at(f"/api/actions/{session_id}?limit=1000")
    for hazard in good:
        assert b'"details":' + hazard.text + b',"timestamp"' in shown, hazard.name
    for hazard in VALUES:
        if hazard.reason and not (as_lines and b"\n" in hazard.text):
            refused(caller, "POST", path, batch(b"1", hazard.text, b"2"), hazard)
    assert caller.get(f"/api/sessions/{session_id}")["metadata"]["headSeq"] == len(good)


@pytest.mark.parametrize("whole", [True, False], ids=["the body", "its details"])
def test_details_of_a_response(caller: Caller, whole: bool) -> None:
    session_id = fresh()
    path = f"/api/actions/{session_id}/responses"
    kept: list[bytes] = []
    for hazard in [*VALUES, LINE_BREAKS]:
        text = b'{"text": ' + hazard.text + b"}" if whole else hazard.text
        body = text if whole else b'{"details":' + text + b"}"
        if hazard.reason:
            refused(caller, "POST", path, body, hazard)
        else:
            caller.post(path, body)
            kept.append(text)
    shown = caller.bytes_at(f"/api/sessions/{session_id}?limit=1000")
    for text in kept:
        assert b'"details":' + text + b',"timestamp"' in shown
    assert caller.get(f"/api/sessions/{session_id}")["metadata"]["headSeq"] == len(kept)


DOORS = {
    "state": ("PATCH", "/api/state/{}", '{"value":%s}'),
    "metadata": ("PATCH", "/api/sessions/{}/metadata", '{"value":%s}'),
    "initial": ("POST", "/api/sessions", '{"sessionId":"{}","initial":%s}'),
    "first metadata": ("POST", "/api/sessions", '{"sessionId":"{}-new","metadata":{"value":%s}}'),
    "outcome": ("POST", "/api/sessions/{}/finalize", '{"outcome":%s}'),
    "summary": ("POST", "/api/sessions/{}/compact", '{"lastSeq":1,"summary":{"value":%s}}'),
    "task": ("POST", "/api/state/{}/agents", '{"type":"x","agentId":"a","task":%s}'),
    "result": ("POST", "/api/state/{}/agents/b/complete", '{"result":%s}'),
}
"""Where a value is merged, or becomes a row of its own."""


def given(caller: Caller, session_id: str, door: str, text: bytes) -> tuple[str, str, bytes]:
    """A session with an action and a sub-agent, and the request that brings the value in by a door."""
    method, path, template = DOORS[door]
    caller.post(f"/api/actions/{session_id}", {"type": "x"})
    caller.post(f"/api/state/{session_id}/agents", {"type": "x", "agentId": "b"})
    return method, path.replace("{}", session_id), template.replace("{}", session_id).encode().replace(b"%s", text)


def shown_by(caller: Caller, session_id: str, door: str) -> Any:
    """What is shown of the value that came in by a door."""
    if door == "first metadata":
        return caller.get(f"/api/sessions/{session_id}-new")["metadata"]["metadata"]["value"]
    shown = caller.get(f"/api/sessions/{session_id}")
    match door:
        case "metadata":
            return shown["metadata"]["metadata"]["value"]
        case "initial":
            return shown["initial"]
        case "outcome":
            return shown["final"]["outcome"]
        case "summary":
            return caller.get(f"/api/sessions/{session_id}/resume")["snapshot"]["document"]["value"]
        case "task":
            return shown["state"]["agents"][1]["task"]
        case "result":
            return shown["state"]["agents"][0]["result"]
    assert shown["state"] == caller.get(f"/api/state/{session_id}")
    return shown["state"]["value"]


@pytest.mark.parametrize("door", DOORS)
def test_values_that_are_merged_or_become_rows(caller: Caller, door: str) -> None:
    session_id = fresh()
    good = [hazard for hazard in [*VALUES, LINE_BREAKS] if not hazard.reason and len(hazard.text) < SMALL]
    together = b"[" + b",".join(hazard.text for hazard in good) + b"]"
    method, path, body = given(caller, session_id, door, together)
    for hazard in VALUES:
        if hazard.reason and len(hazard.text) < 10_000:
            refused(caller, method, path, DOORS[door][2].encode().replace(b"%s", hazard.text), hazard)
    assert caller.client.request(method, path, content=body).is_success
    for hazard, found in zip(good, shown_by(caller, session_id, door), strict=True):
        assert exactly(found) == exactly(json.loads(hazard.text)), hazard.name


@pytest.mark.parametrize("door", ["state", "metadata"])
def test_objects_that_are_merged(caller: Caller, door: str) -> None:
    session_id = fresh()
    good = [hazard for hazard in VALUES if not hazard.reason and (door == "state" or len(hazard.text) < SMALL)]
    together = b"{" + b",".join(b'"%d":%b' % (number, hazard.text) for number, hazard in enumerate(good)) + b"}"
    method, path, body = given(caller, session_id, door, together)
    for _ in range(2):
        assert caller.ask(method, path, body)
    assert exactly(shown_by(caller, session_id, door)) == exactly(without_nulls(json.loads(together)))


def without_nulls(value: Any) -> Any:
    """What a patch leaves: null removes, in objects at any depth, and not in arrays."""
    if not isinstance(value, dict):
        return value
    return {name: without_nulls(below) for name, below in value.items() if below is not None}


@pytest.mark.parametrize("door", [*DOORS, "details"])
def test_what_was_taken_at_the_limit_of_depth_can_be_shown_moved_and_deleted(caller: Caller, door: str) -> None:
    taken: list[int] = []
    for levels in range(62, 66):
        session_id = fresh()
        method, path, body = given(caller, session_id, door if door in DOORS else "state", nested(levels))
        if door == "details":
            method, path = "POST", f"/api/actions/{session_id}"
            body = b'{"type":"x","details":' + nested(levels) + b"}"
        answer = caller.client.request(method, path, content=body)
        for view in ("/api/sessions/{}", "/api/state/{}", "/api/actions/{}", "/api/sessions/{}/resume"):
            caller.get(view.format(session_id))
        if not answer.is_success:
            assert (checked(answer)["status"], answer.json()["reason"]) == (400, "depth")
            continue
        taken.append(levels)
        caller.patch(f"/api/state/{session_id}", {"phase": "on"})
        assert caller.patch(f"/api/state/{session_id}", {"expectedVersion": 99}, status=409)["code"] == "stale_state"
        stale = caller.post(f"/api/actions/{session_id}", {"type": "x", "expectedSeq": 0}, status=409)
        assert stale["code"] == "stale_writer"
        fork = caller.post(f"/api/sessions/{session_id}/fork", {})["sessionId"]
        caller.post(f"/api/sessions/{session_id}/reset", {})
        for each in (session_id, fork):
            lines = caller.client.post("/api/verify", json={"sessions": [each]}).text.splitlines()
            assert json.loads(lines[1])["ok"] is True
            caller.bytes_at(f"/api/export?session={each}")
            caller.ask("DELETE", f"/api/sessions/{each}")
    assert 62 in taken
    assert 65 not in taken


@pytest.mark.parametrize("hazard", BODIES, ids=str)
def test_whole_bodies(caller: Caller, hazard: Hazard) -> None:
    session_id = fresh()
    doors = [
        ("POST", f"/api/actions/{session_id}"),
        ("POST", f"/api/actions/{session_id}/responses"),
        ("PATCH", f"/api/state/{session_id}"),
        ("PATCH", f"/api/sessions/{session_id}/metadata"),
        ("POST", "/api/sessions"),
        ("POST", f"/api/state/{session_id}/goals"),
    ]
    for method, path in doors:
        refused(caller, method, path, hazard.text, hazard)
    caller.get(f"/api/sessions/{session_id}", status=404)
    batch = caller.post(f"/api/actions/{session_id}/batch", hazard.text, status=400)
    assert batch["code"] in {"invalid_json", "invalid_input"}


def test_ten_megabytes(caller: Caller) -> None:
    session_id = fresh()
    text = TEN_MEGABYTES.text
    caller.post(f"/api/actions/{session_id}", b'{"type":"x","details":' + text + b"}")
    check_kept(caller, session_id, text)
    caller.post(f"/api/actions/{session_id}/responses", b'{"text":' + text + b"}")
    assert caller.ask("PATCH", f"/api/state/{session_id}", b'{"text":' + text + b"}", status=413)["code"] == "too_large"
    most = text[: 1_000 * 1024] + b'"'
    caller.patch(f"/api/state/{session_id}", b'{"text":' + most + b"}")
    assert caller.get(f"/api/state/{session_id}")["text"] == json.loads(most)
    caller.ask("DELETE", f"/api/sessions/{session_id}")


def test_a_body_of_the_limit_is_taken_and_of_one_byte_more_is_not(caller: Caller) -> None:
    session_id = fresh()
    around = len(b'{"type":"x","details":""}')
    for path in (f"/api/actions/{session_id}", f"/api/actions/{session_id}/batch"):
        body = b'{"type":"x","details":"' + b"x" * (LIMIT - around) + b'"}'
        assert len(body) == LIMIT
        caller.post(path, body)
        problem = caller.post(path, body + b" ", status=413)
        assert (problem["code"], problem["limit"]) == ("too_large", LIMIT)
    for method, path in (("PATCH", f"/api/state/{session_id}"), ("POST", "/api/sessions")):
        assert caller.ask(method, path, b" " * (LIMIT + 1), status=413)["code"] == "too_large"
    caller.ask("DELETE", f"/api/sessions/{session_id}")


def test_what_was_kept_is_found_moved_and_verified(caller: Caller) -> None:
    """Indexing, export and verification meet every hazard too."""
    session_id = fresh()
    word = secrets.token_hex(6)
    good = [hazard for hazard in VALUES if not hazard.reason]
    bodies = b"\n".join(b'{"type":"x","details":{"w":"%b","v":%b}}' % (word.encode(), each.text) for each in good)
    caller.post(f"/api/actions/{session_id}/batch", bodies)
    found, cursor = 0, None
    while found == 0 or cursor:
        page = caller.get("/api/query/search", params={"q": word, "limit": 100, "cursor": cursor or ""})
        found, cursor = found + len(page["hits"]), page["cursor"]
        assert page["damaged"] == []
    assert found == len(good)
    lines = caller.client.post("/api/verify", json={"sessions": [session_id]}).text.splitlines()
    assert json.loads(lines[1])["ok"] is True
    archive = caller.bytes_at(f"/api/export?session={session_id}")
    log = caller.bytes_at(f"/api/sessions/{session_id}/log")
    assert caller.ask("POST", "/api/import", archive)["thereBefore"] == [session_id]
    fork = caller.post(f"/api/sessions/{session_id}/fork", {})["sessionId"]
    assert caller.bytes_at(f"/api/sessions/{fork}/log").startswith(log)
