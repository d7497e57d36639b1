"""Sessions of the older layout: how fast they are imported, in what memory, and how soon a gateway starts on them."""

import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import NamedTuple

import uvloop

from bench.line import Effort, Line, in_turns, ratio
from bench.material import payload
from bench.servers import cpu_seconds, plain_environment
from bench.writers import sqlite_pace
from holdfast.prove.leash import descendants
from holdfast.store import open_store
from holdfast.transcripts import import_transcripts
from holdfast.transcripts.legacy import LegacySource
from holdfast.transcripts.store_sessions import StoreSessions

BATCH = 1_000
EVENTS = 100
"""Of a session."""
SESSIONS = 10_000
HOT = 20
QUICK_SESSIONS = 200
AT_LEAST = 0.5
MOST_SECONDS = 3.0
MOST_MEMORY = 250.0
MEASURED = """
import json, resource, runpy, sys
try:
    runpy.run_module("holdfast", run_name="__main__")
finally:
    took = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    sys.stdout.flush()
    print(json.dumps(sum(each.ru_utime + each.ru_stime for each in took)))
"""
"""Runs the command line, and then says how long it and the process that reads for it were at work, together."""
LOOK_SECONDS = 0.05


def measure(effort: Effort) -> list[Line]:
    """An import against batches of appends, of a few sessions in turns and of all of them; its memory; a start on a
    folder with a few hot ones."""
    sessions = QUICK_SESSIONS if effort.quick else SESSIONS
    with tempfile.TemporaryDirectory(dir=effort.folder) as place:
        few, many = Path(place) / "few", Path(place) / "many"
        lay_out(few, max(20, round(20_000 * effort.seconds) // EVENTS))
        lay_out(many, sessions)
        rounds = in_turns(effort.repeats, lambda: imported_rate(few, effort.folder), lambda: batch_rate(effort))
        beside = [batch_rate(effort)]
        whole = import_as_process(many, Path(place) / "data")
        beside.append(batch_rate(effort))
        starts = [start(many, Path(place) / f"start-{number}") for number in range(min(5, effort.repeats))]
    events = sessions * EVENTS
    return [
        Line(
            "import",
            f"imported events / events in batches of {BATCH:,}, each a second",
            "×",
            ratio(rounds),
            at_least=AT_LEAST,
            beside={"import/s": median(one for one, _ in rounds), "batch/s": median(other for _, other in rounds)},
        ),
        Line(
            "import-all",
            f"the same for a command that imports {sessions:,} sessions, {events:,} events, with its start and its end",
            "×",
            events / whole.seconds / median(beside),
            at_least=AT_LEAST,
            beside={
                "import/s": events / whole.seconds,
                "batch/s": median(beside),
                "s": whole.seconds,
                "processor s": whole.cpu_seconds,
            },
        ),
        Line(
            "import-memory",
            "the memory of that command, both of its processes together",
            "MB",
            whole.megabytes,
            at_most=MOST_MEMORY,
        ),
        Line(
            "import-start",
            f"from the start of a gateway to ready, {sessions:,} legacy sessions of which {HOT} are hot",
            "s",
            median(each.seconds for each in starts),
            at_most=MOST_SECONDS,
            beside={
                "slowest s": max(each.seconds for each in starts),
                "processor s": median(each.cpu_seconds for each in starts),
            },
        ),
    ]


class Run(NamedTuple):
    """What a process took: time, processor time, and memory at most."""

    seconds: float
    cpu_seconds: float
    megabytes: float = 0.0


def batch_rate(effort: Effort) -> float:
    """The events a second of one writer that appends batches."""
    return sqlite_pace(effort.folder, 1, effort.seconds, batch=BATCH).rate


def lay_out(folder: Path, sessions: int) -> None:
    """Write sessions of the older layout, each with a header and as many entries as make up its events."""
    place = folder / "agents" / "main" / "sessions"
    place.mkdir(parents=True)
    text = json.loads(payload())["text"][:120]
    entries = [
        {
            "type": "message",
            "id": f"e{number}",
            "parentId": f"e{number - 1}" if number else None,
            "timestamp": "2025-03-01T10:00:00.000Z",
            "message": {"role": ("user", "assistant")[number % 2], "content": f"{number} {text}"},
        }
        for number in range(EVENTS - 1)
    ]
    lines = "".join(json.dumps(entry, separators=(",", ":")) + "\n" for entry in entries)
    for number in range(sessions):
        head = json.dumps({"type": "session", "id": f"s{number:06}", "timestamp": "2025-03-01T10:00:00.000Z"})
        (place / f"s{number:06}.jsonl").write_text(f"{head}\n{lines}")
    keys = {f"agent:main:key-{number}": {"sessionId": f"s{number:06}", "updatedAt": 1} for number in range(HOT)}
    (place / "sessions.json").write_text(json.dumps(keys))


def imported_rate(folder: Path, place: Path) -> float:
    """The events a second of an import into a new store."""

    async def run(data: Path) -> float:
        async with await open_store(f"sqlite:///{data}/store.db") as store:
            began = time.perf_counter()
            done = await import_transcripts(StoreSessions(store), LegacySource(), folder, data / "imports", moves=False)
            return done.events / (time.perf_counter() - began)

    with tempfile.TemporaryDirectory(dir=place) as data:
        return uvloop.run(run(Path(data)))


def import_as_process(folder: Path, data: Path) -> Run:
    """What `sessions import` takes."""
    command = [sys.executable, "-c", MEASURED, "sessions", "import", str(folder), "--json", "--data", str(data)]
    began = time.perf_counter()
    most: Counter[int] = Counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=plain_environment()) as done:
        assert done.stdout is not None
        said = ThreadPoolExecutor(1).submit(done.stdout.read)
        while done.poll() is None:
            most |= Counter({pid: most_memory(pid) for pid in (done.pid, *descendants(done.pid))})
            time.sleep(LOOK_SECONDS)
        seconds = time.perf_counter() - began
        assert not done.returncode
        return Run(seconds, json.loads(said.result().splitlines()[-1]), most.total() / 1024)


def most_memory(pid: int) -> int:
    """The kilobytes that a process had in memory at most, so far; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


def start(folder: Path, data: Path) -> Run:
    """What a gateway takes from its start to its first line, which it says when it serves."""
    command = [sys.executable, "-m", "holdfast", "serve", "--json", "--port=0", f"--data={data}", f"--legacy={folder}"]
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=plain_environment()) as process:
        try:
            assert process.stdout is not None
            json.loads(process.stdout.readline())
            return Run(time.perf_counter() - began, cpu_seconds(process.pid))
        finally:
            process.kill()
