"""The service and its programs in containers, by `deploy/compose.e2e.yml`, with either version of docker compose.

The programs' data folders and the sessions' files are folders of the evidence, mounted; sessions are on a volume.
"""

import asyncio
import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import httpx2

from holdfast.core import HoldfastError
from holdfast.core.redact import redact
from holdfast.prove.service.surroundings import GATEWAY, Tell
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
LOOK_EVERY_SECONDS = 0.1
ANSWER_SECONDS = 3.0


class NoEngine(HoldfastError):
    """There is nothing here that runs containers."""

    code = "no_engine"
    status = 503
    hint = "scripts/containers-here installs one on Debian; without --compose the same runs as processes"


class ComposeFailed(HoldfastError):
    """A command of docker compose did not succeed; the message has its last words."""

    code = "compose_failed"
    status = 503


class ServiceContainers:
    """The services of the compose file; `sessions` are those that the programs report to."""

    kind = "containers"

    def __init__(self, folder: Path, checkout: Path, sessions: Mapping[str, str], start_seconds: float) -> None:
        self._folder = folder
        self._file = checkout / FILE
        self._sessions = sessions
        self._start_seconds = start_seconds
        self._project = f"holdfast-proof-{secrets.token_hex(3)}"
        self._compose: list[str] = []
        self._environment: dict[str, str] = {}
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
        if not shutil.which("docker") or (await self._command("docker", "info")).returncode:
            raise NoEngine("there is no Docker engine here")
        for words in (["docker", "compose"], ["docker-compose"]):
            if shutil.which(words[0]) and (await self._command(*words, "version")).returncode == 0:
                self._compose = [*words, "-p", self._project, "-f", str(self._file)]
                break
        else:
            raise NoEngine("there is no docker compose here")
        self._environment = await self._settings()
        version = await self._command("docker", "version", "--format", "{{.Server.Version}}")
        return f"Docker {version.stdout.strip()}, {' '.join(words)}"

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
        found = subprocess.run(
            [
                "docker",
                "ps",
                "-q",
                "--filter",
                f"label=com.docker.compose.project={self._project}",
                "--filter",
                f"label=com.docker.compose.service={self._service(name)}",
            ],
            capture_output=True,
            text=True,
            check=False,
        ).stdout.strip()
        return f"container {found}" if found else ""

    def health(self, name: str) -> str:
        return f"http://{HOST}:{self._ports[name]}/health"

    def logs(self) -> dict[str, Sequence[Path]]:
        found: dict[str, Sequence[Path]] = {}
        for name in (GATEWAY, DASHBOARD, *self._sessions):
            path = self._folder / "logs" / f"{name}.log"
            if self._compose:
                words = [*self._compose, "logs", "--no-color", self._service(name)]
                said = subprocess.run(words, capture_output=True, text=True, check=False, env=self._environment)
                if said.stdout.strip():
                    path.write_text(redact(said.stdout))
            found[name] = [path] if path.exists() else []
        return found

    async def close(self) -> None:
        if self._compose:
            self.logs()
            await self._run("down", "-v", "--remove-orphans", "-t", "10")
        (self._folder / "token").unlink(missing_ok=True)

    async def _settings(self) -> dict[str, str]:
        """What the compose file is told by the environment; stand-ins for images where nobody named others."""
        here = (await self._command("docker", "image", "inspect", STAND_INS["BASE_IMAGE"])).returncode == 0
        names = {"gateway": "STORE", "customer_comm": "CUSTOMER", "email_solver": "EMAIL", "claude_cli": "CLAUDE"}
        ports = {f"HOLDFAST_E2E_{names[name]}_PORT": str(self._ports[name]) for name in names if name in self._ports}
        sessions = {f"HOLDFAST_E2E_{names[name]}_SESSION": known for name, known in self._sessions.items()}
        own = {
            "HOLDFAST_E2E_FOLDER": str(self._folder),
            "HOLDFAST_E2E_USER": f"{os.getuid()}:{os.getgid()}",
            "HOLDFAST_E2E_TOKEN": self.token or "",
            "HOLDFAST_E2E_DASHBOARD_PORT": str(self._ports[DASHBOARD]),
        }
        return (STAND_INS if here and "BASE_IMAGE" not in os.environ else {}) | os.environ | own | ports | sessions

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
                await asyncio.sleep(LOOK_EVERY_SECONDS)
        self.logs()
        raise TargetNotReady(
            f"no 200 from {url}, {self._start_seconds:g} s after the start of {name}",
            hint=f"see {self._folder / 'logs' / f'{name}.log'}",
        )

    async def _run(self, *words: str) -> str:
        """What a command of docker compose prints; ComposeFailed."""
        done = await self._command(*self._compose, *words)
        with (self._folder / "logs" / "compose.log").open("a") as file:
            file.write(redact(f"$ {' '.join(words)}\n{done.stdout}{done.stderr}\n"))
        if done.returncode:
            last = " ".join((done.stderr or done.stdout).strip().splitlines()[-5:])
            raise ComposeFailed(
                f"docker compose {words[0]}: {redact(last)[-500:]}", hint=f"see {self._folder / 'logs' / 'compose.log'}"
            )
        return done.stdout

    async def _command(self, *words: str) -> "subprocess.CompletedProcess[str]":
        process = await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self._environment or None,
        )
        try:
            out, err = await process.communicate()
        except BaseException:
            process.kill()
            raise
        return subprocess.CompletedProcess(
            words, process.returncode or 0, out.decode(errors="replace"), err.decode(errors="replace")
        )


def _dashboard_port() -> int:
    """3000 if it is free, else another one."""
    import socket

    with socket.socket() as probe:
        try:
            probe.bind((HOST, DASHBOARD_PORT))
        except OSError:
            return free_port()
    return DASHBOARD_PORT
