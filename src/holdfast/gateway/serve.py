"""A gateway as a process: socket, lock, store, agent, server; and all of that again, backwards, on SIGTERM.

The stop is in order: not ready, live feeds get their close, requests under way are answered, turns end or are left
for the next start, the lanes drain, the lock is released, exit code 0. A drain goes before it, if one is asked for: not
ready, but everything is still answered, so that a balancer stops sending before the gateway stops answering.
"""

import asyncio
import logging
import os
import secrets
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import uvicorn

from holdfast import __version__
from holdfast.core.clock import SystemClock, to_iso
from holdfast.core.errors import InvalidInput
from holdfast.core.store_file import StoreLock, lock_path
from holdfast.gateway.access.admission import Admission
from holdfast.gateway.agent import AGENT, Model, Stoppable, agent_files, start_agent
from holdfast.gateway.app import create_app
from holdfast.gateway.connections.limits import ConnectionLimits, make_room
from holdfast.gateway.connections.listen import is_public, listen, url_of
from holdfast.gateway.connections.protocols import http_protocol, live_protocol
from holdfast.gateway.connections.unsent_output import UnsentOutput
from holdfast.gateway.folder import sqlite_url
from holdfast.gateway.gateway import Gateway
from holdfast.gateway.operations import logs, timers
from holdfast.gateway.operations.legacy_sessions import IMPORTS, import_hot_sessions
from holdfast.gateway.operations.logs import Logs, LogWriter
from holdfast.gateway.operations.memory import share_pools
from holdfast.gateway.operations.presence import present
from holdfast.gateway.operations.session_files import SessionFiles, keeping
from holdfast.gateway.operations.timers import ServedStore, Timers
from holdfast.http.event_stream import HEARTBEAT_SECONDS
from holdfast.http.web_server import WebServer
from holdfast.store import NewFiles, open_store, sqlite_path

if TYPE_CHECKING:
    from holdfast.a2a.protocol.card import Form

log = logging.getLogger("holdfast.gateway")

STORE = "store"
FILE = "file"
"""Where the agent keeps its conversations."""

SWITCH_SECONDS = 0.001
FEED_GRACE_SECONDS = 1.0
TURN_GRACE_SECONDS = 4.0
STOP_SECONDS = 6
LET_GO_SECONDS = FEED_GRACE_SECONDS + STOP_SECONDS
"""When a stop no longer waits for the database, counted from its beginning."""
KEEP_ALIVE_SECONDS = 75
"""Longer than clients keep an idle connection, so that it is they who close it."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to run a gateway; `url` is what its agent card tells clients, if not the address that they used."""

    host: str
    port: int
    data: Path
    store: str | None
    model: Model
    admission: Admission = field(default_factory=Admission)
    limits: ConnectionLimits = field(default_factory=ConnectionLimits)
    logs: Logs = field(default_factory=Logs)
    timers: Timers = field(default_factory=Timers)
    url: str | None = None
    card: "Form" = "1.0"
    push_hosts: tuple[str, ...] = ()
    peers: tuple[str, ...] = ()
    agent_tools: tuple[str, ...] = ()
    compact_at: int | None = None
    agent_storage: str = STORE
    agent_folder: Path | None = None
    """Where the agent's tools work, if not in the data folder."""
    legacy: Path | None = None
    """Where sessions in our older layout may be, if not in the data folder."""
    drain_seconds: float = 0
    prices: Path | None = None
    """What models cost, for the overview."""
    proofs: Path | None = None
    """Where runs of proofs lie that operators may see."""
    dashboard_port: int | None = None
    """Where the same application is served as well, if anywhere."""
    files: SessionFiles | None = None
    """Where all sessions are to be as files, too."""

    def __post_init__(self) -> None:
        if self.agent_storage == FILE and not self.alone:
            raise InvalidInput(
                "conversations in files are for a gateway that has its store to itself",
                hint="a SQLite store, or --agent-storage store: other gateways of this store would not see the files",
            )

    @property
    def store_url(self) -> str:
        """The store's URL: the one given, or a file in the data folder."""
        return self.store or sqlite_url(self.data)

    @property
    def workspace(self) -> Path:
        """Where the agent's tools work."""
        return self.agent_folder or self.data / "workspace"

    @property
    def log_folder(self) -> Path:
        """Where the log is."""
        return self.data.resolve() / logs.FOLDER

    @property
    def alone(self) -> bool:
        """Whether the lock makes this the store's only gateway."""
        return sqlite_path(self.store_url) is not None

    @property
    def lock_path(self) -> Path:
        """The lock: beside the store's file, so that two data folders cannot share it; else in the data folder."""
        path = sqlite_path(self.store_url)
        return self.data / "holdfast.lock" if path is None else lock_path(path)


@dataclass(frozen=True, slots=True)
class StartReport:
    """What a gateway says once it serves."""

    url: str
    store: str
    engine: str
    version: str
    model: str
    pid: int
    asks_for_token: bool
    dashboard: str
    """Where a browser finds the dashboard."""


def serve(options: Options, announce: Callable[[StartReport], None]) -> None:
    """Run a gateway until SIGTERM or SIGINT; a HoldfastError if it cannot start."""
    database = sqlite_path(options.store_url)
    if is_public(options.host):
        options.admission.refuse_open(options.host, new=database is not None and not database.exists())
    if options.files is not None:
        options.files.prepare()
    sys.setswitchinterval(SWITCH_SECONDS)
    make_room(options.limits.max_connections)
    share_pools()
    folders = (options.data, options.workspace)
    new_files = NewFiles(options.lock_path, database=database, folders=folders, logs=options.log_folder)

    def served(started: StartReport) -> None:
        new_files.kept = True
        announce(started)

    with (
        listeners(options) as listening,
        StoreLock(options.lock_path) as lock,
        new_files.removed_unless_kept(),
        logs.writing(options.log_folder, options.logs) as log_writer,
    ):
        options.workspace.mkdir(mode=0o700, parents=True, exist_ok=True)
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(_serve(options, lock, listening, log_writer, served))


@contextmanager
def listeners(options: Options) -> Iterator[list[socket.socket]]:
    """The sockets to serve on: the gateway's own, and the dashboard's if it has one to itself."""
    with ExitStack() as stack:
        opened = [stack.enter_context(listen(options.host, options.port))]
        if options.dashboard_port is not None:
            second = listen(options.host, options.dashboard_port, option="--dashboard-port")
            opened.append(stack.enter_context(second))
        yield opened


async def _serve(
    options: Options,
    lock: StoreLock,
    listening: list[socket.socket],
    log_writer: LogWriter,
    announce: Callable[[StartReport], None],
) -> None:
    local = secrets.token_urlsafe()
    url, dashboard = (url_of(options.host, each) for each in (listening[0], listening[-1]))
    async with AsyncExitStack() as stack:
        claim = lock.claim(url) if options.alone else None
        opening = open_store(options.store_url, max_state=options.limits.max_state, claim=claim)
        store = await stack.enter_async_context(await opening)
        public_host = options.host if is_public(options.host) else None
        authority = await options.admission.authority(store, local, public_host)
        legacy = await import_hot_sessions(store, options.legacy or options.data, options.data / IMPORTS)
        lock.say({"pid": os.getpid(), "url": url, "startedAt": to_iso(SystemClock().now()), "token": local})
        gateway = Gateway(store, options.data.resolve(), authority)
        gateway.log, gateway.address, gateway.agents, gateway.legacy = log_writer, url, [AGENT], legacy
        gateway.dashboard, gateway.prices, gateway.proofs_folder = dashboard, options.prices, options.proofs
        # Unless told otherwise: others than those on this machine come by names of their own, or through a balancer.
        known_as = options.url or (url if public_host is None else None)
        files = await stack.enter_async_context(agent_files(store, options.data, used=options.agent_storage == FILE))
        agent = await start_agent(
            store,
            options.model,
            workspace=options.workspace,
            url=known_as,
            alone=options.alone,
            card=options.card,
            asks_for_token=authority.asks,
            push_hosts=options.push_hosts,
            peers=options.peers,
            tools=options.agent_tools,
            compact_at=options.compact_at,
            files=files,
            until_refused=gateway.until_refused,
            rested=gateway.turn_times.rested,
            posted=gateway.posts.posted,
        )
        stack.push_async_callback(agent.stop, 0)
        hosts = [options.host, *options.admission.hosts]
        app = create_app(
            store,
            gateway=gateway,
            hosts=hosts,
            origins=options.admission.origins,
            agent=agent,
            limits=options.limits,
            logs=options.logs,
        )
        if not options.alone:
            await stack.enter_async_context(present(store, url))
        served = ServedStore(store, options.store_url, options.alone)
        gateway.timers = await stack.enter_async_context(
            timers.running(options.timers, served, options.data, gateway.stopping, gateway.backed_up)
        )
        engine = f"{store.engine.name} {store.engine.version}"
        described = (url, store.engine.url, engine, __version__, options.model.described)
        started = StartReport(*described, os.getpid(), authority.asks, dashboard)

        gateway.files = await stack.enter_async_context(keeping(options.files, url, local, gateway.stopping))

        def say() -> None:
            about = {"address": url, "store": store.engine.url, "engine": engine, "version": __version__}
            log.info("the gateway serves", extra={"fields": {**about, "pid": os.getpid()}})
            announce(started)
            if gateway.files is not None:
                gateway.files.served.set()

        last_resort = asyncio.create_task(let_go(gateway))
        await GatewayServer(app, gateway, agent, say, options.limits, options.drain_seconds).serve(listening)
        log.info("the gateway stops")
    last_resort.cancel()


async def let_go(gateway: Gateway) -> None:
    """Once a stop has taken its time, wait for the database no longer."""
    await gateway.stopping.wait()
    await asyncio.sleep(LET_GO_SECONDS)
    log.warning("the gateway stops without the database, which does not answer")
    gateway.store.let_go()


class GatewayServer(WebServer):
    """A web server that stops in our order."""

    def __init__(
        self,
        app: Any,
        gateway: Gateway,
        agent: Stoppable,
        announce: Callable[[], None],
        limits: ConnectionLimits | None = None,
        drain_seconds: float = 0,
    ) -> None:
        limits = limits or ConnectionLimits()
        unsent = gateway.unsent = UnsentOutput(limits.max_unsent, behind_seconds=limits.behind_seconds)
        super().__init__(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                lifespan="off",
                http=http_protocol(limits, unsent),
                ws=live_protocol(limits, unsent),
                ws_ping_interval=HEARTBEAT_SECONDS,
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
        self._drain_seconds = drain_seconds

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Say that we serve, once we do."""
        await super().startup(sockets)
        self._announce()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin the drain; without one, or with one under way, the stop; once that is under way, a Ctrl-C waits for
        nobody. The signal is not raised again: it ends in success."""
        if self._drain_seconds and not self.should_exit and not self._gateway.draining:
            self._gateway.draining = True
            self._loop.call_soon_threadsafe(self._drain)
            return
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True  # a second signal, however soon, is the second
        self._loop.call_soon_threadsafe(self.stop)

    def _drain(self) -> None:
        log.info("the gateway drains for %g s", self._drain_seconds)
        self._loop.call_later(self._drain_seconds, self.stop)

    def stop(self) -> None:
        """Begin to stop, the feeds and the timers as well."""
        super().stop()
        self._gateway.stopping.set()

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
