"""What a program waits for that imports the runtime and nothing else of ours: each time in a new process."""

import json
import os
import subprocess
import sys
from statistics import median

from bench.line import Effort, Line

TIMES = 30
QUICK_TIMES = 5
AT_MOST_MS = 150.0
PROGRAM = """
import json, time
began, worked = time.perf_counter(), time.process_time()
import holdfast.runtime
print(json.dumps([time.perf_counter() - began, time.process_time() - worked]))
"""


def measure(effort: Effort) -> list[Line]:
    """`import holdfast.runtime`, with its bytecode there, as after an installation."""
    times = QUICK_TIMES if effort.quick else TIMES
    _, *seen = [_imported() for _ in range(times + 1)]  # the first writes the bytecode
    clock, cores = [wall for wall, _ in seen], [cpu for _, cpu in seen]
    return [
        Line(
            "import-runtime",
            f"`import holdfast.runtime` in a new process, median of {times}",
            "ms",
            1_000 * median(clock),
            at_most=AT_MOST_MS,
            beside={"fastest ms": 1_000 * min(clock), "ms of a core": 1_000 * median(cores)},
        )
    ]


def _imported() -> tuple[float, float]:
    """How long the import took, and how much of a core."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=variables, stdout=subprocess.PIPE, check=True)
    wall, cpu = json.loads(done.stdout)
    return wall, cpu
