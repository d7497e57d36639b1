"""The command line of Claude Code: where it is, what it is told, and one run of it that ends with this process.

It gets an environment of its own: what lies in this one of other sessions and accounts must not leak in. A run that was
killed is gone on with in its own session, which is named after the task.
"""

import asyncio
import contextlib
import ctypes
import importlib.util
import json
import os
import shutil
import signal
import sys
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apps.venv import APPS, ROOT
from holdfast.core.durable_files import write_whole

PLUGIN = ROOT / "integrations" / "claude_code"
GOVERNANCE = APPS / "claude_cli" / "governance" / ".claude"
COMMAND = APPS / "claude_cli" / "holdfast"
QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_INSTALLATION_CHECKS": "1",
}
OURS = ("SESSION_ID", "SESSION_SERVICE_URL", "HOLDFAST_TOKEN", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "TERM", "LANG")
THEIRS = ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_MODEL")
SECONDS_TO_END = 5.0
LOOK_SECONDS = 0.02
PR_SET_PDEATHSIG = 1
GO_ON = "You were interrupted in the middle of this task. Do what of it is not done yet.\n\n"


class ClaudeFailed(Exception):
    """The command line ended without an answer; the message has what it said."""


def program() -> Path:
    """The command line that comes with the SDK."""
    found = importlib.util.find_spec("claude_agent_sdk")
    assert found is not None and found.origin is not None
    return Path(found.origin).parent / "_bundled" / "claude"


@dataclass(frozen=True, slots=True)
class ClaudeCode:
    """The command line with a home, a workspace and a model of its own."""

    home: Path
    workspace: Path
    model: Mapping[str, str]
    session_id: str
    desk_id: str

    def prepare(self) -> None:
        """Make the folders, and put the rules into the workspace: those of today, whatever a task made of them."""
        for folder in (self.workspace, self.home / ".claude", self.home / "tmp"):
            folder.mkdir(parents=True, exist_ok=True)
        shutil.copytree(GOVERNANCE, self.workspace / ".claude", dirs_exist_ok=True)
        self._trust()

    def _trust(self) -> None:
        """Say to the command line that this workspace is trusted: its rules are ours, and else count only in part."""
        path = self.home / ".claude" / ".claude.json"
        try:
            known = json.loads(path.read_bytes())
        except (OSError, ValueError):
            known = {}
        projects = known.setdefault("projects", {})
        projects.setdefault(str(self.workspace), {})["hasTrustDialogAccepted"] = True
        known["hasCompletedOnboarding"] = True
        write_whole(path, json.dumps(known).encode())

    def session_of(self, task: str) -> str:
        """The id of a task's session of Claude Code: the same in every run."""
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"holdfast:{self.desk_id}/{task}"))

    def has_begun(self, task: str) -> bool:
        """Whether the task is in a transcript: one without it cannot be gone on with."""
        return any(_asks(path) for path in self._transcripts(task))

    def _transcripts(self, task: str) -> list[Path]:
        return list((self.home / ".claude" / "projects").glob(f"*/{self.session_of(task)}.jsonl"))

    def options(self) -> list[str]:
        """What every run is told."""
        return ["--plugin-dir", str(PLUGIN), "--setting-sources", "project"]

    def environment(self) -> dict[str, str]:
        """The environment of a run."""
        given = {name: os.environ[name] for name in OURS if name in os.environ}
        python = {"APP_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}
        return {
            **QUIET,
            **given,
            **python,
            **self.model,
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": str(self.home),
            "CLAUDE_CONFIG_DIR": str(self.home / ".claude"),
            "CLAUDE_CODE_TMPDIR": str(self.home / "tmp"),
            "TMPDIR": str(self.home / "tmp"),
            "SESSION_ID": self.session_id,
            "HOLDFAST_COMMAND": str(COMMAND),
            "HOLDFAST_SPOOL": os.environ.get("HOLDFAST_SPOOL") or str(self.home.parent / "spool-hooks"),
        }

    async def do(self, task: str, words: str, at: Callable[[str], None]) -> dict[str, Any]:
        """Have a task done, or gone on with; what the command line says of it. `at` hears how far it is."""
        begun, session = self.has_begun(task), self.session_of(task)
        for path in [] if begun else self._transcripts(task):
            path.unlink()  # it was killed before it wrote down what it was asked, and would not begin anew
        asked = GO_ON + words if begun else words
        which = ["--resume", session] if begun else ["--session-id", session]
        command = [str(program()), "-p", asked, "--output-format", "json", *which, *self.options()]
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=self.workspace,
            env=self.environment(),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            preexec_fn=_end_with_parent,
        )
        at("started")
        watch = asyncio.create_task(self._watch(task, at))
        try:
            out, err = await process.communicate()
        except BaseException:
            await _end(process)
            raise
        finally:
            watch.cancel()
        return _answer(process.returncode, out, err)

    async def flush(self, seconds: float) -> None:
        """See that what the hooks have kept is delivered, for so long; what is not then is so at the next start."""
        process = await asyncio.create_subprocess_exec(
            str(COMMAND),
            *("hook", "--flush"),
            env=self.environment(),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
        )
        try:
            async with asyncio.timeout(seconds):
                await process.wait()
        except TimeoutError:
            pass
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def talk(self, arguments: list[str]) -> int:
        """A dialogue at this terminal, under the same rules and with the same reports; its exit code."""
        process = await asyncio.create_subprocess_exec(
            str(program()), *self.options(), *arguments, cwd=self.workspace, env=self.environment()
        )
        return await process.wait()

    async def _watch(self, task: str, at: Callable[[str], None]) -> None:
        """Tell when the task begins to be in the transcript: from then on a killed run is gone on with."""
        while not self.has_begun(task):  # noqa: ASYNC110  (another program makes the file)
            await asyncio.sleep(LOOK_SECONDS)
        at("writes")


def _asks(path: Path) -> bool:
    """Whether there is a message of the user's in a transcript."""
    for line in path.read_bytes().splitlines():
        with contextlib.suppress(ValueError):
            said = json.loads(line)
            if isinstance(said, dict) and said.get("type") == "user":
                return True
    return False


def _answer(code: int | None, out: bytes, err: bytes) -> dict[str, Any]:
    try:
        said = json.loads(out)
    except ValueError:
        said = {}
    if not isinstance(said, dict) or "result" not in said or said.get("is_error") or code:
        words = (str(said.get("result") or "") if isinstance(said, dict) else "") or err.decode(errors="replace")
        raise ClaudeFailed(f"it ended with {code}: {words[-400:].strip()}")
    return said


def _end_with_parent() -> None:
    # Before exec, in the child: killed with this program, it cannot go on beside the one that takes the task over.
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ask it to end, so that its own end is reported, and make it if it does not."""
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(SECONDS_TO_END):
            await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
