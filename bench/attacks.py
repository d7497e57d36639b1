"""How long another tenant waits beside a hostile one, and what the gateway takes of memory meanwhile.

Each attack has a gateway of its own, so that none is measured by what another left behind.
"""

import tempfile
import time
from pathlib import Path

from bench.line import Effort, Line
from bench.load import percentile
from bench.servers import gateway

AT_MOST_MS = 100.0
AT_MOST_MB = 400.0
PATIENCE_SECONDS = 60.0
SECONDS = 10.0
QUICK_SECONDS = 4.0
MB = 1024 * 1024

BESIDE = {
    "searches": "60 abandoned searches over 20 events of 15 MB",
    "retries": "retries of a keyed change of a state, in a session of 100,000 events",
    "states": "six clients that patch a state as large as is taken",
    "members": "six clients that change states of 860 KB, each of 52,000 members",
    "spellings": "retries of an event of 13 MB, written otherwise than the first time",
    "followers-ws": "100 followers that take nothing and two events of 15 MB, over WebSockets",
    "followers-sse": "the same as server-sent events",
    "answers": "100 answers and exports of 15 MB that nobody reads",
    "bodies": "bodies of 15 MB, each of 750,000 members",
    "batches": "batches of 1 MB, each of 256,000 values",
    "lists": "lists of 40 sessions with metadata as large as is taken",
}


def measure(effort: Effort) -> list[Line]:
    """One run of each: an attack is many requests, and so is what the other tenant asks meanwhile."""
    lines: list[Line] = []
    peaks: dict[str, float] = {}
    for name in BESIDE:
        with tempfile.TemporaryDirectory(dir=effort.folder) as place:
            line = _line(name, Path(place) / "data", QUICK_SECONDS if effort.quick else SECONDS)
        peaks[f"{name} MB"] = line.beside["memory MB"]
        lines.append(line)
    most = max(peaks.values())
    what = "the gateway's memory through all these attacks"
    return [*lines, Line("attacks-memory", what, "MB", most, at_most=AT_MOST_MB, beside=peaks)]


def _line(name: str, data: Path, seconds: float) -> Line:
    from tests.gateway.holders import Wanted, make_tokens
    from tests.support.attacks import Order, attacking, start, statuses
    from tests.support.bystander import Bystander
    from tests.support.memory import forget_peak, peak_memory

    data.mkdir()
    scopes = ("write", "read")
    wanted = {each: Wanted(scopes, tenant=each) for each in ("hostile", "other")}
    tokens = make_tokens(f"sqlite:///{data}/holdfast.db", wanted)
    with gateway(data, "--auth=token") as server:
        url = f"http://127.0.0.1:{server.port}"
        other = Bystander(url, tokens["other"], PATIENCE_SECONDS)
        other.ask()
        with attacking(Order(url, tokens["hostile"], [name], seconds)) as attack:
            alone = Bystander(url, tokens["other"], PATIENCE_SECONDS)
            with alone.asking():
                time.sleep(1)
            forget_peak(server.pid)
            beside = Bystander(url, tokens["other"], PATIENCE_SECONDS)
            with beside.asking():
                start(attack)
                got = statuses(attack)
        peak = peak_memory(server.pid) / MB
    appends, reads = _p99(beside.appends), _p99(beside.reads)
    return Line(
        f"beside-{name}",
        f"another tenant's append or read (p99) beside {BESIDE[name]}",
        "ms",
        max(appends, reads),
        at_most=AT_MOST_MS,
        beside={
            "append p99 ms": appends,
            "read p99 ms": reads,
            "longest ms": max(beside.appends + beside.reads) * 1000,
            "alone p99 ms": max(_p99(alone.appends), _p99(alone.reads)),
            "requests": len(beside.appends) + len(beside.reads),
            "failures": len(beside.failures),
            "memory MB": peak,
        },
        note="the attacker got " + ", ".join(f"{status}: {number}" for status, number in sorted(got.items())),
    )


def _p99(seconds: list[float]) -> float:
    return percentile(sorted(seconds), 0.99) * 1000
