"""The tool that runs a command: in the project's folder, for a bounded time, with a bounded output.

The command runs in a session of its own, so that all that it has started ends with it, also if the turn is cancelled.
The keys of models and tokens of gateways are not in its environment.
"""

import asyncio
import contextlib
import os
import signal
from typing import ClassVar

import msgspec

from holdfast.core.errors import InvalidInput
from holdfast.models.messages import Tool
from holdfast.runtime.permissions.modes import DANGER_FULL_ACCESS
from holdfast.runtime.tools import ToolContext, ToolUse, declare

SHELL = ("/bin/bash", "/bin/sh")
SECONDS = 120.0
"""For how long a command may run."""
END_SECONDS = 10.0
"""For how long the end of a command that was killed is waited for."""
GRACE_SECONDS = 1.0
"""For how long the last words of what was ended are waited for: a process that left its group may never end."""
MAX_OUTPUT = 30_000
SECRETS = ("_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD")


class RunCommand(msgspec.Struct, frozen=True):
    """Run a shell command, and give its output and exit code."""

    command: str

    has_effect: ClassVar[bool] = True
    need: ClassVar[str] = DANGER_FULL_ACCESS
    seconds: ClassVar[float] = SECONDS
    grace_seconds: ClassVar[float] = GRACE_SECONDS
    declaration: ClassVar[Tool] = declare(
        "bash",
        f"Run a shell command in the workspace, for at most {SECONDS:.0f} seconds; its output and exit code come back.",
        {"command": "The command."},
    )

    async def run(self, context: ToolContext) -> str:
        """Do it; what the model is told."""
        if "\0" in self.command:
            raise InvalidInput("a command has no null byte")
        loop = asyncio.get_running_loop()
        transport, watch = await loop.subprocess_exec(
            _Watch,
            *(_shell(), "-c", self.command),
            cwd=context.workspace,
            env=_environment(),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        ended = f"[ended after {self.seconds:.0f} seconds]"
        try:
            async with asyncio.timeout(self.seconds):
                await watch.exited.wait()
                ended = f"[exit code {transport.get_returncode()}]"
        except TimeoutError:
            pass
        finally:
            _end_group(transport.get_pid())
            try:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(END_SECONDS):
                        await watch.exited.wait()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self.grace_seconds):
                        await watch.silent.wait()
            finally:
                transport.close()
        return watch.text() + ended


SHELL_TOOLS: tuple[type[ToolUse], ...] = (RunCommand,)


class _Watch(asyncio.SubprocessProtocol):
    """What a command says, as far as there is room; `exited` once it has ended, and `silent` once all that it has
    started has, too."""

    def __init__(self) -> None:
        self.exited = asyncio.Event()
        self.silent = asyncio.Event()
        self._kept = bytearray()
        self._dropped = 0

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        room = MAX_OUTPUT - len(self._kept)
        self._kept += data[:room]
        self._dropped += max(0, len(data) - room)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self.silent.set()

    def process_exited(self) -> None:
        self.exited.set()

    def text(self) -> str:
        """What was kept, and how much was not."""
        more = f"\n[{self._dropped} more bytes]" if self._dropped else ""
        text = self._kept.decode(errors="replace").rstrip() + more
        return f"{text}\n" if text else ""


def _end_group(pid: int) -> None:
    """End a process with all that it has started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _shell() -> str:
    return next((path for path in SHELL if os.path.exists(path)), "sh")  # noqa: PTH110 - a name, not a path to keep


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.upper().endswith(SECRETS)}
