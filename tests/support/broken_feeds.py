"""Subscribers whose connections break all the time, while events are written; each must get its own, once, in order.

There are subscribers to one session, to a user's sessions and to the whole store. Each goes on after the last event
it got, and compares every event with what the writer was told when it wrote it.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import httpx2
from tests.gateway.process import Running, running
from tests.support.chaos_proxy import ChaosProxy, chaos_before
from tests.support.web import async_web_client
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

SESSIONS = 12
USERS = ("ada", "bob", "cyd")
LINES = 20
SILENT_SECONDS = 3.0
FARTHEST_BEHIND = 1_500

Follow = Callable[[str, dict[str, str]], AsyncIterator[dict[str, Any]]]


@dataclass(slots=True)
class Written:
    """What was written: for each session, the number in each event after the first, which creates it."""

    numbers: dict[str, list[int]] = field(default_factory=dict)
    events: int = 0
    done: bool = False


@dataclass(slots=True)
class Subscriber:
    """One that never gives up: what it follows, how, how far it got, and what was wrong."""

    follow: Follow
    query: dict[str, str]
    sessions: frozenset[str]
    got: dict[str, int] = field(default_factory=dict)
    cursor: str = ""
    events: int = 0
    connections: int = 0
    wrong: list[str] = field(default_factory=list)

    async def run(self, url: str, written: Written) -> None:
        """Follow until everything that was written has come."""
        while not self.complete(written):
            self.connections += 1
            with suppress(OSError, TimeoutError, WebSocketException, httpx2.HTTPError, StopAsyncIteration):
                await self._follow(url, written)

    async def _follow(self, url: str, written: Written) -> None:
        feed = cast("Any", self.follow(url, self._place()))
        async with aclosing(feed):
            while not self.complete(written):
                async with asyncio.timeout(SILENT_SECONDS):
                    self.take(await anext(feed), written)

    def _place(self) -> dict[str, str]:
        if "session" in self.query:
            return self.query | {"after": str(self.got.get(self.query["session"], 0))}
        return self.query | {"cursor": self.cursor}

    def take(self, message: dict[str, Any], written: Written) -> None:
        """Check an event against what must come next."""
        session_id, seq = message["sessionId"], message["seq"]
        expected = self.got.get(session_id, 0) + 1
        if session_id not in self.sessions:
            self.wrong.append(f"{self.query}: got an event of {session_id}")
        elif seq != expected:
            self.wrong.append(f"{self.query}: got event {seq} of {session_id}, expected {expected}")
        elif seq > 1 and message["data"]["details"]["n"] != written.numbers[session_id][seq - 2]:
            self.wrong.append(f"{self.query}: event {seq} of {session_id} says {message['data']['details']}")
        self.got[session_id] = seq
        self.events += 1
        if "session" not in self.query:
            if _place_of(message["cursor"]) <= _place_of(self.cursor):
                self.wrong.append(f"{self.query}: the cursor went from {self.cursor} to {message['cursor']}")
            self.cursor = message["cursor"]

    def complete(self, written: Written) -> bool:
        """Whether it has got all there will be; something wrong is as good."""
        return bool(self.wrong) or (
            written.done and all(self.got.get(name, 0) > len(written.numbers[name]) for name in self.sessions)
        )

    def behind(self, written: Written) -> int:
        """How many events it has not got yet."""
        return sum(len(written.numbers[name]) + 1 - self.got.get(name, 0) for name in self.sessions)


@dataclass(slots=True)
class Result:
    """What a run came to."""

    proxy: ChaosProxy
    subscribers: Sequence[Subscriber]
    written: int

    @property
    def delivered(self) -> int:
        return sum(each.events for each in self.subscribers)

    @property
    def wrong(self) -> list[str]:
        return [line for each in self.subscribers for line in each.wrong]


async def over_websocket(url: str, query: dict[str, str]) -> AsyncIterator[dict[str, Any]]:
    """The events of `/ws`."""
    address = httpx2.URL(f"{url.replace('http', 'ws', 1)}/ws", params=query)
    options: dict[str, Any] = {"proxy": None, "compression": None, "ping_interval": None, "close_timeout": 0.1}
    async with connect(str(address), open_timeout=SILENT_SECONDS, **options) as live:
        async for text in live:
            message = json.loads(text)
            if "seq" in message:
                yield message


async def over_sse(url: str, query: dict[str, str]) -> AsyncIterator[dict[str, Any]]:
    """The events of `/api/feed`, come back to as a browser does: by the id of the last one."""
    what = {name: value for name, value in query.items() if name not in {"after", "cursor"}}
    place = {"Last-Event-ID": query.get("after") or query["cursor"]}
    async with (
        async_web_client(timeout=SILENT_SECONDS) as http,
        http.stream("GET", f"{url}/api/feed", params=what, headers=place) as answer,
    ):
        assert answer.status_code == 200
        said: dict[str, str] = {}
        async for line in answer.aiter_lines():
            name, _, value = line.partition(": ")
            said[name] = value
            if not line:
                message = json.loads(said.get("data", "{}"))
                if "seq" in message:
                    assert said["id"] == str(message.get("cursor", message["seq"]))
                    yield message
                said = {}


FOLLOWS: tuple[Follow, ...] = (over_websocket, over_sse)


async def follow_through_chaos(folder: Path, events: int, *, mean: int, breaks: int, seed: int = 20261115) -> Result:
    """Write so many events, breaking connections all the time and at least so often; what every subscriber got."""
    with running(folder / "data") as gateway:
        written, subscribers = await _prepared(gateway)
        host, port = gateway.url.removeprefix("http://").split(":")
        async with chaos_before(host, int(port), mean=mean, seed=seed) as proxy, asyncio.TaskGroup() as all_of_them:
            url = f"http://127.0.0.1:{proxy.port}"
            for each in subscribers:
                all_of_them.create_task(each.run(url, written))
            await _write(gateway.url, written, subscribers, events, lambda: proxy.broken >= breaks)
    return Result(proxy, subscribers, written.events)


async def _prepared(gateway: Running) -> tuple[Written, list[Subscriber]]:
    """The sessions, made and described, and those who follow them from the start."""
    names = [f"s{number}" for number in range(SESSIONS)]
    owned = {user: frozenset(names[number :: len(USERS)]) for number, user in enumerate(USERS)}
    async with connect(gateway.live, proxy=None) as live:
        start = json.loads(await live.recv())["cursor"]
    async with async_web_client(base_url=gateway.url) as http:
        for user, own in owned.items():
            for name in sorted(own):
                made = await http.post("/api/sessions", json={"sessionId": name, "userId": user})
                assert made.status_code == 201, made.text
    subscribers: list[Subscriber] = []
    for follow in FOLLOWS:
        subscribers += [Subscriber(follow, {"session": name}, frozenset({name})) for name in names[:4]]
        subscribers += [Subscriber(follow, {"user": user}, own, cursor=start) for user, own in owned.items()]
        subscribers += [Subscriber(follow, {}, frozenset(names), cursor=start) for _ in range(3)]
    return Written({name: [] for name in names}), subscribers


async def _write(
    url: str, written: Written, subscribers: Sequence[Subscriber], events: int, enough: Callable[[], bool]
) -> None:
    """Append in batches, and go on until connections were broken often enough, with the slowest not too far behind."""
    async with async_web_client(base_url=url) as http:
        try:
            while written.events < events or not enough():
                name = f"s{written.events // LINES % SESSIONS}"
                numbers = range(written.events, written.events + LINES)
                written.numbers[name] += numbers
                lines = [{"type": "n", "details": {"n": number, "pad": "x" * (number % 97)}} for number in numbers]
                answer = await http.post(f"/api/actions/{name}/batch", json=lines)
                assert answer.status_code == 201, answer.text
                assert answer.json()["lastSeq"] == len(written.numbers[name]) + 1
                written.events += LINES
                while max(each.behind(written) for each in subscribers) > FARTHEST_BEHIND:
                    if any(each.wrong for each in subscribers):
                        return
                    await asyncio.sleep(0.005)
        finally:
            written.done = True


def _place_of(cursor: str) -> list[int]:
    return [int(part) for part in cursor.split(".")[1:]]
