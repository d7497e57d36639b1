"""Running `holdfast prove store` for the tests in this folder; the clients are processes of their own in any case."""

import json
import subprocess
import sys
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.prove.prover import run

ROOT = Path(__file__).parents[3]
SMALL = ("--cycles", "8", "--events", "1000", "--seed", "5", "--json")
"""Enough for a little store with a defect."""


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


def put(*arguments: str, artifacts: Path, environment: dict[str, str] | None = None) -> Put:
    """Run the command to its end, in this process."""
    with chdir(ROOT):
        done = run(*command(*arguments, artifacts=artifacts)[3:], environment=environment or {})
    return Put(done.exit_code, done.stdout, done.stderr)


def put_with(python: Path, *arguments: str, artifacts: Path) -> Put:
    """Run the command to its end with another Python, which has other libraries."""
    done = subprocess.run(
        command(*arguments, artifacts=artifacts, python=str(python)),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    return Put(done.returncode, done.stdout, done.stderr)


def little(name: str) -> str:
    """The adapter of a little store."""
    return f"tests.prove.store.little:{name}"
