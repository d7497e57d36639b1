"""A simulator in a process of its own, for as long as a test needs it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
from tests.support.processes import PATIENCE, Process, first_line, holdfast
from tests.support.web import LOCAL


@dataclass(frozen=True)
class Simulated:
    """A simulator that runs, and what it says of itself."""

    url: str
    process: Process

    def log(self) -> list[dict[str, Any]]:
        """The requests that it remembers."""
        answers: list[dict[str, Any]] = httpx2.get(self.url + "/log", **LOCAL).json()["answers"]
        return answers

    def last(self) -> dict[str, Any]:
        """The newest request."""
        return self.log()[-1]

    def post(self, path: str, value: Any = None) -> Any:
        """What it answers to a control request."""
        return httpx2.post(self.url + path, json=value, **LOCAL).raise_for_status().json()


@contextmanager
def simulated(*arguments: str) -> Iterator[Simulated]:
    """`holdfast sim` on a free port; it must stop with success and say nothing on stderr."""
    with holdfast("sim", "--port", "0", "--json", *arguments) as process:
        yield Simulated(json.loads(first_line(process))["url"], process)
        process.terminate()
        _, err = process.communicate(timeout=PATIENCE)
        assert (process.returncode, err) == (0, "")
