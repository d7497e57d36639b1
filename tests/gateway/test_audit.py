"""The audit log: who did what to what, when, and how it ended; and nothing is done that cannot be written down."""

import asyncio
import logging
import re
import signal
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import apsw
import httpx2
import pytest
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from tests.gateway.calling import checked
from tests.gateway.holders import Wanted, bearer, client, make_tokens
from tests.gateway.process import PATIENCE, running
from tests.gateway.test_who_may_do_what import filled, table
from tests.support.disks import RESERVE, Ballast, small_disk, sqlite_store
from tests.support.material import numbered

from holdfast.core.clock import from_iso
from holdfast.core.errors import StorageFull
from holdfast.gateway.access.audit import Audits
from holdfast.gateway.access.auth import CALLER, STORE
from holdfast.gateway.access.authority import TokenHolders
from holdfast.gateway.access.scopes import Caller
from holdfast.gateway.app import create_app
from holdfast.gateway.gateway import Gateway
from holdfast.store import NewEvent, Store, open_store


@asynccontextmanager
async def asking(store: Store, *tokens: str) -> AsyncIterator[list[httpx2.AsyncClient]]:
    """Clients of a gateway that asks for tokens, one for each."""
    app = create_app(store, gateway=Gateway(store, authority=TokenHolders(store, {"local": "l" * 40})))
    clients = [
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://localhost", headers=bearer(token))
        for token in tokens
    ]
    yield clients
    for each in clients:
        await each.aclose()


async def entries(asks: httpx2.AsyncClient, query: str = "limit=1000") -> list[dict[str, Any]]:
    answer = await asks.get(f"/api/audit?{query}")
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["entries"]
    return found


async def test_what_is_written_down(store: Store) -> None:
    """Of every route: deletions, undeletes, exports, answers of people, what is forgotten, and all but reading that
    needs an admin or an operator."""
    token, text = await store.tokens.create("the boss", ["operator"])
    routes = {route: needs for route, needs in table().items() if not route.startswith("WS")}
    async with asking(store, text) as (boss,):
        seen = store.sessions.clock.now()
        for route, needs in routes.items():
            method, path, content = filled(route)
            answer = await boss.request(method, path, **content)
            newest = await entries(boss, "limit=1")
            written = bool(newest) and newest[0]["target"] == path and newest[0]["action"] == method
            expected = (
                method == "DELETE"
                or path.startswith("/api/export")
                or (method == "POST" and path.startswith("/api/archives/"))
                or route in {"POST /api/tasks/{task_id}/answer", "POST /api/memories/forget"}
                or (method != "GET" and needs in {"admin", "operator"})
            )
            assert written == expected, route
            if written:
                (entry,) = newest
                assert (entry["caller"], entry["tokenId"], entry["scope"]) == ("the boss", token.token_id, needs)
                assert entry["status"] == answer.status_code
                assert seen <= from_iso(entry["timestamp"]) <= store.sessions.clock.now()
        assert len(await entries(boss)) > 8


async def test_what_was_asked_is_kept_without_its_secrets(store: Store) -> None:
    await store.append("s", numbered(1))
    async with asking(store, "l" * 40) as (local,):
        made = await local.post("/api/tokens", json={"name": "ci", "scopes": ["read"], "tenant": "acme"})
        await local.post("/api/sessions/s/hold", json={"held": True, "reason": "password=hunter2 as asked"})
        await local.delete("/api/sessions/s?reason=token%3Dhunter3&x=%00")
        await local.delete(f"/api/tokens/{made.json()['token']}")
        await local.post("/api/import", content=b"not json")
        await local.post(
            "/api/retention", content=b'{"x":"' + b"y" * 9000 + b'"}', headers={"Content-Type": "application/json"}
        )
        found = await entries(local)
    assert [each["caller"] for each in found] == ["local"] * 6
    retention, imported, revoked, deleted, held, created = found
    assert '"tenant":"acme"' in created["details"].replace(" ", "")
    assert (created["action"], created["target"], created["status"]) == ("POST", "/api/tokens", 201)
    assert ("as asked" in held["details"], held["status"], deleted["status"], imported["details"]) == (
        True,
        200,
        409,
        None,
    )
    assert len(retention["details"]) == 2_000
    for secret in ("hunter2", "hunter3", made.json()["token"].split("_", 2)[2]):
        assert secret not in str(found), secret
    assert revoked["target"].startswith("/api/tokens/hf_")


async def test_what_a_person_says_from_a_page_is_written_down_and_a_programs_turns_are_not(store: Store) -> None:
    _, text = await store.tokens.create("the boss", ["operator"])
    async with asking(store, text) as (boss,):
        said = {"text": "go on"}
        await boss.post("/api/chat/agent:main:k", json=said)
        assert await entries(boss) == []
        await boss.post("/api/chat/agent:main:k", json=said, headers={"Sec-Fetch-Mode": "cors"})
        (entry,) = await entries(boss)
    assert (entry["action"], entry["target"]) == ("POST", "/api/chat/agent:main:k")


async def test_refused_ones_are_no_actions(store: Store) -> None:
    _, writer = await store.tokens.create("w", ["write"])
    _, admin = await store.tokens.create("a", ["admin"])
    async with asking(store, writer, admin) as (writes, administers):
        assert (await writes.get("/api/export")).status_code == 403
        assert (await writes.post("/api/tokens", json={})).status_code == 403
        assert (await writes.get("/api/audit")).status_code == 403
        assert (await administers.delete("/api/sessions/s", headers={"Holdfast-Tenant": "acme"})).status_code == 403
        assert await entries(administers) == []


async def test_each_tenant_sees_its_own_and_only_operators_see_theirs(store: Store) -> None:
    texts = {}
    for tenant in ("default", "acme"):
        _, texts[tenant] = await store.tokens.create(f"admin of {tenant}", ["admin"], tenant=tenant)
    _, operator = await store.tokens.create("op", ["operator"])
    async with asking(store, texts["default"], texts["acme"], operator) as (default, acme, op):
        await op.post("/api/tokens", json={"name": "secret plan", "scopes": ["read"], "tenant": "hidden-tenant"})
        await op.delete("/api/sessions/x", headers={"Holdfast-Tenant": "acme"})
        await op.delete("/api/tokens/none", headers={"Holdfast-Tenant": "acme"})
        await default.delete("/api/sessions/y")
        await acme.delete("/api/sessions/z")
        assert [each["target"] for each in await entries(default)] == ["/api/sessions/y"]
        assert [each["target"] for each in await entries(acme)] == ["/api/sessions/z", "/api/sessions/x"]
        assert [each["caller"] for each in await entries(acme)] == ["admin of acme", "op"]
        assert [each["target"] for each in await entries(op)] == ["/api/sessions/y", "/api/tokens"]
        first = (await acme.get("/api/audit?limit=1")).json()
        second = (await acme.get(f"/api/audit?limit=1&cursor={first['cursor']}")).json()
        third = (await acme.get(f"/api/audit?limit=1&cursor={second['cursor']}")).json()
        assert [each["target"] for each in first["entries"] + second["entries"]] == [
            "/api/sessions/z",
            "/api/sessions/x",
        ]
        assert third == {"entries": [], "cursor": None}


async def test_what_cannot_be_written_down_is_not_done(tmp_path: Path) -> None:
    path = tmp_path / "holdfast.db"
    async with await open_store(f"sqlite:///{path}") as store:
        await store.append("s", numbered(1))
    with apsw.Connection(str(path)) as connection:
        connection.execute("CREATE TRIGGER no BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'full'); END")
    async with await open_store(f"sqlite:///{path}") as store, asking(store, "l" * 40) as (local,):
        orders: list[tuple[str, str, Any]] = [
            ("DELETE", "/api/sessions/s", None),
            ("GET", "/api/export", None),
            ("POST", "/api/tokens", {"name": "n", "scopes": ["read"]}),
            ("POST", "/api/retention", {"maxSessions": 0}),
            ("POST", "/api/backup", {"path": str(tmp_path / "copy")}),
        ]
        for method, target, body in orders:
            refused = await local.request(method, target, json=body)
            assert (refused.status_code, checked(refused)["code"]) == (503, "no_audit"), target
        assert (await local.get("/api/sessions/s")).status_code == 200
        assert (await local.post("/api/actions/s", json={"type": "b"})).status_code == 201
        assert await store.tokens.list() == []
    assert not (tmp_path / "copy").exists()


async def test_on_a_full_disk_deletions_are_done_and_written_down(tmp_path: Path) -> None:
    with small_disk(tmp_path, 8) as disk:
        async with sqlite_store(disk / "holdfast.db", reserve_bytes=RESERVE) as store:
            await store.append("s", numbered(3))
            ballast = Ballast(store)
            await ballast.make()
            with pytest.raises(StorageFull):
                while True:
                    await ballast.put()
            with pytest.raises(StorageFull):
                await store.append("s", [NewEvent("t", "x")])
            async with asking(store, "l" * 40) as (local,):
                assert (await local.delete("/api/sessions/s")).status_code == 200
                (entry,) = await entries(local)
                assert (entry["target"], entry["status"]) == ("/api/sessions/s", 200)


def layer(store: Store, app: ASGIApp) -> Callable[[], Awaitable[list[Message]]]:
    """The layer in front of an application; what it is sent for a deletion."""
    who = {STORE: store, CALLER: Caller("me", store.tenant, frozenset({"write"}))}
    scope: Scope = {"type": "http", "method": "DELETE", "path": "/api/sessions/s", "headers": [], **who}

    async def ask() -> list[Message]:
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        async def receive() -> Message:
            await asyncio.Event().wait()
            raise AssertionError

        await Audits(app)(scope, receive, send)
        return sent

    return ask


async def test_a_defect_and_a_cancelled_request_have_their_ends(store: Store) -> None:
    begun = asyncio.Event()

    async def fails(scope: Scope, receive: Receive, send: Send) -> None:
        raise RuntimeError("a defect")

    async def stays(scope: Scope, receive: Receive, send: Send) -> None:
        begun.set()
        await receive()

    with pytest.raises(RuntimeError, match="a defect"):
        await layer(store, fails)()
    stuck = asyncio.ensure_future(layer(store, stays)())
    await begun.wait()
    assert [each.status for each in await store.audit.list()] == [None, 500]
    stuck.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stuck
    assert [each.status for each in await store.audit.list()] == [499, 500]


async def test_what_was_done_is_answered_even_if_its_end_cannot_be_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = await open_store(f"sqlite:///{tmp_path}/holdfast.db")

    async def done(scope: Scope, receive: Receive, send: Send) -> None:
        await Response(b"done")(scope, receive, send)
        await store.close()

    with caplog.at_level(logging.ERROR, "holdfast.gateway"):
        sent = await layer(store, done)()
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    assert "has no status, which would be 200" in caplog.text
    async with await open_store(f"sqlite:///{tmp_path}/holdfast.db") as again:
        assert [each.status for each in await again.audit.list()] == [None]


def half_an_import(url: str, token: str) -> socket.socket:
    """An import that has begun and waits for the rest of its body."""
    where = urlsplit(url)
    made = socket.create_connection((where.hostname, where.port), timeout=PATIENCE)
    made.sendall(
        b"POST /api/import?by=me HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n"
        + f"Authorization: Bearer {token}\r\n\r\nPK".encode()
    )
    return made


def until(asks: httpx2.Client, statuses: list[int | None]) -> list[dict[str, Any]]:
    """The entries, once they have these statuses."""
    last = time.monotonic() + PATIENCE
    while time.monotonic() < last:
        found: list[dict[str, Any]] = asks.get("/api/audit").json()["entries"]
        if [each["status"] for each in found] == statuses:
            return found
    raise AssertionError(found)


def test_what_was_cut_off_is_visible(tmp_path: Path) -> None:
    """A client that left, and a gateway that was killed."""
    token = make_tokens(f"sqlite:///{tmp_path}/holdfast.db", {"admin": Wanted(["admin"])})["admin"]
    with running(tmp_path) as gateway, client(gateway.url, token) as admin:
        half_an_import(gateway.url, token).close()
        until(admin, [499])
        with half_an_import(gateway.url, token):
            until(admin, [None, 499])
            gateway.process.send_signal(signal.SIGKILL)
            gateway.process.wait(PATIENCE)
    with running(tmp_path) as gateway, client(gateway.url, token) as admin:
        found = until(admin, [None, 499])
        assert {(each["caller"], each["action"], each["target"]) for each in found} == {
            ("admin", "POST", "/api/import?by=me")
        }
        assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", each["timestamp"]) for each in found)
