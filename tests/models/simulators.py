"""A simulator in a process of its own, for as long as a test needs it."""

import json
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2

PATIENCE = 30.0


@dataclass(frozen=True)
class Simulated:
    """A simulator that runs, and what it says of itself."""

    url: str
    process: subprocess.Popen[str]

    def log(self) -> list[dict[str, Any]]:
        """The requests that it remembers."""
        answers: list[dict[str, Any]] = httpx2.get(self.url + "/log").json()["answers"]
        return answers

    def last(self) -> dict[str, Any]:
        """The newest request."""
        return self.log()[-1]

    def post(self, path: str, value: Any = None) -> Any:
        """What it answers to a control request."""
        return httpx2.post(self.url + path, json=value).raise_for_status().json()


@contextmanager
def simulated(*arguments: str) -> Iterator[Simulated]:
    """`holdfast sim` on a free port; it must stop with success and say nothing on stderr."""
    command = [sys.executable, "-m", "holdfast", "sim", "--port", "0", "--json", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert select.select([process.stdout], [], [], PATIENCE)[0], "no word from the simulator"
            yield Simulated(json.loads(process.stdout.readline())["url"], process)
            process.terminate()
            _, err = process.communicate(timeout=PATIENCE)
            assert (process.returncode, err) == (0, "")
        finally:
            process.kill()
