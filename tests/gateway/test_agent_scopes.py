"""`POST /a2a` by the method that it calls: who may read reads, who may write also sends; and its other door rules."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.a2a.harness import message, sending
from tests.gateway.calling import checked
from tests.gateway.holders import Wanted, bearer, client, make_tokens
from tests.gateway.process import Running, running

from holdfast.a2a.protocol import v03, v10
from holdfast.a2a.protocol.wire import READING, Operation

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
MIB = 1024 * 1024
WIRES = {"1.0": v10, "0.3": v03}
HOLDERS = {"read": ["read"], "write": ["write"], "both": ["read", "write"], "metrics": ["metrics"]}


@pytest.fixture(scope="module")
def tokens() -> dict[str, str]:
    return {}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory, tokens: dict[str, str]) -> Iterator[Running]:
    data = tmp_path_factory.mktemp("data")
    tokens |= make_tokens(f"sqlite:///{data}/holdfast.db", {name: Wanted(scopes) for name, scopes in HOLDERS.items()})
    with running(data, "--a2a-card", "both") as made:
        yield made


@pytest.fixture(scope="module")
def asking(gateway: Running) -> Iterator[httpx2.Client]:
    with client(gateway.url) as made:
        yield made


def call(asking: httpx2.Client, token: str, method: str, params: Any, wire: str, path: str = "/a2a") -> httpx2.Response:
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return asking.post(path, json=request, headers=bearer(token) | {"A2A-Version": wire})


def told(asking: httpx2.Client, token: str, text: str) -> str:
    """The id of the task that answered a message."""
    answer = call(asking, token, "message/send", message(text, None, text), "0.3").json()
    task_id: str = answer["result"]["id"]
    return task_id


@pytest.mark.parametrize("wire", WIRES)
def test_each_method_is_for_those_who_may(asking: httpx2.Client, tokens: dict[str, str], wire: str) -> None:
    """The params name nothing that is there, so that what is let in changes nothing."""
    for method, operation in WIRES[wire].OPERATIONS.items():
        for holder, scopes in HOLDERS.items():
            answer = call(asking, tokens[holder], method, {"id": "nope", "taskId": "nope"}, wire)
            if "write" in scopes or ("read" in scopes and operation in READING):
                assert answer.status_code == 200, (method, holder, answer.text)
            else:
                problem = checked(answer)
                assert (answer.status_code, problem["code"], problem["needs"]) == (403, "forbidden", "write"), method
    assert {Operation.SEND, Operation.STREAM, Operation.CANCEL, Operation.PUSH_SET, Operation.PUSH_DELETE} == set(
        WIRES[wire].OPERATIONS.values()
    ) - READING


def test_the_page_names_the_methods_that_who_may_read_may_call() -> None:
    section = PAGE.read_text().partition("## Scopes and routes")[2].partition("\n## ")[0]
    named = {each for each in re.findall(r"`(\w+)`", section) if each in v10.OPERATIONS}
    assert named == {method for method, operation in v10.OPERATIONS.items() if operation in READING}


@pytest.mark.parametrize("wire", WIRES)
def test_who_may_read_sees_tasks_and_begins_none(asking: httpx2.Client, tokens: dict[str, str], wire: str) -> None:
    task_id = told(asking, tokens["both"], f"seen by {wire}")
    reader = tokens["read"]
    got = call(asking, reader, "GetTask" if wire == "1.0" else "tasks/get", {"id": task_id}, wire).json()
    assert got["result"]["id"] == task_id
    before = call(asking, reader, "ListTasks", {}, "1.0").json()["result"]["totalSize"]
    sent = ("SendMessage", sending("no", None)) if wire == "1.0" else ("message/send", message("no", None))
    for path in ("/a2a", "/a2a/"):
        assert call(asking, reader, *sent, wire, path).status_code == 403
    without_id = {"jsonrpc": "2.0", "method": sent[0], "params": sent[1]}
    asking.post("/a2a", json=without_id, headers=bearer(reader) | {"A2A-Version": wire})
    assert call(asking, reader, "ListTasks", {}, "1.0").json()["result"]["totalSize"] == before


@pytest.mark.parametrize("wire", WIRES)
def test_a_slash_at_the_end_makes_no_other_place(asking: httpx2.Client, tokens: dict[str, str], wire: str) -> None:
    """Neither for who may, nor for how much."""
    method = "GetTask" if wire == "1.0" else "tasks/get"
    request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"id": "nope"}}).encode()
    headers = bearer(tokens["write"]) | {"A2A-Version": wire, "Content-Type": "application/json"}
    more_than_other_routes_take = b" " * (17 * MIB)
    answer = asking.post("/a2a/", content=request + more_than_other_routes_take, headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (200, -32001)
    assert asking.post("/a2a/", json={}).status_code == 401
    assert asking.post("/a2a//", json={}, headers=bearer(tokens["write"])).status_code == 404


def test_a_form_is_no_call(asking: httpx2.Client, tokens: dict[str, str]) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"} | bearer(tokens["write"])
    answer = asking.post("/a2a", content=b'{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{}}', headers=form)
    assert (answer.status_code, answer.json()["error"]["code"]) == (415, -32005)


def test_the_card_keeps_its_own_cache_headers(asking: httpx2.Client) -> None:
    card = asking.get("/.well-known/agent-card.json")
    assert card.headers["cache-control"] == "public, max-age=300"
    assert card.json()["capabilities"]["extendedAgentCard"] is True
    again = asking.get("/.well-known/agent-card.json", headers={"If-None-Match": card.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
