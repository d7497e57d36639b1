"""The command line of Claude Code, the real one, against our model simulator: no account, no network but loopback."""

import json
import subprocess
import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.models.simulators import simulated

ROOT = Path(__file__).parents[2]
PLACE = ".venv-peers/lib/python*/site-packages/claude_agent_sdk/_bundled/claude"
SECONDS = 120
QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
}
HELPER = (
    {
        "content": "I ask a helper.",
        "toolCalls": [
            {
                "name": "Agent",
                "arguments": {"description": "Say it", "prompt": "Say cheese", "subagent_type": "general-purpose"},
            }
        ],
    },
    *("cheese from the helper", "The helper said cheese.", "Done.", "Done.", "Done."),
)
"""What a model says that asks a sub-agent."""


def program() -> Path:
    """The command line that comes with the SDK; the test is not run without it."""
    found = next(ROOT.glob(PLACE), None)
    if found is None:
        pytest.skip("NOT RUN: the command line of Claude Code is not here; `make peers` brings it")
    return found


class ClaudeCode:
    """The program with a home of its own; `folder` is where it keeps its sessions."""

    def __init__(self, home: Path, url: str, **variables: str) -> None:
        self.folder = home / ".claude"
        self.work = home / "work"
        self._home = home
        self._url = url
        self._variables = variables
        self._program = program()

    def turn(self, words: str, *options: str) -> dict[str, Any]:
        """Say something, and wait for the answer."""
        answer: dict[str, Any] = json.loads(self.run("-p", words, "--output-format", "json", *options))
        return answer

    def run(self, *arguments: str) -> str:
        """Run the program with these arguments; what it says on stdout."""
        temporary = self._home / "tmp"
        for each in (self.work, temporary, self.folder):
            each.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            [self._program, *arguments],
            cwd=self.work,
            env={
                **QUIET,
                "PATH": "/usr/bin:/bin",
                "HOME": str(self._home),
                "CLAUDE_CONFIG_DIR": str(self.folder),
                "CLAUDE_CODE_TMPDIR": str(temporary),
                "TMPDIR": str(temporary),
                "ANTHROPIC_BASE_URL": self._url,
                "ANTHROPIC_API_KEY": "sk-dummy",
                "ANTHROPIC_MODEL": "sim-1",
                "ANTHROPIC_SMALL_FAST_MODEL": "sim-1",
                **self._variables,
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def files(self) -> dict[str, bytes]:
        """Its transcripts, by their place below `folder`."""
        found = sorted((self.folder / "projects").rglob("*.jsonl"))
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in found}


@contextmanager
def simulator(script: Sequence[Any] = (), folder: Path | None = None) -> Iterator[str]:
    """The URL of a simulator; with a script it says that, in order."""
    arguments = []
    if script:
        assert folder is not None
        path = folder / "script.json"
        path.write_text(json.dumps(list(script)))
        arguments = ["--script", str(path)]
    with simulated(*arguments) as running:
        yield running.url


class ClaudeWriter(threading.Thread):
    """Talks with the program without a pause, in new sessions and in old ones, until it is stopped."""

    def __init__(self, claude: ClaudeCode) -> None:
        super().__init__(daemon=True)
        self.stop = threading.Event()
        self.turns = 0
        self._claude = claude

    def run(self) -> None:
        while not self.stop.is_set():
            session = str(uuid.uuid4())
            for words, option in (("My name is Ada", "--session-id"), ("What is my name?", "--resume")):
                self._claude.turn(words, option, session)
                self.turns += 1
