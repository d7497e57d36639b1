"""Every route, asked by everybody: the table of scopes on the security page is what a gateway does.

The routes are those of the OpenAPI document, and a few beside it; a new one needs its place in the table. `POST /a2a`,
where the method counts, is in test_agent_scopes.
"""

import http.client
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from tests.gateway.calling import checked
from tests.gateway.holders import Wanted, bearer, client, follow, make_tokens
from tests.gateway.process import PATIENCE, Running, running
from tests.gateway.raw import HOST, raw
from websockets.exceptions import ConnectionClosed, InvalidStatus

from holdfast.store.operators.tokens import SCOPES

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
ROW = re.compile(r"^\| (?:nothing|`(\w+)`) \| (`[^|]+`) \|$", re.M)
UNDOCUMENTED = {
    *("GET /docs", "GET /openapi.json", "GET /agent-card", "GET /.well-known/agent-card.json"),
    *("POST /a2a/uploads", "WS /ws"),
}
INCLUDED = {"operator": set(SCOPES), "admin": {"admin", "read", "write", "proofs"}}

HOLDERS = {
    **{scope: Wanted([scope]) for scope in SCOPES},
    "read and write": Wanted(["read", "write"]),
    "revoked": Wanted(SCOPES, revoked=True),
    "expired": Wanted(SCOPES, lasts_ms=1),
}


def table() -> dict[str, str | None]:
    """The scope that each route needs, as the page says it."""
    section = PAGE.read_text().partition("## Scopes and routes")[2].partition("\n## ")[0]
    return {
        route: scope or None for scope, routes in ROW.findall(section) for route in re.findall(r"`([^`]+)`", routes)
    }


@pytest.fixture(scope="module")
def tokens() -> dict[str, str]:
    return {}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory, tokens: dict[str, str]) -> Iterator[Running]:
    data = tmp_path_factory.mktemp("data")
    tokens |= make_tokens(f"sqlite:///{data}/holdfast.db", HOLDERS)
    first = next(iter(tokens.values()))
    tokens["unknown"] = first[:-20] + "A" * 20
    with running(data) as made:
        yield made


@pytest.fixture(scope="module")
def asking(gateway: Running) -> Iterator[httpx2.Client]:
    with client(gateway.url) as made:
        yield made


def allowed(holder: str | None, needs: str | None) -> bool:
    """Whether who has this token may use a route that needs this."""
    scopes = set(HOLDERS[holder].scopes) if holder in HOLDERS and holder not in {"revoked", "expired"} else set()
    return needs is None or any(needs in {"any", *INCLUDED.get(each, {each})} for each in scopes)


def filled(route: str) -> tuple[str, str, dict[str, Any]]:
    """A request that changes nothing, whoever sends it: for what is not there, with a body that is none."""
    method, path = route.split(" ")
    content = {} if method in {"GET", "DELETE"} else {"content": b"{"}
    return method, re.sub(r"{\w+}", "nobody", path) + "?session=nobody&q=x", content


def test_every_route_is_in_the_table(asking: httpx2.Client) -> None:
    paths = asking.get("/openapi.json").json()["paths"]
    served = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    assert served | UNDOCUMENTED == set(table())
    assert len(served) > 40


@pytest.mark.parametrize("holder", [None, "unknown", *HOLDERS])
def test_each_route_is_for_those_who_may(asking: httpx2.Client, tokens: dict[str, str], holder: str | None) -> None:
    known = holder is not None and holder not in {"unknown", "revoked", "expired"}
    for route, needs in table().items():
        if route.startswith("WS"):
            continue
        method, path, content = filled(route)
        headers = bearer(tokens.get(holder or ""))
        answer = asking.request(method, path, headers=headers, **content)
        if method == "GET":
            head = asking.head(path, headers=headers)
            assert head.status_code in {answer.status_code, 405}, route
            assert head.status_code == answer.status_code or allowed(holder, needs)
        if allowed(holder, needs):
            assert answer.status_code not in {401, 403}, (route, answer.text)
            assert answer.status_code < 500, (route, answer.text)
        elif known:
            problem = checked(answer)
            assert (answer.status_code, problem["code"], problem["needs"]) == (403, "forbidden", needs), route
        else:
            assert (answer.status_code, checked(answer)["code"]) == (401, "unauthorized"), route
            assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("holder", [None, "unknown", *HOLDERS])
def test_the_live_feed_is_for_those_who_may(gateway: Running, tokens: dict[str, str], holder: str | None) -> None:
    token = tokens.get(holder or "")
    may = allowed(holder, table()["WS /ws"])
    offered: list[Any] = ["holdfast", f"bearer.{token}"] if token else ["holdfast"]
    for how in ({"token": token}, {"token": None, "subprotocols": offered}):
        try:
            with follow(gateway.url, "session=nobody", **how) as live:
                assert live.subprotocol == ("holdfast" if "subprotocols" in how else None)
                with pytest.raises(ConnectionClosed) as closed:
                    live.recv(timeout=PATIENCE)
            assert may
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 4404
        except InvalidStatus as refused:
            known = holder is not None and holder not in {"unknown", "revoked", "expired"}
            assert not may
            assert refused.response.status_code == (403 if known else 401)
            assert b'"code":"forbidden"' in bytes(refused.response.body) or not known


def spellings(path: str) -> list[str]:
    """Other ways to write a path, which must lead to no other place than the path itself, or nowhere."""
    whole = "".join(f"%{ord(char):02X}" for char in path[1:])
    ends = (
        "%0A",
        "%0D",
        "%0D%0A",
        "%00",
        "%09",
        "%20",
        "%85",
        "%E2%80%A8",
        "/",
        "//",
        "/.",
        "%2F",
        ";x=1",
        "%3F",
        "%23",
        ".",
    )
    return [
        *(path + end for end in ends),
        *(f"/{path}", f"/.{path}", f"/x/..{path}", f"{path}/x/..", f"/%2e%2e{path}", f"%2F{path[1:]}", f"/%0A{path}"),
        *(path.upper(), path.title(), f"/{whole}", path.replace("/api/", "/api//"), path.replace("/api/", "/api%2F")),
        *(
            path.replace("a", "%61", 1),
            path.replace("api", "ａｐｉ"),
            path.replace("/", "\\"),
            path.replace("/", "%5C"),
        ),
        *(f"http://localhost{path}", f"http://localhost{path}%0A", f"//localhost{path}", f"{path}#", f"{path}?x#y"),
        *(f"/health/..{path}", f"/health%0A{path}", f"/health;{path}", f"/health?{path}", f"/openapi.json{path}"),
    ]


def test_no_other_spelling_opens_a_route(gateway: Running, tokens: dict[str, str]) -> None:
    """Whoever may read and write gets no further by writing a path otherwise."""
    token = tokens["read and write"]
    port = int(gateway.url.rsplit(":", 1)[1])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    tried = 0
    for route, needs in table().items():
        if needs not in {"admin", "metrics", "operator"}:
            continue
        method, path = route.split(" ")
        path = path.replace("{session_id}", "nobody").replace("{token_id}", "nobody")
        body = b"" if method in {"GET", "DELETE"} else b"{}"
        for way in {quote(each, safe="/%:;?#\\.&=") for each in spellings(path)}:
            for verb in {method, "HEAD", "GET", "POST"}:
                connection.request(
                    verb, way, body, bearer(token) | {"X-HTTP-Method-Override": method, "X-Original-URL": path}
                )
                answer = connection.getresponse()
                said = answer.read()
                if way.startswith("/health?") and verb in {"GET", "HEAD"}:
                    assert answer.status == 200
                else:
                    assert answer.status in {400, 403, 404, 405, 421}, (verb, way, answer.status, said[:200])
                tried += 1
    connection.close()
    assert tried > 1_000


def asked(authorization: str, tenant: str | None = None) -> bytes:
    """A request with these headers, just as they are."""
    headers = f"Authorization: {authorization}\r\n"
    headers += "" if tenant is None else f"Holdfast-Tenant: {tenant}\r\n"
    return b"GET /api/sessions HTTP/1.1\r\n" + HOST + headers.encode("latin-1") + b"\r\n"


@pytest.mark.parametrize(
    ("value", "status"),
    [
        ("Bearer {}", 200),
        ("bearer {}", 200),
        ("BEARER   {} ", 200),
        ("Bearer", 401),
        ("Bearer ", 401),
        ("Bearer{}", 401),
        ("Bearer\t{}", 401),
        ("Basic {}", 401),
        ("{}", 401),
        ("Bearer {}, Bearer {}", 401),
        ('Bearer "{}"', 401),
        ("Bearer {} x", 401),
        ("Bearer é", 401),
    ],
)
def test_a_header_is_a_bearers_or_none(gateway: Running, tokens: dict[str, str], value: str, status: int) -> None:
    with raw(gateway.url, asked(value.replace("{}", tokens["read"]))) as sent:
        assert sent.answer().status == status


def test_several_tokens_or_tenants_are_refused(asking: httpx2.Client, gateway: Running, tokens: dict[str, str]) -> None:
    one, other = bearer(tokens["read"])["Authorization"], bearer(tokens["operator"])["Authorization"]
    twice = asking.get("/api/sessions", headers=[("Authorization", one), ("Authorization", other)])
    assert (twice.status_code, checked(twice)["code"]) == (400, "invalid_input")
    for names in (("acme", "other"), ("acme", "acme"), ("default", "acme")):
        headers = [("Authorization", other), *(("Holdfast-Tenant", name) for name in names)]
        assert asking.get("/api/sessions", headers=headers).status_code == 400
    with (
        pytest.raises(InvalidStatus) as refused,
        follow(gateway.url, "", tokens["read"], subprotocols=["holdfast", f"bearer.{tokens['operator']}"]),
    ):
        pass
    assert refused.value.response.status_code == 400
    assert asking.get(f"/api/sessions?token={tokens['read']}&access_token={tokens['read']}").status_code == 401
    assert asking.get("/api/sessions", headers={"Cookie": f"token={tokens['read']}"}).status_code == 401


def test_only_an_operator_chooses_its_tenant(asking: httpx2.Client, gateway: Running, tokens: dict[str, str]) -> None:
    for holder in ("read", "admin"):
        assert asking.get("/api/sessions", headers=bearer(tokens[holder], "default")).status_code == 200
        for tenant in ("acme", "", "DEFAULT", " default x", "..", "*", "a/b", "defaul\xe9"):
            with raw(gateway.url, asked(f"Bearer {tokens[holder]}", tenant)) as sent:
                refused = sent.answer()
            assert (refused.status, json.loads(refused.body)["code"]) == (403, "forbidden"), tenant
    assert asking.get("/api/sessions", headers=bearer(tokens["operator"], "acme")).status_code == 200
    for tenant in ("", "a/b", "a b", "x" * 65, "*"):
        wrong = asking.get("/api/sessions", headers=bearer(tokens["operator"], tenant))
        assert (wrong.status_code, checked(wrong)["code"]) == (400, "invalid_input"), tenant


def test_what_anybody_sees_tells_nothing_of_the_machine(
    asking: httpx2.Client, gateway: Running, tokens: dict[str, str]
) -> None:
    """Neither who has no token nor a tenant's admin learns where the store is or how large all of it is."""
    whole = asking.get("/api/status", headers=bearer(tokens["operator"])).json()
    hidden = {name: whole[name] for name in ("pid", "store", "dataFolder", "logFile", "sizeBytes", "walSizeBytes")}
    assert all(hidden.values())
    told = asking.get("/api/status", headers=bearer(tokens["admin"])).json()
    assert {told[name] for name in hidden} == {None}
    assert (told["figures"], told["timers"], told["sessions"], told["events"]) == ({}, [], 0, 0)
    for path in ("/", "/health", "/readyz", "/openapi.json", "/api/status"):
        said = asking.get(path, headers=bearer(tokens["admin"])).text
        assert not [hidden[name] for name in ("store", "dataFolder", "logFile") if hidden[name] in said], path
