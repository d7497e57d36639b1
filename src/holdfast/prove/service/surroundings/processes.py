"""The service and its programs as processes of this machine, each on a leash, with data folders in the evidence."""

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from holdfast.core import HoldfastError
from holdfast.core.redact import redact
from holdfast.prove.service.broken.expected import KINDS
from holdfast.prove.service.surroundings import GATEWAY, Tell
from holdfast.prove.targets.process import HOST, Launch, ProcessTarget, free_port

OURS = ("HOLDFAST_", "OPENAI_", "ANTHROPIC_", "AZURE_", "SESSION_", "APP_", "BOOKING_", "GMAIL_", "CLAUDE_")
"""Settings of the user that must not reach the parts: a store in use, a model that costs money."""
KEPT = frozenset({"APP_VENVS"})
BROKEN = "holdfast.prove.service.broken"


class NotBuilt(HoldfastError):
    """A program could not be set up; the message has its last words."""

    code = "not_built"
    status = 503


class ServiceProcesses:
    """The gateway and the programs; `sessions` are those that the programs report to."""

    kind = "processes"
    token: str | None = None

    def __init__(
        self, folder: Path, checkout: Path, sessions: Mapping[str, str], start_seconds: float, broken: str | None
    ) -> None:
        self._folder = folder
        self._checkout = checkout
        self._broken = broken
        ports = {name: free_port() for name in (GATEWAY, *sessions)}
        self.url = self.dashboard = f"http://{HOST}:{ports[GATEWAY]}"
        self._sessions = sessions
        self._targets = {name: self._target(name, port, start_seconds) for name, port in ports.items()}

    @property
    def files(self) -> Path:
        return self._folder / "files"

    def data(self, name: str) -> Path:
        return self._folder / "data" / name

    async def find_engine(self) -> str:
        return f"processes, by {sys.executable} {sys.version.split()[0]}"

    async def build(self, tell: Tell) -> str:
        await asyncio.gather(*(self._set_up(name, tell) for name in self._sessions))
        return f"{len(self._sessions)} programs are set up, each with a venv of its own"

    async def start(self, name: str) -> None:
        await self._targets[name].start()

    async def kill(self, name: str) -> None:
        await self._targets[name].kill()

    def running(self, name: str) -> str:
        target = self._targets[name]
        return f"pid {target.pid}" if target.running else ""

    def health(self, name: str) -> str:
        return f"{self._targets[name].url}/health"

    def logs(self) -> dict[str, Sequence[Path]]:
        return {name: target.logs() for name, target in self._targets.items()}

    async def close(self) -> None:
        for name in (*self._sessions, GATEWAY):
            await self._targets[name].stop()

    def _target(self, name: str, port: int, start_seconds: float) -> ProcessTarget:
        data, logs = self.data(name), self._folder / "logs" / name
        for folder in (data, logs):
            folder.mkdir(parents=True, mode=0o700)
        settings = {key: value for key, value in os.environ.items() if key in KEPT or not key.startswith(OURS)}
        place = ["--host", HOST, "--port", str(port), "--data", str(data)]
        broken = self._broken if self._broken and (KINDS[self._broken].program or GATEWAY) == name else None
        if name == GATEWAY:
            module = [BROKEN, broken] if broken else ["holdfast"]
            command = ["-P", "-m", *module, "serve", *place, "--files", str(self.files)]
        else:
            settings |= {"SESSION_ID": self._sessions[name], "SESSION_SERVICE_URL": self.url}
            command = ["-m", *([BROKEN, broken] if broken else []), f"apps.{name}", *place]
        launch = Launch(
            name=name,
            command=(sys.executable, *command),
            port=port,
            ready_paths=("/readyz",) if name == GATEWAY else ("/health",),
            workspace=None,
            environment=settings,
            folder=data if name == GATEWAY else self._checkout,
        )
        return ProcessTarget(launch, logs, start_seconds)

    async def _set_up(self, name: str, tell: Tell) -> None:
        log = self._folder / "logs" / name / "set-up.log"
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", f"apps.{name}", "--set-up"),
            cwd=self._checkout,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            limit=2**20,
        )
        assert process.stderr is not None
        said = ""
        try:
            with log.open("w") as file:
                async for line in process.stderr:
                    said = redact(line.decode(errors="replace")).strip() or said
                    file.write(said + "\n")
                    tell(said)
            if await process.wait():
                raise NotBuilt(f"{name} could not be set up: {said[-300:]}", hint=f"see {log}")
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
