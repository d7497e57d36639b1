"""The programs of `apps/` for tests, forked in their own venvs, and their tool servers."""

import json
import os
import select
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.support.eventually import wait_until
from tests.support.processes import PATIENCE
from tests.support.web import LOCAL

from apps import venv

ROOT = Path(__file__).parents[2]
FORKS = ROOT / "tests" / "support" / "app_forks.py"
PYTHONPATH = f"{ROOT}{os.pathsep}{ROOT / 'src'}"


def interpreter(name: str) -> Path:
    """The interpreter of a program's venv; the test is not run without it."""
    if not venv.is_ready(name):
        pytest.skip(f"NOT RUN: the venv of apps/{name} is not here; `make apps` makes it")
    return venv.python_of(name)


@dataclass
class AppRuns:
    """Runs a program again and again, one process at a time, on one data folder."""

    name: str
    data: Path
    environment: Mapping[str, str]
    driver: subprocess.Popen[str]
    pid: int = 0
    codes: list[int] = field(default_factory=list)

    def run(self, *arguments: str, **more: str) -> int:
        """Run it to its end; the code, which is negative if a signal killed it."""
        self.begin(*arguments, **more)
        return self.end()

    def begin(self, *arguments: str, **more: str) -> int:
        """Start it; the pid."""
        job = {
            "arguments": ["--data", str(self.data), "--port", "0", *arguments],
            "environment": {**self.environment, **more},
            "out": str(self.data.parent / "out"),
            "err": str(self.data.parent / "err"),
        }
        (self.data.parent / "out").unlink(missing_ok=True)
        assert self.driver.stdin is not None
        self.driver.stdin.write(json.dumps(job) + "\n")
        self.driver.stdin.flush()
        self.pid = int(self._said()["pid"])
        return self.pid

    def end(self) -> int:
        """Wait for its end; the code."""
        code, self.pid = int(self._said()["code"]), 0
        self.codes.append(code)
        return code

    def url(self) -> str:
        """Where the running one answers."""
        path = self.data.parent / "out"
        said = wait_until(lambda: path.read_text() if path.exists() and path.read_text().endswith("\n") else None)
        return str(json.loads(said.splitlines()[0])["url"])

    def health(self) -> dict[str, Any]:
        """What the running one says of its health."""
        found: dict[str, Any] = httpx2.get(f"{self.url()}/health", **LOCAL).json()
        return found

    def stop(self) -> int:
        """SIGTERM, and the code."""
        os.kill(self.pid, signal.SIGTERM)
        return self.end()

    def errors(self) -> str:
        """What it said on stderr, all runs together."""
        path = self.data.parent / "err"
        return path.read_text() if path.exists() else ""

    def _said(self) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(_line(self.driver))
        return answer


@contextmanager
def app_driver(name: str) -> Iterator[subprocess.Popen[str]]:
    """A process that has imported a program and forks it; one will do for many tests."""
    with subprocess.Popen(
        [interpreter(name), "-P", FORKS, f"apps.{name}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": PYTHONPATH},
    ) as driver:
        try:
            assert json.loads(_line(driver)) == {"ready": f"apps.{name}"}
            yield driver
        finally:
            driver.kill()


@contextmanager
def app_runs(name: str, driver: subprocess.Popen[str], data: Path, environment: Mapping[str, str]) -> Iterator[AppRuns]:
    """The program on a data folder; whatever still runs at the end is killed."""
    data.mkdir()
    runs = AppRuns(name, data, {"PATH": os.environ["PATH"], "HOME": str(data.parent)} | dict(environment), driver)
    try:
        yield runs
    finally:
        if runs.pid:
            with suppress(ProcessLookupError):
                os.kill(runs.pid, signal.SIGKILL)
            runs.end()


def _line(driver: subprocess.Popen[str]) -> str:
    assert driver.stdout is not None
    assert select.select([driver.stdout], [], [], 2 * PATIENCE)[0], "the driver said nothing"
    return driver.stdout.readline()


@contextmanager
def mcp_server(name: str, module: str, folder: Path, port: str = "0") -> Iterator[str]:
    """The URL of a bundled MCP server over HTTP."""
    with subprocess.Popen(
        [interpreter(name), "-m", module, str(folder), port],
        stdout=subprocess.PIPE,
        text=True,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": PYTHONPATH},
    ) as process:
        try:
            assert process.stdout is not None
            assert select.select([process.stdout], [], [], 2 * PATIENCE)[0]
            yield str(json.loads(process.stdout.readline())["url"])
        finally:
            process.terminate()


@dataclass(frozen=True)
class ToldSession:
    """What a gateway has of a session."""

    document: dict[str, Any]

    def actions(self, type: str) -> list[dict[str, Any]]:
        """The details of the actions of a type."""
        return [each["details"] for each in self.document["actions"] if each["type"] == type]

    @property
    def goals(self) -> dict[str, str]:
        """The status of each goal."""
        return {each["goalId"]: each["status"] for each in self.document["state"]["goals"]}

    @property
    def responses(self) -> list[dict[str, Any]]:
        """The details of the responses."""
        return [each["details"] for each in self.document["responses"]]


def session(url: str, session_id: str) -> ToldSession:
    """A session as the gateway has it; it must be whole."""
    found = httpx2.get(f"{url}/api/sessions/{session_id}?limit=1000", **LOCAL).raise_for_status().json()
    whole = httpx2.get(f"{url}/api/sessions/{session_id}/verification", **LOCAL).json()
    assert whole["ok"] is True, whole
    return ToldSession(found)
