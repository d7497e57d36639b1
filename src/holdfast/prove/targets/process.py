"""A target that is a process of ours, in a session of its own and on a leash (see `leash`), so it never outlives us.

Its port is checked to be silent before a start and after a kill, and once it answers to be listened on by nobody else,
so that no verdict is about another process.
"""

import asyncio
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from holdfast.core.redact import redact
from holdfast.prove import leash
from holdfast.prove.targets.listeners import stranger_on
from holdfast.prove.targets.readiness import says_ready
from holdfast.prove.targets.target import PortOccupied, TargetNotReady
from holdfast.prove.wire.client import Wire
from holdfast.prove.wire.credentials import NO_CREDENTIALS, Credentials

HOST = "127.0.0.1"
GRACE_SECONDS = 10.0
SILENCE_SECONDS = 3.0
LOOK_EVERY_SECONDS = 0.01

start_process = subprocess.Popen


@dataclass(frozen=True, slots=True)
class Probe:
    """A way to look into a store, and a command line that shows the same (see `Target.probe`)."""

    look: Callable[[str], Awaitable[dict[str, Any]]]
    line: str


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start a process and how to see that it is ready: one of `ready_paths` answers 200.

    It starts in `folder` (None: where we are) with exactly the environment given, and may ask the agent at
    `peer_url`. `probe` looks into its store, where there is a way to. `next_command` starts its next version, if there
    is one.
    """

    name: str
    command: tuple[str, ...]
    port: int
    ready_paths: tuple[str, ...]
    workspace: Path | None
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    folder: Path | None = None
    peer_url: str | None = None
    probe: Probe | None = None
    next_command: tuple[str, ...] = ()


class ProcessTarget:
    """Starts, stops and kills what a Launch describes."""

    restartable = True
    restarted_by = ""

    def __init__(
        self,
        launch: Launch,
        log_folder: Path,
        start_seconds: float,
        grace_seconds: float = GRACE_SECONDS,
        credentials: Credentials = NO_CREDENTIALS,
    ) -> None:
        self._launch = launch
        self._log_folder = log_folder
        self._start_seconds = start_seconds
        self._grace_seconds = grace_seconds
        self._credentials = credentials
        self._logs: list[Path] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._leash: socket.socket | None = None
        self._pid: int | None = None
        self.name = launch.name
        self.url = f"http://{HOST}:{launch.port}"
        self.workspace = launch.workspace
        self.peer_url = launch.peer_url
        self.probe_line = launch.probe.line if launch.probe else ""
        self.command_line = shlex.join(launch.command)
        self.next_command = shlex.join(launch.next_command)

    @property
    def running(self) -> bool:
        """Whether the process is alive."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        """The process, once it was started."""
        return self._pid

    def logs(self) -> list[Path]:
        """One file per start, oldest first."""
        return list(self._logs)

    async def start(self) -> None:
        """Start the process and wait until it is ready; if it is not, it is killed and NotReady says why."""
        if port_answers(self._launch.port):
            raise PortOccupied(
                f"port {self._launch.port} is taken by another process",
                hint="stop that process, or name another port with --port",
            )
        self._let_go()
        self._leash = self._spawn()
        try:
            told = await asyncio.get_running_loop().sock_recv(self._leash, 32)
            self._pid = int(told) if told else None
            await self._become_ready()
        except BaseException:
            self._let_go()
            raise

    async def ended(self, within: float) -> bool:
        """Whether the process has ended, or does so within so many seconds."""
        deadline = time.monotonic() + within
        while self.running:
            if time.monotonic() > deadline:
                return False
            await asyncio.sleep(LOOK_EVERY_SECONDS)
        return True

    async def stop(self) -> str:
        """SIGTERM to the group; SIGKILL after a grace, which is then said in the answer."""
        trouble = ""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
        if not await self.ended(self._grace_seconds):
            trouble = f"still running {self._grace_seconds:g} s after SIGTERM, so it was killed"
        self._let_go()
        await self._fall_silent()
        return trouble

    async def kill(self) -> None:
        """SIGKILL to all of it, at once."""
        self._let_go()
        await self._fall_silent()

    def pause(self) -> None:
        """SIGSTOP to all of it; the leash stays awake."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT to all of it."""
        self._signal(signal.SIGCONT)

    def upgrade(self) -> None:
        """From now on, a start is one of the next version."""
        self._launch = replace(self._launch, command=self._launch.next_command)
        self.command_line = self.next_command

    def abandon(self) -> None:
        """Leave nothing behind."""
        self._let_go()

    def _let_go(self) -> None:
        """Let go of the leash, which kills the process and all that it ever started."""
        if self._leash is not None:
            leash.let_go(self._leash)
            self._leash = None
        if self._process is not None:
            self._process.wait()

    async def probe(self, context_id: str) -> dict[str, Any] | None:
        """What the store shows, where there is a way to look into it."""
        return await self._launch.probe.look(context_id) if self._launch.probe else None

    def _signal(self, number: signal.Signals) -> None:
        """To all that is on the leash, what the command has left behind included, until nothing new turns up."""
        told: set[int] = set()
        while self._process is not None and self.running:
            found = {*([self._pid] if self._pid else ()), *leash.descendants(self._process.pid)} - told
            if not found:
                return
            for pid in found:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
            told |= found

    def _spawn(self) -> socket.socket:
        """Start the process on a leash, and return our end of it."""
        log = self._log_folder / f"target-{len(self._logs) + 1}.log"
        self._logs.append(log)
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        try:
            with log.open("wb") as output:
                self._process = start_process(
                    [sys.executable, "-I", "-S", leash.__file__, str(theirs.fileno()), str(log), *self._launch.command],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    pass_fds=(theirs.fileno(),),
                    cwd=self._launch.folder,
                    env={**self._launch.environment, "PYTHONUNBUFFERED": "1"},
                )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        return ours

    async def _become_ready(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + self._start_seconds
        async with Wire(self.url, credentials=self._credentials) as wire:
            while time.monotonic() < deadline:
                if (code := self._process.poll()) is not None:
                    raise TargetNotReady(
                        f"it ended with exit code {code} before it was ready{self._last_words()}",
                        hint=f"see {self._logs[-1]}",
                    )
                if port_answers(self._launch.port) and await says_ready(wire, self._launch.ready_paths):
                    self._check_listener()
                    return
                await asyncio.sleep(LOOK_EVERY_SECONDS)
        if port_answers(self._launch.port):
            lacking, look = f"no 200 from {' or '.join(self._launch.ready_paths)}", "or see"
        else:
            lacking, look = f"nothing listens on {HOST}:{self._launch.port}", "let it listen there (see --port), or see"
        raise TargetNotReady(
            f"{lacking}, {self._start_seconds:g} s after the start{self._last_words()}",
            hint=f"give it more time with --timeout, {look} {self._logs[-1]}",
        )

    def _check_listener(self) -> None:
        """NotReady if it was another process that answered."""
        assert self._process is not None
        stranger = stranger_on(HOST, self._launch.port, self._process.pid)
        if stranger is not None:
            raise TargetNotReady(
                f"{stranger} listens on port {self._launch.port}, and not the command or a child of it",
                hint="stop that process, or name another port with --port; a command that hands its server to a "
                "service (docker, systemd) is proved with --url",
            )

    async def _fall_silent(self) -> None:
        deadline = time.monotonic() + SILENCE_SECONDS
        while port_answers(self._launch.port):
            if time.monotonic() > deadline:
                raise PortOccupied(
                    f"port {self._launch.port} still answers although the process was killed",
                    hint="the command must not hand its server to a service that is not its child (docker, systemd)",
                )
            await asyncio.sleep(LOOK_EVERY_SECONDS)

    def _last_words(self) -> str:
        """The last line of the newest log, and the one before it where the last is only a hint, as ours write it."""
        lines = [line.strip() for line in self._logs[-1].read_text(errors="replace").split("\n") if line.strip()]
        last = lines[-2:] if lines and lines[-1].startswith("hint: ") else lines[-1:]
        return f"; its last words: {redact('; '.join(last))}" if last else "; its log is empty"


def free_port() -> int:
    """A port on loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def port_answers(port: int) -> bool:
    """Whether something listens on the port on loopback."""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((HOST, port)) == 0
