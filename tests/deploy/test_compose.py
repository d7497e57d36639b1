"""deploy/compose.yml for real: two gateways, PostgreSQL and a load balancer, one gateway killed while clients write.

Needs a Docker engine. Where images cannot be pulled, `scripts/containers-here` says what to use instead of them.
"""

import asyncio
import json
import os
import secrets
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path

import httpx2
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

pytestmark = pytest.mark.e2e

FILE = Path(__file__).parents[2] / "deploy" / "compose.yml"
STAND_INS = {
    "BASE_IMAGE": "holdfast-here/python",
    "POSTGRES_IMAGE": "holdfast-here/postgres",
    "HAPROXY_IMAGE": "holdfast-here/haproxy",
    "NEWEST_PYTHON_IMAGE": "holdfast-here/python3.14",
    "BUILD_NETWORK": "host",
}
PATIENCE = 120.0


def command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, check=False)


def compose_command() -> list[str]:
    """`docker compose`, or its predecessor; a loud skip where there is no engine to run it."""
    if not shutil.which("docker") or command("docker", "info").returncode:
        pytest.skip("NOT RUN: the compose file was not tried, because there is no Docker engine here")
    for words in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(words[0]) and command(*words, "version").returncode == 0:
            return words
    pytest.skip("NOT RUN: the compose file was not tried, because there is no docker compose here")


class Composed:
    """The services, and how to reach them."""

    def __init__(self) -> None:
        self._words = [*compose_command(), "-p", f"holdfast-test-{secrets.token_hex(3)}", "-f", str(FILE)]
        self.token = ""
        self._port = 20_000 + secrets.randbelow(10_000)
        here = command("docker", "image", "inspect", STAND_INS["BASE_IMAGE"]).returncode == 0
        self._environment = os.environ | {"HOLDFAST_PUBLISH": f"127.0.0.1:{self._port}"} | (STAND_INS if here else {})
        if not here and command(*self._words, "pull", "db", "balancer").returncode:
            pytest.skip(
                "NOT RUN: the compose file was not tried: no image can be pulled here (scripts/containers-here)"
            )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def run(self, *words: str) -> str:
        """What a compose command printed."""
        done = subprocess.run(
            [*self._words, *words], capture_output=True, text=True, check=False, env=self._environment, timeout=900
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def up(self) -> None:
        """Build and start everything, and read the operator's token."""
        self.run("up", "-d", "--build")
        self.token = self.run("exec", "-T", "gateway-1", "cat", "/secrets/token").strip()


@pytest.fixture(scope="module")
def composed() -> Iterator[Composed]:
    services = Composed()
    try:
        services.up()
        yield services
    finally:
        services.run("down", "-v", "--remove-orphans")


@pytest.fixture
async def http(composed: Composed) -> AsyncIterator[httpx2.AsyncClient]:
    headers = {"Authorization": f"Bearer {composed.token}"}
    async with httpx2.AsyncClient(base_url=composed.url, headers=headers, trust_env=False, timeout=10) as client:
        await read(client, "/readyz")
        yield client


async def read(http: httpx2.AsyncClient, path: str) -> httpx2.Response:
    """The answer of a gateway that is ready, however long that takes."""
    async with asyncio.timeout(PATIENCE):
        while True:
            with suppress(httpx2.TransportError):
                answer = await http.get(path)
                if answer.status_code == 200:
                    return answer
            await asyncio.sleep(0.1)


async def test_clients_go_on_when_a_gateway_is_killed(composed: Composed, http: httpx2.AsyncClient) -> None:
    """Written, followed over WebSocket and event stream, all through the balancer; nothing lost, doubled or missed."""
    assert (await http.get("/api/query/recent", headers={"Authorization": ""})).status_code == 401
    card = (await read(http, "/agent-card")).json()
    assert card["supportedInterfaces"][0]["url"] == f"{composed.url}/a2a"
    await write(http, 0)
    followers = [asyncio.create_task(follow(composed, http, 200)), asyncio.create_task(stream(http, 200))]
    killed: asyncio.Task[str] | None = None
    for number in range(1, 200):
        if number == 60:
            killed = asyncio.create_task(asyncio.to_thread(composed.run, "kill", "-s", "KILL", "gateway-1"))
        await write(http, number)
    assert killed is not None
    await killed
    async with asyncio.timeout(PATIENCE):
        for seen in await asyncio.gather(*followers):
            assert seen == list(range(1, 201))
    found = (await read(http, "/api/actions/s?limit=1000")).json()["actions"]
    assert [(entry["seq"], entry["details"]["n"]) for entry in found] == [(n + 1, n) for n in range(200)]


async def test_a_killed_gateway_comes_back_and_the_other_may_go(composed: Composed, http: httpx2.AsyncClient) -> None:
    composed.run("up", "-d", "gateway-1")
    composed.run("stop", "gateway-2")
    await write(http, 1_000)
    assert (await read(http, "/api/sessions/s")).json()["metadata"]["sessionId"] == "s"


async def write(http: httpx2.AsyncClient, number: int) -> None:
    """One action, sent until it is acknowledged."""
    body = {"type": "n", "details": {"n": number}, "idempotencyKey": f"k{number}"}
    async with asyncio.timeout(PATIENCE):
        while True:
            with suppress(httpx2.TransportError):
                answer = await http.post("/api/actions/s", json=body)
                if answer.status_code in {200, 201}:
                    return
                assert answer.status_code in {502, 503, 504}, answer.text
            await asyncio.sleep(0.05)


async def follow(composed: Composed, http: httpx2.AsyncClient, count: int) -> list[int]:
    """Follow over a WebSocket, coming back after each break."""
    seen: list[int] = []
    headers = {"Authorization": http.headers["Authorization"]}
    address = composed.url.replace("http", "ws", 1) + "/ws"
    while len(seen) < count:
        with suppress(OSError, WebSocketException):
            url = f"{address}?session=s&after={seen[-1] if seen else 0}"
            async with connect(url, additional_headers=headers, proxy=None) as live:
                while len(seen) < count:
                    message = json.loads(await live.recv())
                    seen += [message["seq"]] if "seq" in message else []
        await asyncio.sleep(0.05)
    return seen


async def stream(http: httpx2.AsyncClient, count: int) -> list[int]:
    """Follow as server-sent events, coming back after each break."""
    seen: list[int] = []
    while len(seen) < count:
        place = {"Last-Event-ID": str(seen[-1] if seen else 0)}
        with suppress(httpx2.TransportError):
            async with http.stream("GET", "/api/feed?session=s", headers=place, timeout=30) as answer:
                said: dict[str, str] = {}
                async for line in answer.aiter_lines():
                    name, _, value = line.partition(": ")
                    said[name] = value
                    if not line:
                        message = json.loads(said.get("data", "{}"))
                        seen += [message["seq"]] if "seq" in message else []
                        said = {}
                    if len(seen) == count:
                        break
        await asyncio.sleep(0.05)
    return seen
