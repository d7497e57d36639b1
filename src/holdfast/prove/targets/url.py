"""A target that already runs somewhere and is not ours: it is restarted by the user's own command, or not at all."""

import asyncio
import shlex
import time
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from holdfast.core.errors import InvalidInput
from holdfast.core.redact import redact
from holdfast.prove.targets.probe import ask
from holdfast.prove.targets.readiness import says_ready
from holdfast.prove.targets.target import TargetNotReady
from holdfast.prove.targets.tool import CommandFailed, run
from holdfast.prove.wire.client import CARD_PATHS, Wire
from holdfast.prove.wire.credentials import NO_CREDENTIALS, Credentials

LOOK_EVERY_SECONDS = 0.05


def check_url(url: str) -> None:
    """InvalidInput unless the URL is one that can be asked."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise InvalidInput(f"{url!r} is not an http or https URL", hint="for example --url http://localhost:9000")


class UrlTarget:
    """A running service. Where there is a restart command, stop and kill are whatever that command does.

    The command ends the old process, starts the new one and ends with 0; `{how}` in it, and HOLDFAST_HOW in its
    environment, is `stop` or `kill`. It must not end before the old process has: nothing else shows that the
    answers that follow are the new one's. `start` then waits until the agent card answers.
    """

    running = True
    pid = None
    command_line = ""
    peer_url = None

    def __init__(
        self,
        url: str,
        workspace: Path | None,
        *,
        log_folder: Path,
        start_seconds: float,
        restart_command: str | None = None,
        probe_command: str | None = None,
        credentials: Credentials = NO_CREDENTIALS,
    ) -> None:
        self.name = url
        self.url = url
        self.workspace = workspace
        self.restartable = restart_command is not None
        self.restarted_by = restart_command or ""
        self._log_folder = log_folder
        self._logs: list[Path] = []
        self._start_seconds = start_seconds
        self._credentials = credentials
        self.probe_line = probe_command or ""

    def logs(self) -> list[Path]:
        """What the restart command said, a file for each time that it ran."""
        return list(self._logs)

    async def start(self) -> None:
        """Wait until it answers again after a restart; it runs already otherwise."""
        if not self._logs:
            return
        deadline = time.monotonic() + self._start_seconds
        async with Wire(self.url, credentials=self._credentials) as wire:
            while time.monotonic() < deadline:
                if await says_ready(wire, CARD_PATHS):
                    return
                await asyncio.sleep(LOOK_EVERY_SECONDS)
        raise TargetNotReady(
            f"no 200 from {' or '.join(CARD_PATHS)} within {self._start_seconds:g} s of the restart command",
            hint=f"see {self._logs[-1]}",
        )

    async def ended(self, within: float) -> bool:
        """Not as far as we can tell."""
        return False

    async def stop(self) -> str:
        """What the restart command does for `stop`; NotReady if it fails."""
        await self._restart("stop")
        return ""

    async def kill(self) -> None:
        """What the restart command does for `kill`; NotReady if it fails."""
        await self._restart("kill")

    async def probe(self, context_id: str) -> dict[str, Any] | None:
        """What the probe command shows, where there is one."""
        return await ask(self.probe_line, context_id) if self.probe_line else None

    def abandon(self) -> None:
        """It was running before us and runs on."""

    async def _restart(self, how: Literal["stop", "kill"]) -> None:
        if not self.restarted_by:
            raise TargetNotReady(f"{redact(self.url)} is not ours to {how}", hint="see --restart-command")
        log = self._log_folder / f"restart-{len(self._logs) + 1}.log"
        self._logs.append(log)
        words = [word.replace("{how}", how) for word in shlex.split(self.restarted_by)]
        try:
            await run(words, log, within=self._start_seconds, environment={"HOLDFAST_HOW": how})
        except CommandFailed as error:
            raise TargetNotReady(f"--restart-command {error.message}", hint=error.hint) from error
