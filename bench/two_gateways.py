"""Two gateways on one PostgreSQL, against one: what both append together.

Everything is on this machine: the gateways, the database and the load share its cores. So there are two lines: as it
is, with what each part takes of a core and how many cores half as much again would take; and with each gateway held to
a part of a core, as a stand-in for machines of their own. A gateway is held by stopping its process most of the time.
"""

import contextlib
import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import psycopg

from bench.line import Effort, Line, in_turns, ratio
from bench.load import Order, run
from bench.material import WRITERS
from bench.servers import Server, cpu_seconds, gateway

AT_LEAST = 1.5
SHARE = 0.3
PERIOD_SECONDS = 0.02
FREE = Line("two-gateways", "two gateways on one PostgreSQL / one, appends/s", "×", at_least=AT_LEAST)
HELD = replace(FREE, what=f"{FREE.what}, each held to {SHARE:g} of a core")


@dataclass(frozen=True, slots=True)
class GatewayResult:
    """What some gateways reached, and what took how much of a core meanwhile."""

    rate: float
    p99_ms: float
    gateways: float
    database: float
    load: float

    @property
    def others(self) -> float:
        """What is not a gateway, for one append, in parts of what a gateway takes for it."""
        return (self.database + self.load) / self.gateways


def measure(effort: Effort) -> list[Line]:
    """Gateways share nothing but the database: the second brings nearly as much as the first, if it has a core."""
    try:
        from tests.support.postgres import running_server
    except ImportError as error:
        why = f"NOT RUN: there is no server ({error})"
        return [replace(FREE, note=why), replace(HELD, note=why)]
    with contextlib.ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=effort.folder)))
        database = stack.enter_context(running_server(place))
        shared, alone = database.new_database(), database.new_database()
        one = [stack.enter_context(gateway(place / "one", f"--store={alone}"))]
        two = [stack.enter_context(gateway(place / name, f"--store={shared}")) for name in ("two-a", "two-b")]
        postmaster = _postmaster(database.uri)
        for servers in (one, two):
            append(servers, postmaster, effort.seconds)
        free, held = (
            in_turns(
                effort.repeats,
                lambda share=share: append(two, postmaster, effort.seconds, share),  # type: ignore[misc]
                lambda share=share: append(one, postmaster, effort.seconds, share),  # type: ignore[misc]
            )
            for share in (1.0, SHARE)
        )
    needed = AT_LEAST * (1 + median(went.others for _, went in free))
    missing = f"{AT_LEAST:g} × would keep {needed:.1f} cores busy, and there are {os.cpu_count()}"
    return [
        _filled(FREE, free, missing),
        _filled(HELD, held, "stopped the rest of the time"),
    ]


def append(servers: Sequence[Server], postmaster: int, seconds: float, share: float = 1.0) -> GatewayResult:
    """Have programs append through these gateways for some seconds."""
    pids = [server.pid for server in servers]
    with held(pids, share) if share < 1 else contextlib.nullcontext():
        before = _busy(pids), _busy(_family(postmaster))
        found = run(Order([server.port for server in servers], connections=WRITERS, seconds=seconds))
        after = _busy(pids), _busy(_family(postmaster))
    gateways, database = ((late - early) / seconds for early, late in zip(before, after, strict=True))
    return GatewayResult(found.rate, found.p99_ms, gateways, database, found.cpu_seconds / seconds)


@contextlib.contextmanager
def held(pids: Sequence[int], share: float) -> Iterator[None]:
    """Let each of these processes run for a part of the time only, one after the other."""
    enough = threading.Event()

    def turns() -> None:
        while not enough.is_set():
            for pid in pids:
                until = time.perf_counter() + PERIOD_SECONDS / len(pids)
                os.kill(pid, signal.SIGCONT)
                time.sleep(PERIOD_SECONDS * share)
                os.kill(pid, signal.SIGSTOP)
                time.sleep(max(0.0, until - time.perf_counter()))

    thread = threading.Thread(target=turns)
    thread.start()
    try:
        yield
    finally:
        enough.set()
        thread.join()
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def _filled(line: Line, rounds: Sequence[tuple[GatewayResult, GatewayResult]], note: str) -> Line:
    return replace(
        line,
        value=ratio([(two.rate, one.rate) for two, one in rounds]),
        beside={
            "two/s": median(two.rate for two, _ in rounds),
            "one/s": median(one.rate for _, one in rounds),
            "two p99 ms": median(two.p99_ms for two, _ in rounds),
            "one p99 ms": median(one.p99_ms for _, one in rounds),
            "cores: two": median(two.gateways for two, _ in rounds),
            "their database": median(two.database for two, _ in rounds),
            "load": median(two.load for two, _ in rounds),
            "cores: one": median(one.gateways for _, one in rounds),
            "its database": median(one.database for _, one in rounds),
            "its load": median(one.load for _, one in rounds),
        },
        note=note,
    )


def _postmaster(uri: str) -> int:
    with psycopg.connect(uri) as connection:
        row = connection.execute("SHOW data_directory").fetchone()
    assert row is not None
    return int(Path(row[0], "postmaster.pid").read_text().split()[0])


def _family(pid: int) -> list[int]:
    """A process and its children."""
    found = [pid]
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            with contextlib.suppress(OSError):
                parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
                found += [int(place.name)] if parent == pid else []
    return found


def _busy(pids: Sequence[int]) -> float:
    return sum(cpu_seconds(pid) for pid in pids)
