"""`serve(handler)`: the agent on the pages, ten lines of it, is a process that answers and remembers."""

import asyncio
import functools
import json
import re
import signal
import socket
import sys
import textwrap
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.a2a.harness import SECONDS, Client, Gate, message, sending, tell, words
from tests.support.eventually import eventually
from tests.support.web import async_web_client

import holdfast.a2a
from holdfast.a2a import A2AServer, Turn, serve
from holdfast.a2a.serve import check_handler, web_server
from holdfast.a2a.serve import listen as serve_listen
from holdfast.gateway.connections.listen import listen as gateway_listen
from holdfast.store import Store

PAGE = Path(__file__).parents[2] / "docs" / "a2a.md"


def in_the_docstring() -> str:
    """The agent in the package's docstring."""
    indented = re.findall(r"^(?:    .*\n|\n)+", holdfast.a2a.__doc__ or "", re.M)
    [code] = [block for block in indented if "serve(" in block]
    return textwrap.dedent(code)


def on_the_page() -> str:
    """The first agent on the page."""
    found = re.search(r"```python\n(.*?serve\(.*?)```", PAGE.read_text(), re.S)
    assert found
    return found[1]


@asynccontextmanager
async def process(code: str, folder: Path) -> AsyncIterator[tuple[asyncio.subprocess.Process, Client]]:
    """The code as a program in a folder, on a free port, once it answers."""
    program = folder / "agent.py"
    program.write_text(re.sub(r"port=8000", "port=0", code))
    child = await asyncio.create_subprocess_exec(
        sys.executable, str(program), cwd=folder, stderr=asyncio.subprocess.PIPE
    )
    try:
        async with async_web_client(timeout=SECONDS) as http:
            client = Client("", http)
            lock = folder / "echo-data" / "holdfast.lock"

            async def answers() -> bool:
                assert child.returncode is None
                try:
                    said = json.loads(lock.read_text())
                    client.url = said["url"]
                    return said["pid"] == child.pid and (await http.get(f"{client.url}/agent-card")).status_code == 200
                except (OSError, ValueError, httpx2.TransportError):
                    return False

            await eventually(answers)
            yield child, client
    finally:
        if child.returncode is None:
            child.kill()
        await child.communicate()


async def test_an_agent_of_ten_lines_answers_remembers_and_survives(tmp_path: Path) -> None:
    text = on_the_page()
    assert text.strip() == in_the_docstring().strip()
    assert len([line for line in text.splitlines() if line.strip()]) <= 10
    async with process(text, tmp_path) as (child, client):
        first = words(await client.send("one", message_id="m1"))
        card = (await client.http.get(f"{client.url}/.well-known/agent-card.json")).json()
        assert card["supportedInterfaces"][0]["url"] == f"{client.url}/a2a"
        child.kill()
        await child.wait()
    async with process(text, tmp_path) as (child, client):
        second = words(await client.send("two", message_id="m2"))
        child.send_signal(signal.SIGTERM)
        assert await child.wait() == 0
    assert (first, second) == ("1: one", "2: two")


async def test_what_a_proxy_would_say_of_a_client_is_not_believed(store: Store, tmp_path: Path) -> None:
    server = A2AServer(store, tell, version="1", workspace=tmp_path, url=None)
    assert not web_server(server, grace_seconds=0).config.proxy_headers


async def test_it_says_where_it_serves_and_that_it_lives(tmp_path: Path) -> None:
    async with process(on_the_page(), tmp_path) as (child, client):
        assert child.stderr is not None
        said = (await child.stderr.readline()).decode()
        health = await client.http.get(client.url + "/health")
    assert client.url in said
    assert str(tmp_path / "echo-data") in said
    assert (health.status_code, health.json()) == (200, {"status": "ok", "version": "1"})


async def test_only_requests_that_are_meant_for_it_reach_it(tmp_path: Path) -> None:
    """As at the gateway: no name that is not its own, no page of another site, nothing that is not said to be JSON."""
    code = on_the_page().replace("port=8000", 'port=8000, allow_hosts=["agents.example"], url="http://known.example/"')
    async with process(code, tmp_path) as (_, client):
        port = client.url.rpartition(":")[2]
        calls = {"1.0": ("SendMessage", sending("hi", None)), "0.3": ("message/send", message("hi", None))}
        for wire, (method, params) in calls.items():
            body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()

            async def answer(path: str = "/a2a", body: bytes = body, wire: str = wire, **headers: str) -> Any:
                sent = {"A2A-Version": wire, "Content-Type": "application/json"}
                sent |= {name.replace("_", "-"): value for name, value in headers.items()}
                got = await client.http.post(client.url + path, content=body, headers=sent)
                return got.status_code, got.json().get("code")

            for host in ("evil.example", "localhost.evil.example", "10.0.0.1"):
                assert await answer(Host=host) == (421, "wrong_host"), host
            for origin in ("https://evil.example", "null", "http://localhost:1", f"http://evil.example:{port}"):
                assert await answer(Origin=origin) == (403, "foreign_origin"), origin
                assert await answer("/a2a/uploads", Origin=origin) == (403, "foreign_origin"), origin
            assert await answer(Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors") == (403, "foreign_origin")
            for kind in ("text/plain", "application/x-www-form-urlencoded"):
                assert await answer(Content_Type=kind) == (415, None)
            listing = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}}
            listed = await client.http.post(client.url + "/a2a", json=listing, headers={"A2A-Version": "1.0"})
            begun = listed.json()["result"]["totalSize"]
            assert begun == list(calls).index(wire) * 5, "what was refused began nothing"
            for host in (f"localhost:{port}", "127.0.0.1", "agents.example", "known.example:80"):
                assert await answer(Host=host) == (200, None), host
            assert await answer("/a2a/", Origin=client.url) == (200, None)
        for path in ("/health", "/agent-card"):
            assert (await client.http.get(client.url + path, headers={"Host": "evil.example"})).status_code == 421


async def coroutine(turn: Turn) -> str:
    return turn.text


def function(turn: Turn) -> str:
    return turn.text


def generator(turn: Turn) -> Iterator[str]:
    yield turn.text


class Agent:
    async def answer(self, turn: Turn) -> AsyncIterator[str]:
        yield turn.text

    async def once(self, turn: Turn) -> str:
        return turn.text


def logged(handler: Callable[[Turn], AsyncIterator[str]]) -> Callable[[Turn], AsyncIterator[str]]:
    @functools.wraps(handler)
    def call(turn: Turn) -> AsyncIterator[str]:
        return handler(turn)

    return call


@pytest.mark.parametrize(
    "wrong",
    [coroutine, function, generator, Agent, Agent(), Agent().once, None, "tell", tell(None)],  # type: ignore[arg-type]
    ids=lambda wrong: getattr(wrong, "__name__", type(wrong).__name__),
)
def test_what_is_no_async_generator_function_is_refused_at_once(tmp_path: Path, wrong: Any) -> None:
    with pytest.raises(TypeError, match="async generator function"):
        serve(wrong, data=tmp_path / "data", port=0)
    assert not (tmp_path / "data").exists(), "nothing was begun"


@pytest.mark.parametrize("fine", [tell, Gate(), Agent().answer, functools.partial(tell), logged(tell)])
def test_whatever_is_called_like_one_is_one(fine: Any) -> None:
    check_handler(fine)


async def refused(code: str, folder: Path) -> str:
    """What a program that cannot serve says."""
    program = folder / "second.py"
    program.write_text(code)
    child = await asyncio.create_subprocess_exec(
        sys.executable, str(program), cwd=folder, stderr=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(SECONDS):
        _, said = await child.communicate()
    assert child.returncode == 2
    return said.decode()


async def test_a_store_in_use_and_a_port_that_is_taken_are_hints(tmp_path: Path) -> None:
    text = on_the_page()
    async with process(text, tmp_path) as (child, client):
        in_use = await refused(text.replace("port=8000", "port=0"), tmp_path)
    assert client.url in in_use
    assert str(child.pid) in in_use
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        taken = await refused(text.replace("port=8000", f"port={port}").replace("echo-data", "other"), tmp_path)
    assert str(port) in taken
    assert not (tmp_path / "other").exists(), "a start that fails leaves nothing"
    for said in (in_use, taken):
        assert re.fullmatch(r"error: .+\nhint: .+\n", said), said
        assert "--" not in said, "a hint is about the function, not about a command"


@pytest.mark.parametrize("listen", [serve_listen, gateway_listen])
def test_answers_do_not_wait_for_one_another(listen: Callable[[str, int], socket.socket]) -> None:
    """An answer is two writes, and without this the second waits for the client's word on the first: 40 ms."""
    with listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
