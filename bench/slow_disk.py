"""The same sixty-four writers on a disk whose sync takes five milliseconds longer: cloud disks are like that.

The delay is a small library, compiled here and preloaded into a process of its own.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from bench import together
from bench.line import Effort, Line
from bench.material import WRITERS

NAME = "slow-disk"
SYNC_MS = 5
AT_LEAST = 35
WHAT = f"{WRITERS} writers / a raw commit, {SYNC_MS} ms fsync"
SOURCE = Path(__file__).with_name("slow_fsync.c")


def measure(effort: Effort) -> list[Line]:
    """Group commit is worth most where a sync is slow."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        return [_not_run("NOT RUN: there is no C compiler for the slow disk")]
    with tempfile.TemporaryDirectory() as place:
        library = f"{place}/slow_fsync.so"
        build = [compiler, "-O2", "-shared", "-fPIC", "-o", library, str(SOURCE), "-ldl"]
        subprocess.run(build, check=True, capture_output=True, text=True)
        done = subprocess.run(
            [sys.executable, "-m", "bench.slow_disk", str(effort.repeats), str(effort.seconds), str(effort.folder)],
            env={**os.environ, "LD_PRELOAD": library, "BENCH_SYNC_MS": str(SYNC_MS)},
            check=True,
            stdout=subprocess.PIPE,
            text=True,
            timeout=60 + 4 * effort.repeats * effort.seconds,
        )
    beside: dict[str, float] = json.loads(done.stdout)
    times = beside.pop("times")
    if beside["raw/s"] > 1000 / SYNC_MS:
        return [_not_run(f"NOT RUN: the delay had no effect ({beside['raw/s']:.0f} raw commits/s)")]
    return [Line(NAME, WHAT, "×", times, at_least=AT_LEAST, beside=beside)]


def _not_run(why: str) -> Line:
    return Line(NAME, WHAT, "×", at_least=AT_LEAST, note=why)


if __name__ == "__main__":
    repeats, seconds, folder = sys.argv[1:]
    (line,) = together.measure(Effort(int(repeats), float(seconds), Path(folder)))
    print(json.dumps({**line.beside, "times": line.value}))
