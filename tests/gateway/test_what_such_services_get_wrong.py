"""The known faults of session services, each with a test by its name, over the network, on both engines."""

import json
import re
import secrets
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from tests.gateway.calling import Caller, told
from tests.gateway.process import PATIENCE, running
from tests.gateway.test_problems_everywhere import SMALLEST
from tests.gateway.test_transfer import damage
from tests.support.raw_http import Answer, Answers
from tests.support.web import web_client
from websockets.exceptions import ConnectionClosed

WRITERS = 16
ROUNDS = 12
AT_A_TIME = 12
"""Requests that are sent before their answers are read."""

TRAVERSALS = [
    *(".", "..", "%2e", "%2e%2e", "%2E%2E", ".%2e", "%2e.", "%252e%252e", "..%00", "%00", "a%00b", "a%00.json"),
    *("..%2f..%2f..%2fetc%2fpasswd", "..%2Fholdfast.db", "%2e%2e%2f", "a%2f..%2fb", "%2fetc%2fpasswd", "a%2f"),
    *("..%5c..%5cwindows", "..\\..\\windows", "c:%5c", "%5c%5chost%5cshare", "~root%2f", "file:%2f%2f%2fetc%2fpasswd"),
    *("%c0%ae%c0%ae", "%c0%af", "%e0%80%ae", "%uff0e%uff0e", "%ef%bc%8e%ef%bc%8e", "%e2%80%ae", "%ff", "%ed%a0%80"),
    *("%", "%2", "%zz", "a%20b", "a+b", "a%0a", "a%0d%0aX-Evil:%201", "a%3bb", "a;b", "a%26b", "$HOME", "%24(id)"),
    *("a%27%20OR%201=1", "%22", "*", "a%25", "%c3%a9", "%f0%9f%9b%a9", "a" * 201, "a" * 8_000, "-" * 201, "a%7f"),
]


def fresh(name: str = "test") -> str:
    """A session id that was not used before."""
    return f"{name}-{secrets.token_hex(6)}"


def at_once(work: Callable[[int], Any], count: int = WRITERS) -> list[Any]:
    """What each of so many threads found, begun together."""
    ready = threading.Barrier(count)

    def run(number: int) -> Any:
        ready.wait(PATIENCE)
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def test_the_first_log_on_an_unknown_id_does_not_fail(caller: Caller) -> None:
    session_id = fresh()
    assert caller.post(f"/api/actions/{session_id}", {"type": "started"})["seq"] == 1
    assert caller.get(f"/api/sessions/{session_id}")["actions"][0]["type"] == "started"
    shared = fresh()
    first = at_once(lambda number: caller.post(f"/api/actions/{shared}", {"type": "n", "details": number})["seq"])
    assert sorted(first) == list(range(1, WRITERS + 1))


def test_limit_returns_the_newest_and_not_the_oldest(caller: Caller) -> None:
    session_id = fresh()
    events = [{"type": "n", "details": {"n": n}} for n in range(1, 301)]
    caller.post(f"/api/actions/{session_id}/batch", events)
    newest = caller.get(f"/api/actions/{session_id}?limit=5")["actions"]
    assert [action["details"]["n"] for action in newest] == [296, 297, 298, 299, 300]
    assert [action["seq"] for action in caller.get(f"/api/sessions/{session_id}?limit=2")["actions"]] == [299, 300]
    names = [fresh() for _ in range(4)]
    for name in names:
        caller.post(f"/api/actions/{name}", {"type": "x"})
    assert [row["sessionId"] for row in caller.get("/api/query/recent?limit=2")["sessions"]] == [names[3], names[2]]


@pytest.fixture(scope="module")
def gateways(caller: Caller, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """All gateways of the store: on PostgreSQL there are two."""
    if caller.engine == "sqlite":
        yield [caller.url]
        return
    with running(tmp_path_factory.mktemp("second"), "--store", caller.store_url) as second:
        yield [caller.url, second.url]


def test_concurrent_writers_do_not_collide(caller: Caller, gateways: list[str]) -> None:
    session_id = fresh()

    def write(number: int) -> list[int]:
        seqs: list[int] = []
        url = gateways[number % len(gateways)]
        with web_client(base_url=url) as client:
            for turn in range(ROUNDS):
                if turn % 4:
                    body = {"type": "one", "details": {"writer": number, "turn": turn}}
                    answer = client.post(f"/api/actions/{session_id}", json=body)
                    assert answer.status_code == 201, answer.text
                    seqs.append(answer.json()["seq"])
                else:
                    lines = [{"type": "some", "details": {"writer": number, "turn": turn}}] * 3
                    answer = client.post(f"/api/actions/{session_id}/batch", json=lines)
                    assert answer.status_code == 201, answer.text
                    seqs += answer.json()["seqs"]
        return seqs

    given = at_once(write)
    everything = sorted(seq for seqs in given for seq in seqs)
    assert everything == list(range(1, len(everything) + 1))
    log = [json.loads(line) for line in caller.bytes_at(f"/api/sessions/{session_id}/log").splitlines()]
    assert [event["seq"] for event in log] == everything
    wrote = {event["seq"]: event["payload"]["writer"] for event in log}
    for number, seqs in enumerate(given):
        assert seqs == sorted(seqs)
        assert {wrote[seq] for seq in seqs} == {number}


def test_state_is_neither_lost_nor_torn_between_concurrent_patchers(caller: Caller, gateways: list[str]) -> None:
    session_id = fresh()
    caller.patch(f"/api/state/{session_id}", {"left": -1, "right": -1, "count": 0})
    done = threading.Event()
    torn: list[Any] = []

    def look() -> None:
        with web_client(base_url=gateways[-1]) as client:
            version = 0
            while not done.is_set():
                state = client.get(f"/api/state/{session_id}").json()
                if state["left"] != state["right"] or state["version"] < version:
                    torn.append(state)
                version = state["version"]

    def patch(number: int) -> None:
        url = gateways[number % len(gateways)]
        with web_client(base_url=url) as client:
            for turn in range(ROUNDS):
                own = {"left": number, "right": number, "own": {f"w{number}": {f"t{turn}": turn}}}
                assert client.patch(f"/api/state/{session_id}", json=own).status_code == 200
            counted = 0
            while counted < 2:
                state = client.get(f"/api/state/{session_id}").json()
                step = {"count": state["count"] + 1, "expectedVersion": state["version"]}
                answer = client.patch(f"/api/state/{session_id}", json=step)
                assert answer.status_code in {200, 409}, answer.text
                counted += answer.status_code == 200

    looking = threading.Thread(target=look)
    looking.start()
    try:
        at_once(patch, 8)
    finally:
        done.set()
        looking.join()
    assert torn == []
    state = caller.get(f"/api/state/{session_id}")
    assert state["own"] == {f"w{number}": {f"t{turn}": turn for turn in range(ROUNDS)} for number in range(8)}
    assert (state["count"], state["version"]) == (16, 1 + 8 * ROUNDS + 16)


def pipelined(caller: Caller, requests: list[bytes]) -> list[Answer]:
    """The answers to requests that are sent on one connection, several at a time."""
    found: list[Answer] = []
    answers = Answers()
    with caller.connection() as raw:
        for start in range(0, len(requests), AT_A_TIME):
            raw.sendall(b"".join(requests[start : start + AT_A_TIME]))
            while len(found) < min(start + AT_A_TIME, len(requests)):
                piece = raw.recv(1 << 16)
                assert piece, f"closed after {len(found)}: {requests[len(found)][:300]!r}"
                found += answers.feed(piece)
    return found


def request_to(caller: Caller, method: str, target: str, body: Any) -> bytes:
    content = b"" if body is None else json.dumps(body).encode()
    head = (
        f"{method} {target} HTTP/1.1\r\nHost: {urlsplit(caller.url).netloc}\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


def files(caller: Caller) -> set[str]:
    """Every file of the gateway's data folder, and what is beside it; the database's own and the logs come and go."""
    folder = Path(caller.get("/api/status")["dataFolder"])
    found = {path for path in [*folder.parent.iterdir(), *folder.rglob("*")] if "logs" not in path.parts}
    return {str(path) for path in found if not path.name.endswith(("-wal", "-shm", "-journal"))}


def test_an_id_is_never_used_as_a_path(caller: Caller) -> None:
    """Every route with an id in its path, with every id that could lead elsewhere."""
    caller.post("/api/actions/anchor", {"type": "x"})
    sessions, before = len(caller.get("/api/sessions?limit=500")["sessions"]), files(caller)
    asked = 0
    for path, methods in caller.get("/openapi.json")["paths"].items():
        for method, entry in methods.items():
            names = re.findall(r"{(\w+)}", path)
            body = SMALLEST.get(entry["operationId"]) if "requestBody" in entry else None
            for name in names:
                others = {other: "anchor" for other in names if other != name}
                targets = [path.format(**others, **{name: bad}) for bad in TRAVERSALS]
                answers = pipelined(caller, [request_to(caller, method.upper(), target, body) for target in targets])
                for target, answer in zip(targets, answers, strict=True):
                    told = f"{method} {target[:200]}: {answer.status} {answer.body[:200]!r}"
                    assert answer.status < 500, told
                    assert b"root:" not in answer.body, told
                    assert b"SQLite format" not in answer.body, told
                    assert b"x-evil" not in answer.headers, told
                    if name == "session_id" and not is_an_id(target, path):
                        assert answer.status in {400, 404, 405}, told
                    if answer.status >= 400:
                        assert answer.headers[b"content-type"] == b"application/problem+json", told
                asked += len(targets)
    assert asked > 1_000
    assert files(caller) == before
    assert len(caller.get("/api/sessions?limit=500")["sessions"]) == sessions


def is_an_id(target: str, path: str) -> bool:
    """Whether what is in the place of the id is one that may be used, spelt as it may."""
    at = path.split("/").index("{session_id}")
    return re.fullmatch("[A-Za-z0-9._:-]{1,200}", target.split("/")[at]) is not None and ".." not in target.split("/")


def test_an_id_in_a_body_or_a_query_is_never_used_as_a_path(caller: Caller) -> None:
    caller.post("/api/actions/anchor", {"type": "x"})
    before = files(caller)
    for bad in (
        ".",
        "..",
        "../../etc/passwd",
        "a/b",
        "a\\b",
        "a\0b",
        "a b",
        "é",
        "\u202e",
        "a\n",
        "",
        "x" * 201,
        "a\r",
    ):
        for path, body in (
            ("/api/sessions", {"sessionId": bad}),
            ("/api/sessions", {"parentSession": bad}),
            ("/api/sessions/anchor/fork", {"sessionId": bad}),
            ("/api/sessions/anchor/reset", {"sessionId": bad}),
            ("/api/verify", {"sessions": [bad]}),
            ("/api/archives/purge", {"sessions": [bad]}),
        ):
            if bad or path in {"/api/verify", "/api/archives/purge"}:
                assert caller.post(path, body, status=400)["code"] == "invalid_input", (path, body)
        if bad:
            for path in ("/api/export?session={}", "/api/query/search?q=x&session={}"):
                assert caller.get(path.format(quote(bad)), status=400)["code"] == "invalid_input"
            with caller.follow(f"session={quote(bad)}") as live, pytest.raises(ConnectionClosed) as closed:
                told(live)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 4400
    assert files(caller) == before


def test_deletion_and_eviction_leave_nothing_dangling_in_recent(caller: Caller) -> None:
    tag, user = fresh("tag"), fresh("user")
    names = [fresh() for _ in range(8)]
    for name in names:
        caller.post("/api/sessions", {"sessionId": name, "userId": user, "tags": [tag]})
        caller.post(f"/api/actions/{name}", {"type": "note", "details": {"text": f"the kite of {tag}"}})
        caller.post(f"/api/sessions/{name}/fork", {"sessionId": f"{name}-f", "key": f"{name}/key"})
    lists = (
        "/api/query/recent?limit=16",
        f"/api/sessions?tag={tag}",
        f"/api/sessions/user/{user}",
        f"/api/sessions?q={quote(f'kite {tag}')}",
    )
    page = caller.get(f"/api/sessions?tag={tag}&limit=8")

    def work(number: int) -> None:
        with web_client(base_url=caller.url) as client:
            if number < 4:
                assert client.delete(f"/api/sessions/{names[number]}").status_code == 200
                for path in lists:
                    answer = client.get(path)
                    assert answer.status_code == 200, answer.text
                    assert names[number] not in [row["sessionId"] for row in answer.json()["sessions"]]
            else:
                for turn in range(4):
                    answer = client.get(lists[turn])
                    assert answer.status_code == 200, answer.text
                    for row in answer.json()["sessions"]:
                        assert client.get(f"/api/sessions/{row['sessionId']}").status_code in {200, 410}

    at_once(work, 6)
    left = set(names[4:])
    assert {row["sessionId"] for row in caller.get(lists[1])["sessions"] if row["sessionId"] in names} == left
    assert caller.get(f"/api/sessions?tag={tag}&limit=8&cursor={page['cursor']}")["sessions"] is not None
    for name in names[:4]:
        assert caller.get(f"/api/sessions/{name}-f")["metadata"]["lineage"]["forkedFrom"]["sessionId"] == name
    caller.post("/api/retention", {"maxSessions": 3}, status=200, timeout=170)  # of all tests that share the gateway
    for path in lists:
        for row in caller.get(path)["sessions"]:
            assert caller.get(f"/api/sessions/{row['sessionId']}")["metadata"]["sessionId"] == row["sessionId"]
    assert len(caller.get("/api/query/recent?limit=50")["sessions"]) == 3
    assert caller.get("/api/query/stats")["sessions"] == 3
    assert caller.get("/api/query/search", params={"q": f'kite "{names[7]}"'})["hits"] == []


def test_one_damaged_event_does_not_make_a_whole_session_unreadable(caller: Caller) -> None:
    session_id = fresh("damaged")
    caller.post("/api/sessions", {"sessionId": session_id, "userId": "ada"})
    caller.post(f"/api/actions/{session_id}/batch", [{"type": "n", "details": {"n": n}} for n in range(2, 10)])
    caller.patch(f"/api/state/{session_id}", {"phase": "air"})
    damage(
        caller.store_url,
        "UPDATE transcript_events SET payload = {blob} WHERE seq = 5 AND session_no = "
        f"(SELECT session_no FROM sessions WHERE session_id = '{session_id}')",
    )
    shown = caller.get(f"/api/sessions/{session_id}")
    assert [action["seq"] for action in shown["actions"]] == [2, 3, 4, 6, 7, 8, 9]
    assert [(each["seq"], "hash differs" in each["problem"]) for each in shown["damaged"]] == [(5, True)]
    refused = caller.get(f"/api/actions/{session_id}", status=500)
    assert (refused["code"], refused["seq"], "after=5" in refused["hint"]) == ("corrupt", 5, True)
    below = caller.get(f"/api/actions/{session_id}?before={refused['seq']}")["actions"]
    above = caller.get(f"/api/actions/{session_id}?after={refused['seq']}")["actions"]
    assert [action["seq"] for action in below + above] == [2, 3, 4, 6, 7, 8, 9]
    assert caller.get(f"/api/state/{session_id}")["phase"] == "air"
    newest = caller.get(f"/api/sessions/{session_id}?limit=3")
    assert [action["seq"] for action in newest["actions"]] == [7, 8, 9]
    assert (newest["metadata"]["headSeq"], "damaged" in newest) == (10, False)
    assert caller.post(f"/api/actions/{session_id}", {"type": "after"})["seq"] == 11
    assert "damaged" in caller.get(f"/api/sessions/{session_id}")
    with caller.follow(f"session={session_id}&after=5") as live:
        assert [told(live).get("seq") for _ in range(7)] == [None, 6, 7, 8, 9, 10, 11]
    assert session_id in [row["sessionId"] for row in caller.get("/api/query/recent")["sessions"]]
    lines = caller.client.post("/api/verify", json={"sessions": [session_id]}).text.splitlines()
    assert json.loads(lines[1])["badSeq"] == 5
    damage(
        caller.store_url,
        "DELETE FROM transcript_events WHERE seq = 7 AND session_no = "
        f"(SELECT session_no FROM sessions WHERE session_id = '{session_id}')",
    )
    shown = caller.get(f"/api/sessions/{session_id}")
    assert [action["seq"] for action in shown["actions"]] == [2, 3, 4, 6, 9, 11]
    assert [each["seq"] for each in shown["damaged"]] == [5, 7, 8]
    other = fresh()
    caller.post(f"/api/actions/{other}", {"type": "x"})
    assert len(caller.get(f"/api/actions/{other}")["actions"]) == 1
    caller.ask("DELETE", f"/api/sessions/{session_id}")


def test_a_value_that_begins_with_a_plus_is_kept_as_it_is(caller: Caller) -> None:
    session_id = fresh()
    plus = {"a": "+1", "b": ["+2", {"c": "+"}], "+key": "+49 89 1234", "n": 5}
    caller.post("/api/sessions", {"sessionId": session_id, "userId": "+49", "metadata": plus, "tags": ["+t"]})
    caller.post(f"/api/actions/{session_id}", {"type": "+type", "details": plus})
    for _ in range(2):
        caller.patch(f"/api/state/{session_id}", {**plus, "n": "+1"})
        caller.patch(f"/api/sessions/{session_id}/metadata", {"n": "+1"})
    caller.post(f"/api/state/{session_id}/goals", {"description": "+1", "goalId": "+g"})
    caller.post(f"/api/state/{session_id}/agents", {"type": "+1", "task": "+2", "agentId": "+a"})
    caller.post(f"/api/state/{session_id}/agents/%2Ba/complete", {"result": "+3"}, status=200)
    shown = caller.get(f"/api/sessions/{session_id}")
    assert (shown["actions"][0]["type"], shown["actions"][0]["details"]) == ("+type", plus)
    assert {name: shown["state"][name] for name in plus} == {**plus, "n": "+1"}
    assert shown["metadata"]["metadata"] == {**plus, "n": "+1"}
    assert (shown["metadata"]["userId"], shown["metadata"]["tags"]) == ("+49", ["+t"])
    assert (shown["state"]["goals"][0]["description"], shown["state"]["goals"][0]["goalId"]) == ("+1", "+g")
    assert [shown["state"]["agents"][0][name] for name in ("type", "task", "result")] == ["+1", "+2", "+3"]
    for query in ("tag=%2Bt", "user=%2B49"):
        assert session_id in [row["sessionId"] for row in caller.get(f"/api/sessions?{query}")["sessions"]]
    assert len(caller.get(f"/api/actions/{session_id}?type=%2Btype")["actions"]) == 1
