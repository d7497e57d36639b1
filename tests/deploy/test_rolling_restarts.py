"""Two gateways behind deploy/haproxy.cfg are restarted in turn, under load, and no request fails.

Nobody sends anything twice: an append without a key and a turn of the agent are sent once, and must be answered. Nor
does the balancer: every append that was acknowledged was written, and no other.
"""

import asyncio
import re
import signal
import uuid
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from tests.a2a.harness import free_port
from tests.gateway.process import PATIENCE, Running, running
from tests.support import haproxy
from tests.support.web import async_web_client

PROGRAM = haproxy.find()
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(PROGRAM is None, reason="NOT RUN: rolling restarts need HAProxy (scripts/haproxy-here)"),
]

COMPOSE = haproxy.FILE.with_name("compose.yml")
RESTARTS = 10
WRITERS = 4
CHATTERS = 6


def drain() -> str:
    """How long the deployed gateways drain, in seconds."""
    found = re.search(r"HOLDFAST_DRAIN: (\d+)", COMPOSE.read_text())
    assert found is not None
    return found[1]


class Load:
    """Clients that go on until they are told to end, and how each of their requests was answered."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.answers: Counter[str] = Counter()
        self.written: Counter[str] = Counter()
        """Appends that were acknowledged, by path."""
        self._ended = asyncio.Event()

    async def write(self, name: str, *, reconnects: bool) -> None:
        """Append to a session, on one connection for all appends or on one for each."""
        limits = httpx2.Limits(max_keepalive_connections=0 if reconnects else 1)
        async with async_web_client(limits=limits) as http:
            while not self._ended.is_set():
                await self._ask(http, f"/api/actions/{name}", {"type": "note"})
                await asyncio.sleep(0.03)

    async def chat(self) -> None:
        """Have the agent think for a while, again and again."""
        async with async_web_client() as http:
            while not self._ended.is_set():
                await self._ask(http, f"/api/chat/agent:main:{uuid.uuid4()}", {"text": "Think for 2 seconds."})

    async def _ask(self, http: httpx2.AsyncClient, path: str, body: dict[str, str]) -> None:
        kind = path.split("/")[2]
        try:
            answer = await http.post(self.url + path, json=body)
            self.answers[f"{kind} {answer.status_code}"] += 1
            self.written[path] += answer.status_code == 201
        except httpx2.TransportError as error:
            self.answers[f"{kind} {type(error).__name__}"] += 1

    @asynccontextmanager
    async def going(self) -> AsyncIterator[None]:
        """Under load until the end of the block; then until every request is answered."""
        async with asyncio.TaskGroup() as group:
            for number in range(WRITERS):
                group.create_task(self.write(f"s{number}", reconnects=number % 2 == 0))
            for _ in range(CHATTERS):
                group.create_task(self.chat())
            try:
                yield
            finally:
                self._ended.set()

    def failed(self) -> dict[str, int]:
        """What was answered with anything but success, and how often."""
        return {said: count for said, count in self.answers.items() if not said.endswith((" 200", " 201"))}


class Pair:
    """Two gateways on one database, each at a port that it keeps."""

    def __init__(self, folder: Path, store: str) -> None:
        self.ports = {"gateway-1": free_port(), "gateway-2": free_port()}
        self._folder = folder
        self._store = store
        self._open: dict[str, AbstractContextManager[Running]] = {}
        self._running: dict[str, Running] = {}

    def start(self, name: str) -> None:
        """Start one."""
        gateway = running(self._folder / name, "--store", self._store, "--drain", drain(), port=self.ports[name])
        self._running[name] = gateway.__enter__()
        self._open[name] = gateway

    def end(self, name: str) -> int:
        """SIGTERM to one, and its exit code."""
        process = self._running[name].process
        process.send_signal(signal.SIGTERM)
        code = process.wait(PATIENCE)
        self._open.pop(name).__exit__(None, None, None)
        return code

    def kill(self) -> None:
        """End those that still run."""
        for name in list(self._open):
            self._open.pop(name).__exit__(None, None, None)


@pytest.mark.timeout(600)
async def test_ten_rolling_restarts_under_load_fail_no_request(tmp_path: Path, postgres_url: str) -> None:
    assert PROGRAM is not None
    pair = Pair(tmp_path, postgres_url)
    try:
        for name in pair.ports:
            pair.start(name)
        with haproxy.running(PROGRAM, tmp_path, free_port(), pair.ports) as url:
            load = Load(url)
            async with load.going():
                for number in range(RESTARTS):
                    name = f"gateway-{number % 2 + 1}"
                    assert await asyncio.to_thread(pair.end, name) == 0
                    await asyncio.to_thread(pair.start, name)
                    await until_chosen(pair.ports[name])
            await check_written(url, load)
    finally:
        pair.kill()
    assert load.failed() == {}, load.answers
    assert load.answers["actions 201"] > RESTARTS * WRITERS
    assert load.answers["chat 200"] > CHATTERS


async def check_written(url: str, load: Load) -> None:
    """Each session of a writer has as many actions as were acknowledged."""
    async with async_web_client() as http:
        for number in range(WRITERS):
            path = f"/api/actions/s{number}"
            last = load.written[path]
            found = (await http.get(f"{url}{path}?after={last - 1}")).json()["actions"]
            assert [entry["seq"] for entry in found] == [last]


async def until_chosen(port: int) -> None:
    """Wait until the balancer sends requests to a gateway again, by what that gateway has counted."""
    async with async_web_client() as http, asyncio.timeout(PATIENCE):
        while not answered(await http.get(f"http://127.0.0.1:{port}/metrics")):
            await asyncio.sleep(0.1)


def answered(metrics: httpx2.Response) -> bool:
    """Whether a gateway has answered an append since it started."""
    return 'holdfast_request_seconds_count{method="POST",route="/api/actions/{session_id}"' in metrics.text
