"""A real gateway to test against: as a process of its own, or on a socket of this one."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.processes import Process, first_line, holdfast, python

from holdfast.gateway.app import create_app
from holdfast.gateway.connections.listen import listen, url_of
from holdfast.gateway.gateway import Gateway
from holdfast.gateway.serve import GatewayServer
from holdfast.store import Store

PATIENCE = 30.0


@dataclass(frozen=True, slots=True)
class Running:
    """A gateway process and where it is."""

    process: Process
    url: str

    @property
    def live(self) -> str:
        """The address of its live feed."""
        return self.url.replace("http", "ws", 1) + "/ws"

    def stop(self) -> tuple[int, str]:
        """SIGTERM; the exit code and what was said on stderr."""
        self.process.send_signal(signal.SIGTERM)
        _, err = self.process.communicate(timeout=PATIENCE)
        return self.process.wait(), err


def command(*arguments: str, module: str = "holdfast") -> list[str]:
    """The command line of a gateway; `module` is the program, ours or one that misbehaves."""
    return [sys.executable, "-m", module, "serve", *arguments]


@contextmanager
def running(data: Path, *arguments: str, port: int = 0, as_child: bool = False) -> Iterator[Running]:
    """A gateway process; killed at the end if it still runs. As a child of this process it has memory of its own, and
    once it has ended it is a zombie until somebody waits for it."""
    words = ("serve", "--json", "--port", str(port), "--data", str(data), *arguments)
    with python("-m", "holdfast", *words) if as_child else holdfast(*words) as process:
        said = json.loads(first_line(process))
        assert "code" not in said, said  # a refusal names the server that is in the way by its URL
        yield Running(process, said["url"])


class NoAgent:
    """A gateway without an agent."""

    async def stop(self, grace_seconds: float) -> None:
        """There are no turns."""


@dataclass(frozen=True, slots=True)
class Served:
    """A gateway in this process."""

    gateway: Gateway
    server: GatewayServer
    port: int

    @property
    def live(self) -> str:
        """The address of its live feed."""
        return f"ws://127.0.0.1:{self.port}/ws"


@asynccontextmanager
async def served(
    store: Store, *, deaf_ms: int = 60_000, gateway: Gateway | None = None, **options: Any
) -> AsyncIterator[Served]:
    """The store behind a real socket of this process; `options` are the application's."""
    gateway = gateway or Gateway(store)
    ready = asyncio.Event()
    with listen("127.0.0.1", 0, deaf_ms=deaf_ms) as listener:
        server = GatewayServer(
            create_app(store, gateway=gateway, **options), gateway, NoAgent(), ready.set, options.get("limits")
        )
        task = asyncio.create_task(server.serve([listener]))
        await ready.wait()
        try:
            yield Served(gateway, server, int(url_of("127.0.0.1", listener).rsplit(":", 1)[1]))
        finally:
            server.stop()
            await task
