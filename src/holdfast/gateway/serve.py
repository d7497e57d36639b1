"""A gateway as a process: lock, socket, store, agent, server; and all of that again, backwards, on SIGTERM.

The stop is in order: not ready, live feeds get their close, requests under way are answered, turns end or are left
for the next start, the lanes drain, the lock is released, exit code 0.
"""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import unquote

import uvicorn

from holdfast import __version__
from holdfast.core.clock import SystemClock, to_iso
from holdfast.gateway.agent import Agent, Model, start_agent
from holdfast.gateway.app import create_app
from holdfast.gateway.folder import SQLITE, sqlite_url
from holdfast.gateway.gateway import Gateway
from holdfast.gateway.listen import listen, url_of
from holdfast.store import open_store
from holdfast.store.lock import StoreLock, lock_path

SWITCH_SECONDS = 0.001
FEED_GRACE_SECONDS = 1.0
TURN_GRACE_SECONDS = 4.0
STOP_SECONDS = 6
KEEP_ALIVE_SECONDS = 75
"""Longer than clients keep an idle connection, so that it is they who close it."""
MAX_FRAME = 64 * 1024


@dataclass(frozen=True, slots=True)
class Options:
    """How to run a gateway."""

    host: str
    port: int
    data: Path
    store: str | None
    model: Model

    @property
    def store_url(self) -> str:
        """The store's URL: the one given, or a file in the data folder."""
        return self.store or sqlite_url(self.data)

    @property
    def workspace(self) -> Path:
        """Where the agent's tools work."""
        return self.data / "workspace"

    @property
    def alone(self) -> bool:
        """Whether the lock makes this the store's only gateway."""
        return self.store_url.startswith(SQLITE)

    @property
    def lock_path(self) -> Path:
        """The lock: beside the store's file, so that two data folders cannot share it; else in the data folder."""
        if not self.alone:
            return self.data / "holdfast.lock"
        return lock_path(Path(unquote(self.store_url.removeprefix(SQLITE))))


@dataclass(frozen=True, slots=True)
class Started:
    """What a gateway says once it serves."""

    url: str
    store: str
    engine: str
    version: str
    model: str
    pid: int


def serve(options: Options, announce: Callable[[Started], None]) -> None:
    """Run a gateway until SIGTERM or SIGINT; a HoldfastError if it cannot start."""
    sys.setswitchinterval(SWITCH_SECONDS)
    with StoreLock(options.lock_path) as lock, listen(options.host, options.port) as listener:
        url = url_of(options.host, listener)
        options.workspace.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock.say({"pid": os.getpid(), "url": url, "startedAt": to_iso(SystemClock().now())})
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(_serve(options, url, listener, announce))


async def _serve(options: Options, url: str, listener: socket.socket, announce: Callable[[Started], None]) -> None:
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(await open_store(options.store_url))
        gateway = Gateway(store, options.data.resolve())
        agent = await start_agent(store, options.model, workspace=options.workspace, url=url, alone=options.alone)
        stack.push_async_callback(agent.stop, 0)
        app = create_app(store, gateway=gateway, hosts=[options.host], more_routes=agent.routes)
        engine = f"{store.engine.name} {store.engine.version}"
        started = Started(url, store.engine.url, engine, __version__, options.model.described, os.getpid())
        await Server(app, gateway, agent, lambda: announce(started)).serve([listener])


class Server(uvicorn.Server):
    """uvicorn, stopping in our order."""

    def __init__(self, app: Any, gateway: Gateway, agent: Agent, announce: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                lifespan="off",
                ws="auto",
                ws_max_size=MAX_FRAME,
                ws_ping_timeout=None,
                ws_per_message_deflate=False,
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=STOP_SECONDS,
            )
        )
        self._gateway = gateway
        self._agent = agent
        self._announce = announce
        self._loop = asyncio.get_running_loop()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Say that we serve, once we do."""
        await super().startup(sockets)
        self._announce()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin the stop; a second Ctrl-C waits for nobody. The signal is not raised again: it ends in success."""
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True
        self._loop.call_soon_threadsafe(self._gateway.stopping.set)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the feeds; then answer what is under way while the agent's turns come to their end."""
        await self._gateway.stop_feeds(FEED_GRACE_SECONDS)
        async with asyncio.TaskGroup() as stopping:
            stopping.create_task(self._agent.stop(TURN_GRACE_SECONDS))
            stopping.create_task(super().shutdown(sockets))


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """uvloop where there is one."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop
