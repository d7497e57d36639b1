"""Running `holdfast prove store` as a user does, for the tests in this folder."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True, slots=True)
class Put:
    """How a run ended."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def summary(self) -> dict[str, Any]:
        """What --json printed."""
        assert self.stdout, self.stderr
        summary: dict[str, Any] = json.loads(self.stdout)
        return summary

    def clause(self, name: str) -> dict[str, Any]:
        """One clause of the summary."""
        found: dict[str, Any] = next(clause for clause in self.summary["clauses"] if clause["name"] == name)
        return found

    def verdicts(self) -> dict[str, str]:
        """The verdict of each clause."""
        return {clause["name"]: clause["verdict"] for clause in self.summary["clauses"]}


def command(*arguments: str, artifacts: Path, python: str = sys.executable) -> list[str]:
    """The command line of a run whose evidence goes below `artifacts`."""
    return [python, "-m", "holdfast", "prove", "store", "--artifacts", str(artifacts), *arguments]


def put(
    *arguments: str,
    artifacts: Path,
    environment: dict[str, str] | None = None,
    python: str = sys.executable,
    timeout: float = 300,
) -> Put:
    """Run the command to its end."""
    done = subprocess.run(
        command(*arguments, artifacts=artifacts, python=python),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
        env={**os.environ, **(environment or {})},
    )
    return Put(done.returncode, done.stdout, done.stderr)


def little(name: str) -> str:
    """The adapter of a little store."""
    return f"tests.prove.store.little:{name}"
