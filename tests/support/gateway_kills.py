"""Kill a gateway again and again while retrying clients write through it; then look at what is there.

With several addresses there are several gateways on one PostgreSQL, killed in turn, and the clients go to the next.
The processes are forked from one that has imported what they need, so that a kill costs far less.
"""

import asyncio
import os
import random
import runpy
import signal
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from tests.gateway.process import PATIENCE
from tests.support.processes import spawn
from tests.support.retrying_clients import Clients, write_until_stopped, wrongs

from holdfast.store import open_store

CLIENTS = 32
SESSIONS = 8
LONGEST_LIFE = 0.08
IN_START = 0.1
"""How often a gateway is killed before it is ready."""


@dataclass(slots=True)
class Outcome:
    """What a run of kills found."""

    clients: Clients
    wrong: list[str] = field(default_factory=list)
    ready: list[float] = field(default_factory=list)
    """Seconds from each kill until the next gateway was ready."""


@dataclass(slots=True)
class Gateway:
    """One gateway with a port of its own, started again after each kill."""

    folder: Path
    store_url: str
    module: str
    port: int
    process: ForkServerProcess | None = None
    more: tuple[str, ...] = ()
    """Options beside those that every gateway has."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def runs(self) -> bool:
        """Whether it was started and has not ended."""
        return self.process is not None and self.process.exitcode is None

    def start(self) -> None:
        """Start the process; it is not ready yet."""
        options = ("--port", str(self.port), "--data", str(self.folder), "--store", self.store_url, *self.more)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.process = spawn(_serve, self.module, options, str(self.folder / "said"))

    async def until_ready(self, patience: float = PATIENCE) -> None:
        """Return once `/readyz` says so."""
        assert self.process is not None
        async with asyncio.timeout(patience):
            while not await _is_ready(self.port):
                assert self.runs, (self.folder / "said").read_text()
                await asyncio.sleep(0.005)

    def send(self, number: signal.Signals) -> None:
        """Send a signal, if it runs."""
        if self.runs:
            assert self.process is not None
            assert self.process.pid is not None
            os.kill(self.process.pid, number)

    async def end(self, number: signal.Signals) -> int:
        """Send a signal and wait; the exit code."""
        assert self.process is not None
        self.send(number)
        while (code := self.process.exitcode) is None:
            await asyncio.sleep(0.002)
        return code


def _serve(module: str, options: tuple[str, ...], said: str) -> None:
    """In the child: be `python -m module serve …`, whose words go to a file."""
    for name in [name for name in os.environ if name.startswith(("HOLDFAST_", "OPENAI_"))]:
        del os.environ[name]
    words = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(words, 1)
    os.dup2(words, 2)
    sys.argv = [module, "serve", *options]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


async def kill_gateways(
    store_url: str, folder: Path, cycles: int, *, gateways: int = 1, seed: int = 20261115, module: str = "holdfast"
) -> Outcome:
    """Kill gateways so often at random moments under 32 retrying clients; `module` is the program that serves."""
    chance = random.Random(seed)
    ports = fixed_ports(gateways)
    served = [Gateway(folder / f"g{n}", store_url, module, port) for n, port in enumerate(ports)]
    clients = Clients([each.url for each in served])
    outcome = Outcome(clients)
    writing = [
        asyncio.create_task(write_until_stopped(clients, f"c{n}", f"s{n % SESSIONS}", n)) for n in range(CLIENTS)
    ]
    try:
        for each in served:
            each.start()
            await each.until_ready()
        for cycle in range(cycles):
            await _one_kill(served[cycle % gateways], outcome, chance)
        clients.stopping = True
        await asyncio.gather(*writing)
        codes = [await each.end(signal.SIGTERM) for each in served]
        outcome.wrong += [f"a gateway ended with {code}" for code in codes if code]
    finally:
        for task in writing:
            task.cancel()
        await asyncio.gather(*writing, return_exceptions=True)
        for each in served:
            if each.runs:
                await each.end(signal.SIGKILL)
    async with await open_store(store_url) as store:
        outcome.wrong += await wrongs(store, clients)
    return outcome


async def _one_kill(gateway: Gateway, outcome: Outcome, chance: random.Random) -> None:
    """Wait until clients are answered again, and a moment; kill; start again, now and then after a kill at once."""
    clients, before = outcome.clients, outcome.clients.answered
    async with asyncio.timeout(PATIENCE):
        while clients.answered == before:
            await asyncio.sleep(0.002)
    await asyncio.sleep(chance.random() * LONGEST_LIFE)
    began = time.monotonic()
    await gateway.end(signal.SIGKILL)
    gateway.start()
    if chance.random() < IN_START:
        await asyncio.sleep(chance.random())
        began = time.monotonic()
        await gateway.end(signal.SIGKILL)
        gateway.start()
    await gateway.until_ready()
    outcome.ready.append(time.monotonic() - began)


async def _is_ready(port: int) -> bool:
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    try:
        writer.write(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        return (await reader.readline()).startswith(b"HTTP/1.1 200")
    except OSError:
        return False
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


def fixed_ports(count: int) -> Sequence[int]:
    """Free ports to come back to: below those that the kernel gives away while nobody listens on them.

    They are no part of a seed's plan: two runs of one seed, side by side, must not meet.
    """
    chance = random.SystemRandom()
    found: set[int] = set()
    while len(found) < count:
        port = chance.randrange(20_000, 32_000)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            found.add(port)
    return sorted(found)
