"""Three tenants with the same ids for everything, and no byte of one in what another is told.

Each tenant's values hold a mark of its own. Every route of the OpenAPI document is asked by each of them, over a real
gateway, on both engines; a new route needs its calls here.
"""

import asyncio
import hashlib
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
from tests.gateway.calling import told
from tests.gateway.holders import Wanted, client, events, follow, make_tokens
from tests.gateway.process import PATIENCE, Running, running
from tests.gateway.test_problems_everywhere import SMALLEST
from websockets.exceptions import ConnectionClosed

from holdfast.store import open_store
from holdfast.store.operators import proof_id_of

NAMES = ("co-ecylwtxz", "co-epdnndzu", "third")
"""The first two have the same CRC-32, which is all that the index of words knows of a tenant."""
MARKS = {name: f"mark{colour}7193" for name, colour in zip(NAMES, ("red", "green", "blue"), strict=True)}
KEY = "agent:main:same"
SAME_BYTES = b"the same bytes for all"
PLACES = {
    "session_id": "same",
    "checkpoint_id": "cp",
    "goal_id": "goal-001",
    "agent_id": "a1",
    "key": KEY,
    "user_id": "ada",
    "token_id": "nobody",
    "task_id": "nobody",
    "digest": hashlib.sha256(SAME_BYTES).hexdigest(),
    "seq": "1",
    "version": "1",
}
OPERATORS = {
    *("POST /api/backup", "GET /api/logs", "GET /metrics"),
    *("GET /api/tokens", "POST /api/tokens", "DELETE /api/tokens/{token_id}"),
}
OF_THE_MOMENT = {
    "GET /api/overview",
    "GET /health",
    "GET /readyz",
    "GET /api/status",
    "GET /api/audit",
    "GET /api/feed",
}
QUIET = {
    *("GET /", "GET /health", "GET /readyz", "GET /api/status"),
    *("GET /api/keys/{key}", "GET /api/query/stats", "GET /api/query/usage", "GET /api/audit"),
    *("GET /api/caller", "GET /api/tasks", "GET /api/tasks/{task_id}", "GET /api/state/{session_id}/versions"),
    *("GET /api/sessions/{session_id}/prompts", "GET /api/sessions/{session_id}/verification"),
}
"""Routes that say nothing of what is in sessions."""


class Call(NamedTuple):
    """A request: a route, what is put in its braces where that is not the usual, its query and its body."""

    route: str
    body: Any = None
    query: str = ""
    session: str = "same"
    key: str | None = None
    proof: str = "nobody"

    @property
    def path(self) -> str:
        places = PLACES | {"session_id": self.session, "proof_id": self.proof}
        path = re.sub(r"{(\w+)}", lambda found: places[found[1]], self.route.split(" ")[1])
        return f"{path}?{self.query}" if self.query else path


@dataclass(slots=True)
class Tenant:
    """A tenant's admin."""

    name: str
    url: str
    token: str
    http: httpx2.Client
    called: set[str] = field(default_factory=set)

    @property
    def mark(self) -> str:
        return MARKS[self.name]

    def send(self, call: Call) -> httpx2.Response:
        """The answer, in which nothing of any other tenant may be."""
        method = call.route.split(" ")[0]
        given = (
            {"content": call.body} if isinstance(call.body, bytes) else {} if call.body is None else {"json": call.body}
        )
        headers = {} if call.key is None else {"Idempotency-Key": call.key}
        answer = self.http.request(method, call.path, headers=headers, **given)
        self.called.add(call.route)
        assert self.foreign(said(answer)) == [], (call, answer.text[:500])
        return answer

    def does(self, call: Call) -> Any:
        """The value of an answer that says yes."""
        answer = self.send(call)
        assert answer.status_code < 300, (call, answer.text[:500])
        return answer.json() if answer.headers["content-type"] == "application/json" else answer.content

    def foreign(self, data: bytes) -> list[str]:
        """The marks of others that are in these bytes."""
        return [mark for name, mark in MARKS.items() if name != self.name and mark.encode() in data]

    def asks_agent(self, text: str, message_id: str) -> dict[str, Any]:
        """The task of a turn in the context that all tenants use."""
        part = {"kind": "text", "text": text}
        message = {"kind": "message", "role": "user", "messageId": message_id, "contextId": "ctx", "parts": [part]}
        answer = self.rpc("message/send", {"message": message, "configuration": {"blocking": True}})
        task: dict[str, Any] = answer["result"]
        return task

    def rpc(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """What A2A answers."""
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        found: dict[str, Any] = self.send(Call("POST /a2a", call)).json()
        return found


def said(answer: httpx2.Response) -> bytes:
    """All that an answer says: its headers, its body, and what is packed in it."""
    headers = b"\n".join(name + b":" + value for name, value in answer.headers.raw)
    body = answer.content
    if answer.headers.get("content-type") == "application/zip":
        with zipfile.ZipFile(io.BytesIO(body)) as packed:
            body += b"".join(name.encode() + packed.read(name) for name in packed.namelist())
    return headers + b"\n" + body


def writes(mark: str) -> list[Call]:
    """What each tenant does, in this order: the same, but for its mark."""
    text = {"text": f"common {mark}"}
    described = {"initial": text, "tags": ["t", mark], "metadata": {"m": mark}, "userId": "ada", "agent": mark}
    return [
        Call("POST /api/sessions", {"sessionId": "same", **described}, key="k0"),
        Call("POST /api/actions/{session_id}", {"type": "n", "details": text, "eventId": "e", "idempotencyKey": "k"}),
        Call("POST /api/actions/{session_id}", {"type": "n", "details": text, "eventId": "e", "idempotencyKey": "k"}),
        Call("POST /api/actions/{session_id}/batch", [{"type": mark}, {"type": "b", "details": text}], key="k1"),
        Call("POST /api/actions/{session_id}/responses", {"details": text}, key="k2"),
        Call("PATCH /api/state/{session_id}", {"phase": mark}, key="k3"),
        Call("POST /api/state/{session_id}/goals", {"description": mark}, key="k4"),
        Call("PATCH /api/state/{session_id}/goals/{goal_id}", {"description": f"more {mark}"}, key="k5"),
        Call("POST /api/state/{session_id}/agents", {"type": mark, "agentId": "a1", "task": text}, key="k6"),
        Call("POST /api/state/{session_id}/agents/{agent_id}/complete", {"result": text}, key="k7"),
        Call("PATCH /api/sessions/{session_id}/metadata", {"more": mark}, key="k8"),
        Call("POST /api/sessions/{session_id}/tags", {"add": [f"{mark}-2"]}, key="k9"),
        Call("POST /api/sessions/{session_id}/checkpoints", {"name": mark, "checkpointId": "cp"}, key="k10"),
        Call("POST /api/sessions/{session_id}/compact", {"summary": text, "lastSeq": 2, "name": mark}, key="k11"),
        Call("POST /api/sessions/{session_id}/fork", {"at": 3, "sessionId": "fork", "key": KEY}, key="k12"),
        Call("POST /api/sessions/{session_id}/checkpoints/{checkpoint_id}/branch", {}, key="k13"),
        Call("POST /api/sessions/{session_id}/checkpoints/{checkpoint_id}/restore", {"sessionId": "back"}, key="k14"),
        Call("POST /api/sessions/{session_id}/hold", {"held": True, "reason": mark}, session="back"),
        Call("POST /api/sessions/{session_id}/hold", {"held": False, "reason": mark}, session="back"),
        Call("POST /api/keys/{key}/reset", {"sessionId": "second"}, key="k15"),
        Call("POST /api/sessions/{session_id}/reset", {"sessionId": "third"}, session="second", key="k16"),
        Call(
            "POST /api/sessions/{session_id}/finalize", {"outcome": text, "response": text}, session="fork", key="k17"
        ),
        Call("POST /api/sessions", {"sessionId": f"only-{mark}", **described, "userId": mark}),
        Call("POST /api/sessions/{session_id}/fork", {"key": f"key-{mark}"}, session=f"only-{mark}"),
        Call("POST /api/sessions", {"sessionId": f"gone-{mark}", **described}),
        Call("DELETE /api/sessions/{session_id}", query=f"reason={mark}", session=f"gone-{mark}"),
        Call("POST /api/sessions", {"sessionId": "gone", **described}),
        Call("DELETE /api/sessions/{session_id}", query=f"reason={mark}", session="gone"),
        Call("POST /api/sessions", {"sessionId": f"back-{mark}", **described}),
        Call("DELETE /api/sessions/{session_id}", session=f"back-{mark}"),
        Call("POST /api/archives/{session_id}/restore", session=f"back-{mark}"),
        Call("POST /api/chat/{key}", {"text": f"common {mark}"}, key="k18"),
        Call("POST /api/proofs", run_of(mark)),
        Call("PUT /api/memories", {"namespace": "user:ada", "key": "eats", "value": text}, key="k19"),
        Call("PUT /api/memories", {"namespace": "user:ada", "key": "gone", "value": text}, key="k20"),
        Call("POST /api/memories/forget", {"namespace": "user:ada", "key": "gone"}),
        Call("POST /api/verify"),
        Call("POST /api/retention", {"maxSessions": 0, "dryRun": True}),
        Call("POST /api/archives/purge", {"olderThanMs": 0, "dryRun": True}),
    ]


def run_of(mark: str) -> bytes:
    """The summary of a run that a tenant posts."""
    run = {**SMALLEST["post_proof"], "target": {"name": mark}, "proofs": [{"name": "name", "verdict": "proven"}]}
    return json.dumps(run).encode()


def reads(mark: str) -> list[Call]:
    """Everything that can be asked, in many ways."""
    queries = {
        "GET /": [""],
        "GET /health": [""],
        "GET /readyz": [""],
        "GET /api/sessions": [
            *("", "user=ada", "tag=t", f"tag={mark}", "status=active", "status=completed", "q=common", f"q={mark}"),
            *("summaries=true", "summaries=true&q=common", f"agent={mark}&held=false"),
            *("from=2020-01-01T00:00:00Z&to=2100-01-01T00:00:00Z", "limit=1", "user=ada&tag=t&q=common&limit=200"),
        ],
        "GET /api/sessions/{session_id}": ["", "limit=1000", "summaries=true"],
        "GET /api/sessions/{session_id}/events": ["", "full=true", "type=n", "after=0", "before=4"],
        "GET /api/sessions/{session_id}/events/{seq}": [""],
        "GET /api/sessions/{session_id}/prompts": [""],
        "GET /api/sessions/{session_id}/children": [""],
        "GET /api/sessions/{session_id}/markdown": [""],
        "GET /api/sessions/{session_id}/verification": [""],
        "GET /api/state/{session_id}/versions": [""],
        "GET /api/state/{session_id}/versions/{version}": [""],
        "GET /api/tasks": ["", "session=same"],
        "GET /api/tasks/{task_id}": [""],
        "GET /api/memories/namespaces": [""],
        "GET /api/memories": ["namespace=user:ada", "q=common", f"q={mark}&namespace=user:ada", "limit=1"],
        "GET /api/memories/history": ["namespace=user:ada&key=drink", "namespace=user:ada&key=gone"],
        "GET /api/caller": [""],
        "GET /api/sessions/{session_id}/resume": ["", "limit=1000"],
        "GET /api/sessions/{session_id}/log": ["", "after=2&limit=3"],
        "GET /api/sessions/{session_id}/checkpoints": [""],
        "GET /api/sessions/user/{user_id}": ["", "limit=1"],
        "GET /api/state/{session_id}": [""],
        "GET /api/query/recent": ["", "limit=200"],
        "GET /api/query/stats": ["", "days=3660"],
        "GET /api/query/usage": ["session=same"],
        "GET /api/query/search": [
            *("q=common", f"q={mark}", "q=comm*", "q=common&limit=1", 'q="common"', "q=common%20-nothing"),
            *("q=common&session=same", "q=common&user=ada", "q=common&type=n", "q=common&user=ada&session=same&type=n"),
        ],
        "GET /api/keys/{key}": [""],
        "GET /api/chat/{key}/history": ["", "limit=2"],
        "GET /api/export": ["", "session=same", "session=same&session=stored"],
        "GET /api/status": [""],
        "GET /api/archives": ["", "limit=1", f"cursor=gone-{mark}"],
        "GET /api/audit": ["", "limit=1"],
        "GET /api/overview": ["", "days=366"],
        "GET /api/proofs": ["", "limit=1", "kind=runtime"],
        "GET /api/actions/{session_id}": ["", "limit=1000", "before=3", "after=1", "type=n", "type=n&type=b"],
    }
    stored = ("GET /api/sessions/{session_id}/attachments", "GET /api/sessions/{session_id}/attachments/{digest}")
    return [
        *(Call(route, query=query) for route, each in queries.items() for query in each),
        *(Call(route, session="stored") for route in stored),
        Call("GET /api/proofs/{proof_id}", proof=proof_id_of(run_of(mark))),
    ]


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def gateway(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Running, Path, dict[str, str]]]:
    data = tmp_path_factory.mktemp("data")
    url = f"sqlite:///{data}/holdfast.db"
    if request.param == "postgresql":
        url = request.getfixturevalue("postgres").new_database()
    tokens = make_tokens(url, {name: Wanted(["admin"], name) for name in NAMES} | {"watch": Wanted(["metrics"])})
    asyncio.run(keep_beside(url))
    with running(data, "--store", url) as made:
        yield made, data, tokens


async def keep_beside(store_url: str) -> None:
    """What no route takes: memories, attachments, usage, effects."""
    async with await open_store(store_url) as whole:
        for name, mark in MARKS.items():
            store = whole.for_tenant(name)
            await store.memories.put("user:ada", "drink", {"likes": f"common {mark}"}, source=mark)
            await store.memories.put(f"user:{mark}", mark, {"likes": f"common {mark}"})
            for data in (f"common {mark}".encode(), SAME_BYTES):
                kept = await store.attachments.put(data)
                await store.attachments.attach("stored", kept.digest, name=f"{mark}.txt", media_type="text/plain")
            await store.usage.record("stored", mark, input_tokens=len(name), output_tokens=1)
            await store.effects.start("stored", "call", mark, {"a": mark})


@pytest.fixture(scope="module")
def tenants(gateway: tuple[Running, Path, dict[str, str]]) -> Iterator[list[Tenant]]:
    """All three, after each has done the same."""
    here, _, tokens = gateway
    with ExitStack() as stack:
        made = [
            Tenant(name, here.url, tokens[name], stack.enter_context(client(here.url, tokens[name]))) for name in NAMES
        ]
        for tenant in made:
            for call in writes(tenant.mark):
                tenant.does(call)
            tenant.does(Call("POST /api/import", tenant.does(Call("GET /api/export"))))
        yield made


def test_no_route_tells_of_another_tenant(tenants: list[Tenant], gateway: tuple[Running, Path, dict[str, str]]) -> None:
    for tenant in tenants:
        for call in reads(tenant.mark):
            own = tenant.mark.encode() in said(tenant.send(call))
            assert own or call.route in QUIET or "limit=1" in call.query, call
        assert tenant.send(Call("POST /api/sessions/{session_id}/interrupt", {})).status_code == 409, "no turn runs"
        assert tenant.send(Call("POST /api/tasks/{task_id}/answer", {"text": "yes"})).status_code == 404
        served = tenant.http.get("/openapi.json").json()["paths"]
        routes = {f"{method.upper()} {path}" for path, methods in served.items() for method in methods}
        assert routes - tenant.called == OPERATORS | {"GET /api/feed"}
        for route in OPERATORS:
            assert tenant.send(Call(route, {} if route.startswith("POST") else None)).status_code == 403
    here, _, tokens = gateway
    with client(here.url, tokens["watch"]) as watching:
        assert not [mark for mark in (*MARKS.values(), *NAMES) if mark in watching.get("/metrics").text]


def used(tenant: Tenant, session_id: str) -> int:
    """The tokens that a session's own log says went into models."""
    lines = tenant.send(Call("GET /api/sessions/{session_id}/log", session=session_id)).content.splitlines()
    events = [json.loads(line) for line in lines]
    return sum(event["payload"]["inputTokens"] for event in events if event["type"] == "holdfast.usage_recorded")


def test_totals_count_ones_own(tenants: list[Tenant]) -> None:
    for tenant in tenants:
        listed = tenant.does(Call("GET /api/sessions", query="limit=200"))["sessions"]
        stats = tenant.does(Call("GET /api/query/stats"))
        assert stats["sessions"] == tenant.does(Call("GET /api/status"))["sessions"] == len(listed)
        assert stats["tokens"]["inputTokens"] == sum(used(tenant, session["sessionId"]) for session in listed)
        assert len(tenant.does(Call("GET /api/archives"))["archives"]) == 2
        *_, last = tenant.does(Call("POST /api/verify")).splitlines()
        assert json.loads(last) == {"done": True, "verified": len(listed), "bad": 0}


def test_nothing_of_others_is_found_by_looking_for_it(tenants: list[Tenant]) -> None:
    """Their words, their tags, their users, their places in lists."""
    for tenant in tenants:
        for other in tenants:
            if other is tenant:
                continue
            for query in (
                f"q={other.mark}",
                f"q=common%20{other.mark}",
                f"q={other.mark[:8]}*",
                f"q=common&user={other.mark}",
            ):
                assert tenant.http.get(f"/api/query/search?{query}").json()["hits"] == [], query
                assert tenant.http.get(f"/api/sessions?{query}").json()["sessions"] == [], query
            for query in (f"tag={other.mark}", f"user={other.mark}"):
                assert tenant.http.get(f"/api/sessions?{query}").json()["sessions"] == []
            for route, query in {
                "GET /api/sessions": "limit=1",
                "GET /api/sessions/user/{user_id}": "limit=1",
                "GET /api/query/search": "q=common&limit=1",
                "GET /api/audit": "limit=1",
                "GET /api/archives": "limit=1",
            }.items():
                theirs = other.does(Call(route, query=query))["cursor"]
                if route != "GET /api/archives":
                    assert tenant.send(Call(route, query=f"{query}&cursor={theirs}")).status_code in {200, 400}


def test_what_another_has_is_answered_as_what_nobody_has(tenants: list[Tenant]) -> None:
    """The same 404, but for the name that was asked for."""
    red, green, _ = tenants
    served = green.http.get("/openapi.json").json()["paths"]
    for theirs in (f"only-{red.mark}", f"gone-{red.mark}"):
        calls = list(zip(about(served, theirs), about(served, theirs[::-1]), strict=True))
        assert len(calls) > 25
        for one, other in calls:
            found = bare(request(green, one), theirs)
            assert found == bare(request(green, other), theirs[::-1]), one
            assert found[0] == 404, one
        assert closed(green, theirs) == closed(green, theirs[::-1])
    for path in ("GET /api/keys/{}", "POST /api/keys/{}/reset"):
        keys = (f"key-{red.mark}", f"yek-{red.mark}")
        hers, nobodys = (bare(request(green, Call(path.format(key))), key) for key in keys)
        assert hers == nobodys
        assert hers[0] == 404
    assert (
        green.http.get(f"/api/sessions/user/{red.mark}").content == green.http.get("/api/sessions/user/nobody").content
    )


def test_tasks_and_bytes_of_another_are_answered_as_those_of_nobody(tenants: list[Tenant]) -> None:
    red, green, _ = tenants
    task = red.does(Call("GET /api/tasks", query="limit=1"))["tasks"][0]["taskId"]
    for path in ("GET /api/tasks/{}", "POST /api/tasks/{}/answer"):
        body = {"text": "yes"} if path.startswith("POST") else None
        names = (task, task[::-1])
        hers, nobodys = (bare(request(green, Call(path.format(name), body)), name) for name in names)
        assert hers == nobodys
        assert hers[0] == 404
    listed = red.does(Call("GET /api/sessions/{session_id}/attachments", session="stored"))["attachments"]
    own = {each["digest"] for each in listed} - {PLACES["digest"]}
    for digest in own:
        path = f"/api/sessions/stored/attachments/{digest}"
        assert red.http.get(path).status_code == 200
        assert green.http.get(path).status_code == 404


def about(served: dict[str, Any], session: str) -> Iterator[Call]:
    """A request of every route that can name a session, for this one."""
    for path, methods in served.items():
        for method, entry in methods.items():
            names = {each["name"] for each in entry.get("parameters", ())}
            if "{session_id}" in path or "session" in names:
                body = SMALLEST[entry["operationId"]] if "requestBody" in entry else None
                yield Call(f"{method.upper()} {path}", body, f"create=false&q=x&session={session}", session)
    yield Call("POST /api/verify", {"sessions": [session]})
    yield Call("POST /api/archives/purge", {"sessions": [session]})
    yield Call("GET /api/archives", query=f"cursor={session}")


def request(tenant: Tenant, call: Call) -> httpx2.Response:
    """The answer, whatever names are in it."""
    given = {} if call.body is None else {"json": call.body}
    return tenant.http.request(call.route.split(" ")[0], call.path, **given)


def bare(answer: httpx2.Response, name: str) -> tuple[int, bytes, list[tuple[bytes, bytes]]]:
    """An answer without the name that it was asked for, and without the time."""
    headers = [each for each in answer.headers.raw if each[0].lower() != b"date"]
    return answer.status_code, answer.content.replace(name.encode(), b"X"), headers


def closed(tenant: Tenant, session: str) -> tuple[int, str]:
    """How a live feed of a session is refused."""
    with follow(tenant.url, f"session={session}", tenant.token) as live, pytest.raises(ConnectionClosed) as end:
        live.recv(timeout=PATIENCE)
    assert end.value.rcvd is not None
    return end.value.rcvd.code, end.value.rcvd.reason.replace(session, "X")


def test_conversations_of_the_same_name_are_not_the_same(
    tenants: list[Tenant], gateway: tuple[Running, Path, dict[str, str]]
) -> None:
    _, data, _ = gateway
    tasks = {}
    for tenant in tenants:
        first = tenant.asks_agent(f"My name is {tenant.mark}.", "m1")
        assert tenant.asks_agent(f"My name is {tenant.mark}.", "m1")["id"] == first["id"]
        tasks[tenant.name] = first["id"]
        tenant.asks_agent(f"Append the line {tenant.mark} to the file notes.txt", "m2")
    for tenant in tenants:
        answer = tenant.asks_agent("What is my name?", "m3")
        assert tenant.mark in json.dumps(answer["artifacts"])
        written = (data / f"workspace-{tenant.name}" / "notes.txt").read_text()
        assert written == f"{tenant.mark}\n"
    assert len(set(tasks.values())) == 3
    red, green, _ = tenants
    for method in ("tasks/get", "tasks/cancel"):
        theirs, nobodys = (green.rpc(method, {"id": task}) for task in (tasks[red.name], tasks[red.name][::-1]))
        assert json.dumps(theirs).replace(tasks[red.name], "X") == json.dumps(nobodys).replace(
            tasks[red.name][::-1], "X"
        )
        assert theirs["error"]["code"] == -32001
    part = {"kind": "text", "text": "go on"}
    message = {"kind": "message", "role": "user", "messageId": "m9", "taskId": tasks[red.name], "parts": [part]}
    assert green.rpc("message/send", {"message": message})["error"]["code"] == -32001
    assert red.rpc("tasks/get", {"id": tasks[red.name]})["result"]["status"]["state"] == "completed"


def test_what_one_does_is_neither_seen_nor_felt_by_another(tenants: list[Tenant]) -> None:
    """Live, from the past, and in what they have: red removes all it has, and the others keep every byte."""
    red, *others = tenants
    began = f"{others[0].does(Call('GET /api/status'))['storeId']}.0.0"
    before = {tenant.name: snapshot(tenant) for tenant in others}
    with ExitStack() as stack:
        feeds: list[tuple[Tenant, str, Callable[[], dict[str, Any]]]] = []
        for tenant in others:
            for query in ("", "user=ada", "session=same"):
                live = stack.enter_context(follow(tenant.url, query, tenant.token))
                assert told(live)["type"] == "connected"
                stream = stack.enter_context(events(tenant.url, tenant.token, query))
                feeds.append((tenant, query, partial(told, live)))
                feeds.append((tenant, query, lambda stream=stream: next(stream)[1]))  # type: ignore[misc]
        remove_everything(red)
        assert {tenant.name: snapshot(tenant) for tenant in others} == before
        for tenant in others:
            tenant.does(Call("POST /api/actions/{session_id}", {"type": "sentinel", "details": tenant.mark}))
        for tenant, query, following in feeds:
            message = following()
            assert (message["sessionId"], message["data"]["details"]) == ("same", tenant.mark), (tenant.name, query)
    for tenant in tenants:
        with follow(tenant.url, f"cursor={began}", tenant.token) as live:
            past = b""
            while b"sentinel" not in past if tenant is not red else b"session_deleted" not in past:
                piece = live.recv(timeout=PATIENCE)
                past = piece.encode() if isinstance(piece, str) else piece
                assert tenant.foreign(past) == []


def remove_everything(tenant: Tenant) -> None:
    """Change, then delete and purge all that a tenant has, and begin anew."""
    for body in ({"type": "n"}, {"type": "n", "eventId": "e2"}):
        tenant.does(Call("POST /api/actions/{session_id}", body))
    tenant.does(Call("DELETE /api/sessions/{session_id}"))
    assert tenant.does(Call("POST /api/retention", {"maxSessions": 0}))["deleted"]
    assert tenant.does(Call("GET /api/sessions"))["sessions"] == []
    assert len(tenant.does(Call("POST /api/archives/purge", {"olderThanMs": 0}))["purged"]) > 5
    assert tenant.send(Call("GET /api/sessions/{session_id}")).status_code == 410


def snapshot(tenant: Tenant) -> list[tuple[Call, int, bytes]]:
    """All that a tenant can read, byte for byte."""
    answers = [(call, tenant.send(call)) for call in reads(tenant.mark) if call.route not in OF_THE_MOMENT]
    return [(call, answer.status_code, answer.content) for call, answer in answers]
