"""An append over HTTP through the gateway, against a bare handler over the same store.

Both are real server processes, both run all the time, and the load comes from a third process, in turns.
"""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from statistics import median

from bench import load
from bench.line import Effort, Line, in_turns, ratio
from bench.material import WRITERS, payload
from bench.servers import NotServed, Server, gateway, serving

NAME = "http"
WHAT = f"HTTP append, {WRITERS} connections: gateway / bare handler"
AT_LEAST = 0.6
SCRIPT = Path(__file__).with_name("wrk.lua")
SPARE_SECONDS = 30.0


def measure(effort: Effort) -> list[Line]:
    """What the gateway adds to the store is less than the store."""
    wrk = shutil.which("wrk")
    with contextlib.ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=effort.folder)))
        try:
            bare = stack.enter_context(serving("bench.bare", f"sqlite:///{place}/bare.db"))
            ours = stack.enter_context(gateway(place / "gateway"))
        except NotServed as error:
            return [Line(NAME, WHAT, "×", at_least=AT_LEAST, note=f"NOT RUN: {error}")]
        for server in (ours, bare):
            appends(server, effort.seconds, wrk)
        rounds = in_turns(
            effort.repeats,
            lambda: appends(ours, 2 * effort.seconds, wrk),
            lambda: appends(bare, 2 * effort.seconds, wrk),
        )
    return [
        Line(
            NAME,
            WHAT,
            "×",
            ratio([(one["rate"], other["rate"]) for one, other in rounds]),
            at_least=AT_LEAST,
            beside={
                "gateway/s": median(one["rate"] for one, _ in rounds),
                "bare/s": median(other["rate"] for _, other in rounds),
                "gateway p99 ms": median(one["p99_ms"] for one, _ in rounds),
                "bare p99 ms": median(other["p99_ms"] for _, other in rounds),
                "gateway CPU µs": median(one["cpu_us"] for one, _ in rounds),
                "bare CPU µs": median(other["cpu_us"] for _, other in rounds),
            },
            note=f"load from {'wrk' if wrk else 'bench.load'}; CPU of one append, store included",
        )
    ]


def appends(server: Server, seconds: float, wrk: str | None) -> dict[str, float]:
    """What one server answers, asked by another process, and what an answer costs it."""
    before = server.cpu_seconds
    found = _with_wrk(wrk, server.port, seconds) if wrk else _plain(server.port, seconds)
    return {**found, "cpu_us": (server.cpu_seconds - before) / (found["rate"] * seconds) * 1e6}


def _plain(port: int, seconds: float) -> dict[str, float]:
    found = load.run(load.Order([port], seconds=seconds))
    return {"rate": found.rate, "p99_ms": found.p99_ms}


def _with_wrk(wrk: str, port: int, seconds: float) -> dict[str, float]:
    command = [
        wrk,
        "-t1",
        f"-c{WRITERS}",
        f"-d{max(round(seconds), 1)}s",
        "-s",
        str(SCRIPT),
        f"http://127.0.0.1:{port}",
    ]
    environment = {**os.environ, "BENCH_PAYLOAD": payload().decode()}
    done = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, text=True, check=True, timeout=seconds + SPARE_SECONDS
    )
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    if found["refused"] or not found["rate"]:
        raise RuntimeError(f"a server refused appends: {found}")
    return found
