"""How long writes to a gateway wait while `holdfast doctor` examines its store every two seconds, and without that.

On a machine with few cores every process takes time from the others, whatever it does. So there is a third side: a
process that is started as often, takes as much processor time, and never looks at the store. What doctor costs beyond
that is what its reading costs. The fourth side is doctor without a pause, begun again as soon as it has ended.
"""

import http.client
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench.line import Effort, Line, ratio
from bench.servers import gateway, plain_environment

AT_MOST = 1.5
SESSIONS = 50
EVENTS = 200
PAUSE_SECONDS = 0.002
EVERY_SECONDS = 2
"""Thirty times as often as a monitor that looks each minute."""
SHORTEST_SECONDS = 6.0
"""Enough writes that one of a hundred means something, and several examinations."""
SPIN = "import sys, time\nend = float(sys.argv[1])\nwhile time.process_time() < end:\n    sum(range(1_000))"


class Round(NamedTuple):
    """The p99 of one round, in milliseconds: beside doctor, the other process, doctor without a pause, and alone."""

    doctor: float
    other: float
    unpaused: float
    alone: float


def measure(effort: Effort) -> list[Line]:
    """The four sides in turns, on one gateway, whose store has some sessions."""
    seconds = max(effort.seconds, SHORTEST_SECONDS)
    with tempfile.TemporaryDirectory(dir=effort.folder) as place:
        data = Path(place) / "data"
        with gateway(data) as server:
            fill(server.port)
            doctor = [sys.executable, "-m", "holdfast", "doctor", "--json", f"--data={data}"]
            cpu_seconds = median(processor_seconds(doctor) for _ in range(3))
            other = [sys.executable, "-c", SPIN, f"{cpu_seconds}"]
            rounds: list[Round] = []
            runs = writes = 0
            for _ in range(effort.repeats):
                with Repeated(doctor, EVERY_SECONDS, Path(place)) as examinations:
                    first = waits(server.port, seconds)
                with Repeated(other, EVERY_SECONDS, Path(place)):
                    second = waits(server.port, seconds)
                with Repeated(doctor, 0, Path(place)):
                    third = waits(server.port, seconds)
                last = waits(server.port, seconds)
                runs, writes = runs + examinations.count, writes + len(last)
                rounds.append(Round(p99(first), p99(second), p99(third), p99(last)))
    return [
        Line(
            "beside-doctor",
            "p99 of writes to a gateway beside doctor, as a multiple of that without",
            "×",
            ratio([(each.doctor, each.alone) for each in rounds]),
            at_most=AT_MOST,
            beside={
                "beside a process that only computes ×": ratio([(each.other, each.alone) for each in rounds]),
                "doctor / that process ×": ratio([(each.doctor, each.other) for each in rounds]),
                "without a pause ×": ratio([(each.unpaused, each.alone) for each in rounds]),
                "p99 beside ms": median(each.doctor for each in rounds),
                "p99 without ms": median(each.alone for each in rounds),
                "writes a round": writes / len(rounds),
                "examinations": runs,
                "processor s of one": cpu_seconds,
                "load of the machine": os.getloadavg()[0],
            },
        )
    ]


class Repeated:
    """A command, begun again every so many seconds in a process of its own, from entering to leaving.

    A shell starts them: each start stops all threads of its parent for a moment, and this process measures.
    """

    def __init__(self, command: Sequence[str], every_seconds: int, folder: Path) -> None:
        self.count = 0
        self._going_on = folder / "going-on"
        loop = f'while [ -e "$0" ]; do sleep {every_seconds} & "$@" >&2 || exit 1; echo; wait; done'
        self._command = ["sh", "-c", loop, str(self._going_on), *command]

    def __enter__(self) -> "Repeated":
        self._going_on.touch()
        self._shell = subprocess.Popen(
            self._command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=plain_environment(), text=True
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._going_on.unlink()
        lines, _errors = self._shell.communicate()
        assert self._shell.returncode == 0, f"{self._command} failed"
        self.count = lines.count("\n")


def processor_seconds(command: Sequence[str]) -> float:
    """The processor time that a command takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, env=plain_environment(), check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def fill(port: int) -> None:
    """Give the store something to examine."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    for number in range(SESSIONS):
        lines = b"\n".join(json.dumps({"type": "note", "details": {"n": n}}).encode() for n in range(EVENTS))
        post(connection, f"/api/actions/filled-{number}/batch", lines, "application/x-ndjson")
    connection.close()


def waits(port: int, seconds: float) -> list[float]:
    """How long each write of one client took, in milliseconds."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    times: list[float] = []
    end = time.perf_counter() + seconds
    while (began := time.perf_counter()) < end:
        post(connection, "/api/actions/written", b'{"type":"note","details":{"text":"a table for two"}}')
        times.append((time.perf_counter() - began) * 1_000)
        time.sleep(PAUSE_SECONDS)
    connection.close()
    return times


def post(connection: http.client.HTTPConnection, path: str, body: bytes, media: str = "application/json") -> None:
    """Write something; an AssertionError unless it was acknowledged."""
    connection.request("POST", path, body, {"Content-Type": media})
    answer = connection.getresponse()
    answer.read()
    assert answer.status < 300, answer.status


def p99(times: list[float]) -> float:
    """The time that one of a hundred exceeds."""
    return sorted(times)[int(len(times) * 0.99)]
