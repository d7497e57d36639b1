"""A gateway under hostile inputs: it answers each of them or hangs up, it never fails, and what it keeps is unharmed.

An input counts when it was answered, or when the gateway closed the connection at it; what was sent after such a one
is not counted.
"""

import asyncio
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
from tests.gateway.process import running
from tests.support.hostile_inputs import Hostile
from tests.support.memory import memory
from tests.support.processes import Process
from tests.support.raw_http import Answers, NotAnAnswer
from tests.support.web import async_web_client

AT_A_TIME = 12
TALKERS = 8
SECONDS_TO_ANSWER = 30.0
SECONDS_TO_HANG_UP = 0.05
ALONE = 12
"""The inputs of each group of this number have connections of their own."""
KNOWN = "known-to-be-whole"
MOST_GROWTH = 192 * 1024 * 1024
"""What the gateway's memory may grow by, from after the first inputs to any later moment."""
REPORTED = 100_000
"""Inputs after which those who wait hear of them."""
ALLOWED = frozenset({"busy", "too_many_connections"})
"""Codes of a 503 that is no failure: a limit was met, and nothing was done."""


@dataclass(slots=True)
class Outcome:
    """What became of a run."""

    inputs: int = 0
    connections: int = 0
    seconds: float = 0.0
    statuses: Counter[int] = field(default_factory=Counter)
    busy: int = 0
    before: int = 0
    peak: int = 0
    after: int = 0
    violations: list[str] = field(default_factory=list)

    def violated(self, text: str) -> None:
        """Note what must not be."""
        self.violations.append(text)

    def __str__(self) -> str:
        mega = 1024 * 1024
        shown = ", ".join(f"{status}: {count}" for status, count in sorted(self.statuses.items()))
        return (
            f"{self.inputs} inputs on {self.connections} connections in {self.seconds:.0f} s "
            f"({self.inputs / max(self.seconds, 0.001):.0f}/s); {shown}; {self.busy} refused as busy; memory "
            f"{self.before / mega:.0f} MB, at most {self.peak / mega:.0f} MB, {self.after / mega:.0f} MB at the end"
        )


async def attack(
    folder: Path, inputs: int, *, seed: int, store: str | None = None, told: Callable[[str], None] | None = None
) -> Outcome:
    """Send so many inputs to a gateway of our own, and look at it afterwards; `told` hears how it goes."""
    outcome = Outcome()
    chosen = ["--store", store] if store else []
    with running(folder / "data", "--auth", "none", *chosen) as gateway, heard_from(gateway.process) as said:
        async with async_web_client(base_url=gateway.url, timeout=SECONDS_TO_ANSWER) as client:
            whole = await prepare(client)
            began = time.monotonic()
            watching = asyncio.create_task(watch(gateway.process.pid, outcome, inputs, told))
            await asyncio.gather(
                *(
                    talk(gateway.url, outcome, inputs, Hostile(seed * TALKERS + each, urlsplit(gateway.url).netloc))
                    for each in range(TALKERS)
                )
            )
            watching.cancel()
            outcome.seconds = time.monotonic() - began
            if gateway.process.poll() is not None:
                outcome.violated(f"the gateway ended with {gateway.process.returncode}")
                return outcome
            try:
                await inspect(client, whole, outcome)
            except httpx2.TransportError as error:
                outcome.violated(f"no answer at the end: {error!r}")
            outcome.after = memory(gateway.process.pid)
            outcome.peak = max(outcome.peak, outcome.after)
            if outcome.peak - outcome.before > MOST_GROWTH:
                outcome.violated(f"memory grew from {outcome.before} to {outcome.peak} bytes")
        gateway.process.terminate()
        code = gateway.process.wait(SECONDS_TO_ANSWER)
        if code != 0:
            outcome.violated(f"stopped with {code}")
    if any("Traceback" in line for line in said):
        outcome.violated("".join(said)[-3_000:])
    return outcome


@contextmanager
def heard_from(process: Process) -> Iterator[list[str]]:
    """What a process says on stderr while this lasts: a pipe that nobody empties would stop it."""
    said: list[str] = []

    def listen() -> None:
        assert process.stderr is not None
        said.extend(process.stderr)

    listening = threading.Thread(target=listen, daemon=True)
    listening.start()
    yield said
    process.kill()
    listening.join(SECONDS_TO_ANSWER)


async def prepare(client: httpx2.AsyncClient) -> bytes:
    """A session that must be whole at the end, under a hold so that no retention takes it; its log."""
    lines = b"\n".join(json.dumps({"type": "n", "details": {"n": n}}).encode() for n in range(500))
    for method, path, body in (
        ("POST", f"/api/actions/{KNOWN}/batch", lines),
        ("PATCH", f"/api/state/{KNOWN}", b'{"phase":"whole"}'),
        ("POST", f"/api/sessions/{KNOWN}/hold", b'{"held":true}'),
    ):
        answer = await client.request(method, path, content=body)
        assert answer.status_code in {200, 201}, answer.text
    return (await client.get(f"/api/sessions/{KNOWN}/log")).content


async def inspect(client: httpx2.AsyncClient, whole: bytes, outcome: Outcome) -> None:
    """The gateway is ready, and the session is what it was."""
    ready = await client.get("/readyz")
    if ready.status_code != 200:
        outcome.violated(f"not ready: {ready.text[:300]}")
    if (await client.get(f"/api/sessions/{KNOWN}/log")).content != whole:
        outcome.violated("the known session is not what it was")
    state = (await client.get(f"/api/state/{KNOWN}")).json()
    if state.get("phase") != "whole":
        outcome.violated(f"the known session's state is not what it was: {state}")
    verified = await client.post("/api/verify")
    last = json.loads(verified.text.splitlines()[-1])
    if last.get("bad") != 0 or not last.get("done"):
        outcome.violated(f"verification: {verified.text[-500:]}")


async def watch(pid: int, outcome: Outcome, inputs: int, told: Callable[[str], None] | None) -> None:
    """Look at the gateway's memory now and then; the first inputs warm it up."""
    began = time.monotonic()
    said = 0
    while True:
        if told is not None and outcome.inputs // REPORTED > said:
            said = outcome.inputs // REPORTED
            told(f"    {outcome.inputs} after {time.monotonic() - began:.0f} s, {memory(pid) // 1024**2} MB")
        if not outcome.before and outcome.inputs > inputs // 20:
            outcome.before = memory(pid)
        outcome.peak = max(outcome.peak, memory(pid))
        await asyncio.sleep(0.25)


async def talk(url: str, outcome: Outcome, inputs: int, hostile: Hostile) -> None:
    """One talker: groups of requests down one connection while it lasts, others on connections of their own."""
    turn = 0
    stream: Stream | None = None
    while outcome.inputs < inputs and not outcome.violations:
        turn += 1
        if turn % ALONE == 0:
            await asyncio.gather(*(alone(url, outcome, hostile.conversation()) for _ in range(AT_A_TIME)))
            continue
        if stream is None:
            stream = await Stream.to(url, outcome)
        if not await stream.ask(list(hostile.requests(AT_A_TIME))):
            stream = None
    if stream is not None:
        stream.close()


class Stream:
    """A connection on which requests are pipelined."""

    def __init__(self, raw: socket.socket, outcome: Outcome) -> None:
        self._raw = raw
        self._outcome = outcome
        self._answers = Answers()

    @staticmethod
    async def to(url: str, outcome: Outcome) -> "Stream":
        """A new connection."""
        outcome.connections += 1
        return Stream(await connection(url), outcome)

    def close(self) -> None:
        """Hang up."""
        self._raw.close()

    async def ask(self, requests: list[bytes]) -> bool:
        """Send the requests and look at their answers; False if the connection has ended."""
        loop = asyncio.get_running_loop()
        answered = 0
        heads = [request.startswith(b"HEAD ") for request in requests]
        self._answers.expect(heads)
        try:
            async with asyncio.timeout(SECONDS_TO_ANSWER):
                await loop.sock_sendall(self._raw, b"".join(requests))
                while answered < len(requests):
                    data = await loop.sock_recv(self._raw, 1 << 18)
                    if not data:
                        break
                    for answer in self._answers.feed(data):
                        see(self._outcome, answer.status, answer.body, requests[answered])
                        answered += 1
                        if answer.last:
                            self._outcome.inputs += answered
                            self.close()
                            return False
        except (ConnectionError, NotAnAnswer) as error:
            if isinstance(error, NotAnAnswer):
                self._outcome.violated(f"no HTTP: {error} to {requests[min(answered, len(requests) - 1)][:500]!r}")
        except TimeoutError:
            self._outcome.violated(f"no answer to {requests[answered][:1_000]!r}")
        self._outcome.inputs += min(answered + 1, len(requests))
        if answered == len(requests):
            return True
        self.close()
        return False


async def alone(url: str, outcome: Outcome, said: bytes) -> None:
    """Say something on a connection of its own, and hear what comes until nothing more does."""
    loop = asyncio.get_running_loop()
    outcome.connections += 1
    outcome.inputs += 1
    raw = await connection(url)
    heard = bytearray()
    try:
        await loop.sock_sendall(raw, said)
        while len(heard) < 1 << 20:
            async with asyncio.timeout(SECONDS_TO_HANG_UP):
                data = await loop.sock_recv(raw, 1 << 16)
            if not data:
                break
            heard += data
            if b"\r\n\r\n" in heard and not heard.startswith(b"HTTP/1.1 101"):
                break
    except (ConnectionError, TimeoutError):
        pass
    finally:
        raw.close()
    if heard.startswith(b"HTTP/1.1 ") and heard[9:12].isdigit():
        see(outcome, int(heard[9:12]), bytes(heard.partition(b"\r\n\r\n")[2]), said)
    elif heard:
        outcome.violated(f"no HTTP: {bytes(heard[:200])!r} to {said[:500]!r}")
    if b"\x88" in heard and b"\x03\xf3something went wrong" in heard:
        outcome.violated(f"a feed failed after {said[:1_000]!r}")


def see(outcome: Outcome, status: int, body: bytes, request: bytes) -> None:
    """Note an answer; one that says that we failed is a violation."""
    outcome.statuses[status] += 1
    if status < 500:
        return
    if status == 503:
        outcome.busy += 1
        if any(f'"code":"{code}"'.encode() in body for code in ALLOWED):
            return
    outcome.violated(f"{status} {body[:500]!r} to {request[:1_500]!r}")


async def connection(url: str) -> socket.socket:
    """A connection that leaves nothing behind when it is closed: the ports would run out."""
    where = urlsplit(url)
    made = socket.socket()
    made.setblocking(False)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    await asyncio.get_running_loop().sock_connect(made, (where.hostname, where.port))
    return made
