"""The service and its programs in containers, by `deploy/compose.e2e.yml`, with either version of docker compose.

The programs' data folders and the sessions' files are folders of the evidence, mounted; sessions are on a volume.
Should this process be killed, what it started is removed nevertheless.
"""

import asyncio
import os
import secrets
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import httpx2

from holdfast.core import HoldfastError
from holdfast.core.redact import redact
from holdfast.prove.service.surroundings import GATEWAY, Tell
from holdfast.prove.targets.containers.cleanup import Cleanup
from holdfast.prove.targets.containers.engine import ContainerEngine, EngineFailed, find_engine
from holdfast.prove.targets.process import HOST, free_port
from holdfast.prove.targets.target import TargetNotReady

FILE = Path("deploy") / "compose.e2e.yml"
STORE = "session-store"
DASHBOARD, OWNER = "dashboard", "volume-owner"
STAND_INS = {
    "BASE_IMAGE": "holdfast-here/python",
    "HAPROXY_IMAGE": "holdfast-here/haproxy",
    "BUILD_NETWORK": "host",
}
"""What `scripts/containers-here` makes where no image can be pulled."""
DASHBOARD_PORT = 3000
DOWN = ("down", "-v", "--remove-orphans", "-t", "10")
BUILD_SECONDS = 1800.0
LOOK_EVERY_SECONDS = 0.1
ANSWER_SECONDS = 3.0


class ServiceContainers:
    """The services of the compose file; `sessions` are those that the programs report to."""

    kind = "containers"

    def __init__(self, folder: Path, checkout: Path, sessions: Mapping[str, str], start_seconds: float) -> None:
        self._folder = folder
        self._file = checkout / FILE
        self._sessions = sessions
        self._start_seconds = start_seconds
        self._project = f"holdfast-proof-{secrets.token_hex(3)}"
        self._engine: ContainerEngine | None = None
        self._settings: dict[str, str] = {}
        self._cleanup: Cleanup | None = None
        self._one_at_a_time = threading.Lock()
        self._ports = {name: free_port() for name in (GATEWAY, *sessions)}
        self._ports[DASHBOARD] = _dashboard_port()
        self.token: str | None = secrets.token_urlsafe(32)
        self.url = f"http://{HOST}:{self._ports[GATEWAY]}"
        self.dashboard = f"http://{HOST}:{self._ports[DASHBOARD]}"
        for name in sessions:
            self.data(name).mkdir(parents=True, mode=0o700)
            (self.data(name) / "workspace").mkdir(mode=0o700)
        for path in (self.files, folder / "logs"):
            path.mkdir(mode=0o700)
        secret = folder / "token"
        secret.touch(0o600)
        secret.write_text(self.token)

    @property
    def files(self) -> Path:
        return self._folder / "files"

    def data(self, name: str) -> Path:
        return self._folder / "data" / name

    async def find_engine(self) -> str:
        self._engine = engine = await asyncio.to_thread(find_engine)
        self._settings = await asyncio.to_thread(self._told)
        self._cleanup = Cleanup((*engine.compose, *self._place, *DOWN), self._settings)
        return f"{engine.command}, by {' '.join(engine.compose)}"

    async def build(self, tell: Tell) -> str:
        tell("building the images")
        names = [self._service(name) for name in (GATEWAY, *self._sessions)]
        await self._run("build", *names)
        return f"{len(names)} images are built"

    async def start(self, name: str) -> None:
        if name == GATEWAY:
            await self._run("run", "--rm", "--no-deps", "-T", OWNER)
        await self._run("up", "-d", "--no-build", "--no-deps", self._service(name))
        path = "/readyz" if name == GATEWAY else "/health"
        await self._answers(name, f"http://{HOST}:{self._ports[name]}{path}")
        if name == GATEWAY:
            await self._run("up", "-d", "--no-build", "--no-deps", DASHBOARD)
            await self._answers(DASHBOARD, f"{self.dashboard}/health")

    async def kill(self, name: str) -> None:
        await self._run("kill", "-s", "KILL", self._service(name))

    def running(self, name: str) -> str:
        if self._engine is None:
            return ""
        found = self._engine.container(self._project, self._service(name), running=True)
        return f"container {found}" if found else ""

    def health(self, name: str) -> str:
        return f"http://{HOST}:{self._ports[name]}/health"

    def logs(self) -> dict[str, Sequence[Path]]:
        found: dict[str, Sequence[Path]] = {}
        for name in (GATEWAY, DASHBOARD, *self._sessions):
            path = self._folder / "logs" / f"{name}.log"
            with suppress(HoldfastError):
                if self._engine is not None and (said := self._compose("logs", "--no-color", self._service(name))):
                    path.write_text(redact(said))
            found[name] = [path] if path.exists() else []
        return found

    async def close(self) -> None:
        if self._engine is not None:
            self.logs()
            await self._run(*DOWN)
            self._engine = None
        if self._cleanup is not None:
            await asyncio.to_thread(self._cleanup.call_off)
            self._cleanup = None
        (self._folder / "token").unlink(missing_ok=True)

    def _told(self) -> dict[str, str]:
        """What the compose file is told by the environment; stand-ins for images where nobody named others."""
        assert self._engine is not None
        stand_ins = {}
        with suppress(EngineFailed):
            if "BASE_IMAGE" not in os.environ:
                self._engine.call("image", "inspect", STAND_INS["BASE_IMAGE"])
                stand_ins = STAND_INS
        names = {GATEWAY: "STORE", "customer_comm": "CUSTOMER", "email_solver": "EMAIL", "claude_cli": "CLAUDE"}
        ports = {f"HOLDFAST_E2E_{names[name]}_PORT": str(self._ports[name]) for name in names if name in self._ports}
        sessions = {f"HOLDFAST_E2E_{names[name]}_SESSION": known for name, known in self._sessions.items()}
        own = {
            "HOLDFAST_E2E_FOLDER": str(self._folder),
            "HOLDFAST_E2E_USER": f"{os.getuid()}:{os.getgid()}",
            "HOLDFAST_E2E_TOKEN": self.token or "",
            "HOLDFAST_E2E_DASHBOARD_PORT": str(self._ports[DASHBOARD]),
        }
        return stand_ins | own | ports | sessions

    def _service(self, name: str) -> str:
        return STORE if name == GATEWAY else name.replace("_", "-")

    async def _answers(self, name: str, url: str) -> None:
        """Wait until a part answers 200."""
        headers = {"Authorization": f"Bearer {self.token}"}
        deadline = time.monotonic() + self._start_seconds
        async with httpx2.AsyncClient(trust_env=False, timeout=ANSWER_SECONDS, headers=headers) as http:
            while time.monotonic() < deadline:
                try:
                    if (await http.get(url)).status_code == 200:
                        return
                except httpx2.HTTPError:
                    pass
                if not await asyncio.to_thread(self.running, name):
                    break
                await asyncio.sleep(LOOK_EVERY_SECONDS)
        last = self.logs()[name]
        words = last[0].read_text().strip().splitlines()[-1:] if last else []
        raise TargetNotReady(
            f"no 200 from {url} after the start of {name}; its last words: {' '.join(words)[:300]}",
            hint=f"give it more time with --timeout, or see {self._folder / 'logs' / f'{name}.log'}",
        )

    async def _run(self, *words: str) -> str:
        """What a command of compose prints."""
        return await asyncio.to_thread(self._compose, *words)

    @property
    def _place(self) -> tuple[str, ...]:
        return ("-p", self._project, "-f", str(self._file))

    def _compose(self, *words: str) -> str:
        assert self._engine is not None
        holding = () if self._cleanup is None else self._cleanup.held
        with self._one_at_a_time:  # a command that nobody waits for any more goes on: what it makes is to be removed
            return self._engine.compose_call(
                *self._place, *words, settings=self._settings, within=BUILD_SECONDS, holding=holding
            )


def _dashboard_port() -> int:
    """3000 if it is free, else another one."""
    with socket.socket() as probe:
        try:
            probe.bind((HOST, DASHBOARD_PORT))
        except OSError:
            return free_port()
    return DASHBOARD_PORT
