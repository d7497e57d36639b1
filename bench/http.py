"""An append over HTTP through the gateway, against a bare handler over the same store.

Both are real server processes, both run all the time, and the load comes from a third process, in turns.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

from bench.line import Effort, Line, in_turns, ratio
from bench.material import WRITERS, payload

NAME = "http"
WHAT = f"HTTP append, {WRITERS} connections: gateway / bare handler"
AT_LEAST = 0.6
SCRIPT = Path(__file__).with_name("wrk.lua")
SPARE_SECONDS = 30.0
END_SECONDS = 20.0


class NotServed(Exception):
    """A server did not come up."""


def measure(effort: Effort) -> list[Line]:
    """What the gateway adds to the store is less than the store."""
    wrk = shutil.which("wrk")
    with contextlib.ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=effort.folder)))
        try:
            bare = stack.enter_context(serving("bench.bare", f"sqlite:///{place}/bare.db"))
            gateway = stack.enter_context(serving("holdfast", "serve", "--json", "--port=0", f"--data={place}/gateway"))
        except NotServed as error:
            return [Line(NAME, WHAT, "×", at_least=AT_LEAST, note=f"NOT RUN: {error}")]
        for port in (gateway, bare):
            load(port, effort.seconds, wrk)
        rounds = in_turns(
            effort.repeats,
            lambda: load(gateway, 2 * effort.seconds, wrk),
            lambda: load(bare, 2 * effort.seconds, wrk),
        )
    return [
        Line(
            NAME,
            WHAT,
            "×",
            ratio([(ours["rate"], other["rate"]) for ours, other in rounds]),
            at_least=AT_LEAST,
            beside={
                "gateway/s": median(ours["rate"] for ours, _ in rounds),
                "bare/s": median(other["rate"] for _, other in rounds),
                "gateway p99 ms": median(ours["p99_ms"] for ours, _ in rounds),
                "bare p99 ms": median(other["p99_ms"] for _, other in rounds),
            },
            note=f"load from {'wrk' if wrk else 'bench.load'}",
        )
    ]


@contextlib.contextmanager
def serving(module: str, *args: str) -> Iterator[int]:
    """A server process that prints where it runs; its port."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HOLDFAST_", "OPENAI_"))}
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *args], stdout=subprocess.PIPE, stderr=errors, text=True, env=environment
        )
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            if not said:
                errors.seek(0)
                last = (errors.read().strip().splitlines() or ["no reason given"])[-1]
                raise NotServed(f"{module} did not start: {last}")
            port = urlsplit(json.loads(said)["url"]).port
            assert port is not None
            yield port
        finally:
            process.terminate()
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()


def load(port: int, seconds: float, wrk: str | None) -> dict[str, float]:
    """What one server answers, asked by another process."""
    if wrk:
        command = [wrk, "-t1", f"-c{WRITERS}", f"-d{max(round(seconds), 1)}s", "-s", str(SCRIPT)]
        command.append(f"http://127.0.0.1:{port}")
    else:
        command = [sys.executable, "-m", "bench.load", str(port), str(WRITERS), str(seconds)]
    environment = {**os.environ, "BENCH_PAYLOAD": payload().decode()}
    done = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, text=True, check=True, timeout=seconds + SPARE_SECONDS
    )
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    if found["refused"] or not found["rate"]:
        raise RuntimeError(f"a server refused appends: {found}")
    return found
