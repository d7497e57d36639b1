"""Running `holdfast prove`, and looking at processes, for the tests in this folder.

In this process where only the answer matters; as a process of its own where its streams, signals or imports do.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result
from tests.support.processes import holdfast

from holdfast.cli import main

# A proxy that nobody runs: a proof that sent its loopback traffic there would fail.
DEAD_PROXY = {"HTTP_PROXY": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9", "NO_PROXY": ""}

RUN_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Proved:
    """How a run of the command ended."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def summary(self) -> dict[str, Any]:
        """What --json printed."""
        summary: dict[str, Any] = json.loads(self.stdout)
        return summary

    def verdicts(self) -> dict[str, str]:
        """The verdict of each proof."""
        return {proof["name"]: proof["verdict"] for proof in self.summary["proofs"]}


def command(*arguments: str, artifacts: Path) -> list[str]:
    """The command line of a run whose evidence goes below `artifacts`."""
    return [sys.executable, "-m", "holdfast", "prove", "--artifacts", str(artifacts), *arguments]


def prove(*arguments: str, artifacts: Path, columns: int = 80, environment: dict[str, str] | None = None) -> Proved:
    """Run the command to its end, in this process and with no terminal."""
    words = command(*arguments, artifacts=artifacts)[3:]
    done = run(*words, environment={**DEAD_PROXY, "COLUMNS": str(columns), **(environment or {})})
    return Proved(done.exit_code, done.stdout, done.stderr)


def run(*words: str, environment: dict[str, str]) -> Result:
    """Run a command of ours in this process; what it does not catch is raised."""
    done = CliRunner().invoke(main, words, env=environment)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def prove_as_fork(*arguments: str, artifacts: Path) -> Proved:
    """Run the command to its end, as a process of its own that is forked, and so are its targets."""
    words = command(*arguments, artifacts=artifacts)[3:]
    with holdfast(*words, variables={**DEAD_PROXY, "COLUMNS": "80"}) as process:
        out, err = process.communicate(RUN_SECONDS)
        return Proved(process.wait(), out, err)


def prove_as_process(*arguments: str, artifacts: Path, environment: dict[str, str] | None = None) -> Proved:
    """Run the command to its end, as a user does."""
    done = subprocess.run(
        command(*arguments, artifacts=artifacts),
        capture_output=True,
        text=True,
        check=False,
        timeout=RUN_SECONDS,
        env={**os.environ, **DEAD_PROXY, "COLUMNS": "80", **(environment or {})},
    )
    return Proved(done.returncode, done.stdout, done.stderr)


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in {"Z", "X"}


def gone(pid: int) -> bool | None:
    """True once the process has ended, for `wait_for`."""
    return None if alive(pid) else True


def events(artifacts: Path) -> list[dict[str, Any]]:
    """The events of the newest run so far."""
    path = artifacts / "prove" / "latest" / "events.jsonl"
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]
