"""An append over HTTP with a token, which is looked up in the store for every request, against one without."""

import contextlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from bench.line import Effort, Line, in_turns, ratio
from bench.load import Order, run
from bench.material import WRITERS
from bench.servers import gateway, plain_environment


def measure(effort: Effort) -> list[Line]:
    """Two gateways that differ in this alone; the rate limit that comes with tokens is off."""
    with contextlib.ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=effort.folder)))
        token = new_token(place / "asks")
        asks = stack.enter_context(gateway(place / "asks", "--auth=token", "--rate-limit=0"))
        trusts = stack.enter_context(gateway(place / "trusts"))
        with_token = Order([asks.port], seconds=effort.seconds, token=token)
        without = Order([trusts.port], seconds=effort.seconds)
        for order in (with_token, without):
            run(order)
        rounds = in_turns(effort.repeats, lambda: run(with_token), lambda: run(without))
    return [
        Line(
            "http-token",
            f"HTTP append, {WRITERS} connections: with a token / without",
            "×",
            ratio([(one.rate, other.rate) for one, other in rounds]),
            at_least=0.6,
            beside={
                "with/s": median(one.rate for one, _ in rounds),
                "without/s": median(other.rate for _, other in rounds),
                "with p99 ms": median(one.p99_ms for one, _ in rounds),
                "without p99 ms": median(other.p99_ms for _, other in rounds),
            },
        )
    ]


def new_token(data: Path) -> str:
    """A token for the store in this data folder, made before its gateway starts."""
    command = ["token", "create", "bench", "--scope", "write", "--data", str(data), "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", *command],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=plain_environment(),
    )
    return str(json.loads(done.stdout)["token"])
