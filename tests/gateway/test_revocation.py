"""A token that is revoked or expires is over: for the next request, for what it follows live, for every gateway."""

import asyncio
import json
import stat
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.gateway.calling import checked, told
from tests.gateway.holders import Wanted, bearer, client, events, follow, make_tokens
from tests.gateway.process import PATIENCE, running
from tests.support import processes
from tests.support.web import LOCAL
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection

from holdfast.core.errors import InvalidInput, StoreUnavailable
from holdfast.gateway.access.admission import Admission, TokenPolicy
from holdfast.gateway.access.authority import Everybody, TokenHolders
from holdfast.gateway.access.scopes import Caller
from holdfast.gateway.access.watch import TokenWatch
from holdfast.gateway.errors import PublicBind
from holdfast.store import Store

ENDED = 4401


def url_of(data: Path) -> str:
    return f"sqlite:///{data}/holdfast.db"


def status(url: str, token: str | None, path: str = "/api/sessions") -> int:
    return httpx2.get(url + path, headers=bearer(token), **LOCAL).status_code


def ended(live: ClientConnection) -> int:
    """The code with which a feed ends; nothing comes before it."""
    with pytest.raises(ConnectionClosed) as closed:
        live.recv(timeout=PATIENCE)
    assert closed.value.rcvd is not None
    return closed.value.rcvd.code


def made(operator: httpx2.Client, **body: Any) -> tuple[str, str]:
    """A new token's id and text."""
    answer = operator.post("/api/tokens", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()["described"]["tokenId"], answer.json()["token"]


def test_the_next_request_is_refused_and_what_is_live_ends(tmp_path: Path) -> None:
    tokens = make_tokens(url_of(tmp_path), {"operator": Wanted(["operator"])})
    with running(tmp_path) as gateway, client(gateway.url, tokens["operator"]) as operator, ExitStack() as stack:
        operator.post("/api/actions/s", json={"type": "a"})
        token_id, text = made(operator, name="reader", scopes=["read"])
        _, staying = made(operator, name="staying", scopes=["read"])
        _, brief = made(operator, name="brief", scopes=["read"], lastsMs=2_000)
        offered: list[Any] = ["holdfast", f"bearer.{text}"]
        live = [
            stack.enter_context(follow(gateway.url, "session=s", text)),
            stack.enter_context(follow(gateway.url, "", text)),
            stack.enter_context(follow(gateway.url, "user=ada", None, subprotocols=offered)),
        ]
        others = stack.enter_context(follow(gateway.url, "session=s", staying))
        expiring = stack.enter_context(follow(gateway.url, "session=s", brief))
        for each in (*live, others, expiring):
            assert told(each)["type"] == "connected"
        stream = stack.enter_context(events(gateway.url, text))
        expiring_stream = stack.enter_context(events(gateway.url, brief))
        staying_stream = stack.enter_context(events(gateway.url, staying, "session=s"))
        keeping = stack.enter_context(client(gateway.url, text))
        assert keeping.get("/api/sessions/s").status_code == 200

        revoked = operator.delete(f"/api/tokens/{token_id}")
        assert (revoked.status_code, revoked.json()["valid"]) == (200, False)
        refused = keeping.get("/api/sessions/s")
        assert (refused.status_code, checked(refused)["code"]) == (401, "unauthorized")
        assert [ended(each) for each in live] == [ENDED] * 3
        kind, problem = next(stream)
        assert (kind, problem["code"], problem["status"]) == ("error", "unauthorized", 401)
        assert next(stream, None) is None

        assert ended(expiring) == ENDED
        assert [next(expiring_stream)[0], next(expiring_stream, None)] == ["error", None]
        assert status(gateway.url, brief) == 401
        operator.post("/api/actions/s", json={"type": "b"})
        assert told(others)["data"]["type"] == "b"
        assert next(staying_stream)[1]["data"]["type"] == "b"
        listed = {each["name"]: each["valid"] for each in operator.get("/api/tokens").json()["tokens"]}
        assert listed == {"operator": True, "reader": False, "staying": True, "brief": False}
        assert operator.delete(f"/api/tokens/{token_id}").json() == revoked.json()
        assert operator.delete("/api/tokens/nobody").status_code == 404


def test_revoking_the_last_token_shuts_and_never_opens(tmp_path: Path) -> None:
    tokens = make_tokens(url_of(tmp_path), {"last": Wanted(["operator"])})
    token_id = tokens["last"].split("_")[1]
    with running(tmp_path) as gateway:
        before = lock_of(tmp_path)["token"]
        assert status(gateway.url, None) == 401
        assert status(gateway.url, tokens["last"]) == 200
        with client(gateway.url, tokens["last"]) as operator:
            assert operator.delete(f"/api/tokens/{token_id}").status_code == 200
        assert (status(gateway.url, tokens["last"]), status(gateway.url, None)) == (401, 401)
        assert status(gateway.url, before) == 200
        assert stat.S_IMODE((tmp_path / "holdfast.lock").stat().st_mode) == 0o600
        assert gateway.stop()[0] == 0
    assert (tmp_path / "holdfast.lock").read_bytes() == b""
    (tmp_path / "holdfast.lock").chmod(0o644)
    with running(tmp_path) as gateway:
        assert (status(gateway.url, tokens["last"]), status(gateway.url, None)) == (401, 401)
        assert stat.S_IMODE((tmp_path / "holdfast.lock").stat().st_mode) == 0o600
        again = lock_of(tmp_path)["token"]
        assert (again == before, status(gateway.url, before), status(gateway.url, again)) == (False, 401, 200)


def lock_of(data: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((data / "holdfast.lock").read_bytes())
    return found


def test_a_gateway_that_is_open_stays_so_until_it_starts_again(tmp_path: Path) -> None:
    with running(tmp_path) as gateway, client(gateway.url) as anybody:
        _, text = made(anybody, name="first", scopes=["read"], tenant="acme")
        assert status(gateway.url, None) == 200
        assert anybody.post("/api/actions/s", json={"type": "a"}, headers=bearer(None, "acme")).status_code == 201
    with running(tmp_path) as gateway:
        assert status(gateway.url, None) == 401
        with client(gateway.url, text) as reader:
            assert [each["sessionId"] for each in reader.get("/api/sessions").json()["sessions"]] == ["s"]


def test_a_token_in_a_file_is_an_operators(tmp_path: Path) -> None:
    file = tmp_path / "token"
    text = "a/secret+of=at-least.32~characters_in_all"
    file.write_text(f"{text}\n")
    with running(tmp_path / "data", "--token-file", str(file)) as gateway, client(gateway.url, text) as operator:
        assert status(gateway.url, None) == 401
        assert operator.get("/api/sessions", headers=bearer(text, "acme")).status_code == 200
        assert operator.get("/api/tokens").json() == {"tokens": []}
        for wrong in (text[:-1], text + "x", text.upper()):
            assert status(gateway.url, wrong) == 401
        _, made_text = made(operator, name="x", scopes=["read"])
        assert status(gateway.url, made_text) == 200
    assert not [path for path in (tmp_path / "data").iterdir() if path.is_file() and text.encode() in path.read_bytes()]


@pytest.mark.parametrize(
    "content", [None, b"", b"short", b"x" * 31, b"two words " * 5, b"\xff" * 40, b"a" * 40 + b"\0"]
)
def test_a_file_without_a_token_is_refused(tmp_path: Path, content: bytes | None) -> None:
    from holdfast.gateway.access.admission import read_token

    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InvalidInput) as refused:
        read_token(file)
    assert not content or content.decode("latin-1").strip() not in refused.value.message


async def test_whom_a_gateway_lets_in(store: Store, tmp_path: Path) -> None:
    """The address, the options and the tokens there ever were decide it."""
    file = tmp_path / "token"
    file.write_text("x" * 40)

    async def kind(admission: Admission, public: str | None) -> str:
        try:
            if public is not None:
                admission.refuse_open(public)
            authority = await admission.authority(store, "local", public)
        except PublicBind:
            return "refused"
        assert isinstance(authority, Everybody | TokenHolders)
        assert authority.asks is isinstance(authority, TokenHolders)
        return "asks" if authority.asks else "open"

    async def kinds() -> dict[tuple[str, bool, bool], str]:
        return {
            (asking.value, filed, public): await kind(
                Admission(asking, file if filed else None), "0.0.0.0" if public else None
            )
            for asking in TokenPolicy
            for filed in (False, True)
            for public in (False, True)
        }

    without = await kinds()
    assert without == {
        ("auto", False, False): "open",
        ("auto", True, False): "asks",
        ("token", False, False): "asks",
        ("token", True, False): "asks",
        ("none", False, False): "open",
        ("none", True, False): "open",
        ("auto", False, True): "refused",
        ("auto", True, True): "asks",
        ("token", False, True): "refused",
        ("token", True, True): "asks",
        ("none", False, True): "refused",
        ("none", True, True): "refused",
    }
    token, _ = await store.tokens.create("n", ["read"], tenant="acme")
    withtoken = without | {
        ("auto", False, False): "asks",
        ("auto", False, True): "asks",
        ("token", False, True): "asks",
    }
    assert await kinds() == withtoken
    await store.tokens.revoke(token.token_id)
    assert await kinds() == withtoken
    assert (await Admission(TokenPolicy.NONE, file).authority(store, "local", "0.0.0.0")).asks


def test_an_address_for_all_is_not_served_to_all(tmp_path: Path) -> None:
    tried = processes.ended("serve", "--host", "0.0.0.0", "--port", "0", "--data", str(tmp_path))
    assert tried.returncode == 2
    assert "can be reached from other machines" in tried.stderr
    assert "holdfast token create" in tried.stderr


def test_every_gateway_on_the_store_refuses_it(postgres_url: str, tmp_path: Path) -> None:
    wanted = {"operator": Wanted(["operator"]), "reader": Wanted(["read", "write"])}
    tokens = make_tokens(postgres_url, wanted)
    reader = tokens["reader"]
    with (
        running(tmp_path / "one", "--store", postgres_url) as one,
        running(tmp_path / "two", "--store", postgres_url) as two,
        client(one.url, tokens["operator"]) as operator,
        client(two.url, reader) as there,
    ):
        assert there.post("/api/actions/s", json={"type": "a"}).status_code == 201
        with follow(two.url, "session=s", reader) as live:
            told(live)
            assert operator.delete(f"/api/tokens/{reader.split('_')[1]}").status_code == 200
            assert there.get("/api/sessions/s").status_code == 401
            assert ended(live) == ENDED
        _, new = made(operator, name="new", scopes=["read"])
        assert status(two.url, new) == 200
        local = {gateway.url: lock_of(tmp_path / name)["token"] for name, gateway in (("one", one), ("two", two))}
        assert (status(one.url, local[one.url]), status(one.url, local[two.url])) == (200, 401)


class Counted:
    """An authority that counts how often it is asked, and can be out of reach."""

    asks = True

    def __init__(self, inner: TokenHolders) -> None:
        self.inner = inner
        self.looks = 0
        self.away = False

    async def caller(self, token: str | None) -> Caller:
        return await self.inner.caller(token)

    async def still(self, caller: Caller) -> bool:
        self.looks += 1
        if self.away:
            raise StoreUnavailable("away")
        return await self.inner.still(caller)


async def test_one_look_serves_all_who_wait_on_a_token(store: Store) -> None:
    authority = Counted(TokenHolders(store, {"local": "x" * 40}))
    watch = TokenWatch(authority, look_seconds=0.01)
    token, text = await store.tokens.create("n", ["read"])
    caller = await authority.caller(text)
    waiting = [asyncio.create_task(watch.until_refused(caller)) for _ in range(50)]
    await asyncio.sleep(0)
    others = asyncio.all_tasks()
    assert len(others) == len(waiting) + 2  # all of them, one who looks, and this one
    waiting.pop(0).cancel()
    authority.away = True
    seen = authority.looks
    async with asyncio.timeout(PATIENCE):
        while authority.looks < seen + 3:
            await asyncio.sleep(0.001)
    assert not any(each.done() for each in waiting)
    authority.away = False
    await store.tokens.revoke(token.token_id)
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*waiting)
        await watch.until_refused(caller)
    nobody = asyncio.create_task(watch.until_refused(await authority.caller("x" * 40)))
    last = asyncio.create_task(watch.until_refused(caller))
    await asyncio.sleep(0)
    for each in (nobody, last):
        each.cancel()
    await asyncio.gather(nobody, last, return_exceptions=True)
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}


def test_streams_of_the_agent_end_with_their_token_and_the_turn_goes_on(tmp_path: Path) -> None:
    tokens = make_tokens(url_of(tmp_path), {"operator": Wanted(["operator"])})
    with running(tmp_path) as gateway, client(gateway.url, tokens["operator"]) as operator:
        token_id, text = made(operator, name="talker", scopes=["read", "write"])
        message = {
            "role": "ROLE_USER",
            "messageId": "m",
            "contextId": "c",
            "parts": [{"text": "Think for 50 seconds, then say hello."}],
        }
        call = {"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": {"message": message}}
        chat = {"text": "Think for 50 seconds, then say hello.", "stream": True}
        with (
            client(gateway.url, text) as talker,
            talker.stream("POST", "/a2a", json=call, headers={"A2A-Version": "1.0"}) as over_a2a,
            talker.stream("POST", "/api/chat/agent:main:x", json=chat) as over_chat,
        ):
            lines, told_lines = over_a2a.iter_lines(), over_chat.iter_lines()
            task = json.loads(next(lines).removeprefix("data: "))["result"]["task"]["id"]
            assert "taskId" in next(told_lines)
            assert operator.delete(f"/api/tokens/{token_id}").status_code == 200
            assert "COMPLETED" not in "".join(lines)
            assert "answer" not in "".join(told_lines)
        get = {"jsonrpc": "2.0", "id": 2, "method": "GetTask", "params": {"id": task}}

        def state() -> str:
            answer = operator.post("/a2a", json=get, headers={"A2A-Version": "1.0"})
            found: str = answer.json()["result"]["status"]["state"]
            return found

        assert state() == "TASK_STATE_WORKING"
