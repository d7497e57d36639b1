"""Batches of explored histories on one runtime, over both wires and, for the bundled one, on both engines.

Each batch has a seed of its own, which is told: a run that was cut short goes on with the seed of its next batch.
"""

import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.prove.explore.explorer import explore
from tests.support.postgres import Server, running_server

BATCH = 25
LONGEST_BATCH = "3600s"
HONEST_SDK = Path(__file__).parents[1] / "prove" / "explore" / "honest_sdk.py"
COUNTED = ("histories", "operations", "kills", "stops", "pauses")
RUNTIMES = ("bundled", "bundled-file", "broken:none", "sdk")
"""What is honest and must not be accused."""


def explore_in_batches(
    histories: int,
    root: Path,
    seed: int,
    *,
    runtime: str,
    next_seed: Callable[[int], int],
    told: Callable[[str], None],
) -> list[str]:
    """Explore so many histories; what was violated. The evidence of a batch that was not proven is kept."""
    counts: Counter[str] = Counter()
    began = time.monotonic()
    with running_server() as server:
        for number in range(-(-histories // BATCH)):
            artifacts = Path(tempfile.mkdtemp(dir=root))
            where, options = _target(runtime, number, server)
            wire = ("1.0", "0.3")[number // 2 % 2]
            size = min(BATCH, histories - counts["histories"])
            words = ("--json", "--histories", str(size), "--budget", LONGEST_BATCH, "--seed", str(seed), "--wire", wire)
            done = explore(*words, *options, artifacts=artifacts, within=2 * 3600.0)
            wrong = [f"{each['claim']}: {each['reason']}" for each in done.summary["violations"]]
            told(f"{number + 1}: {where}, wire {wire}, seed {seed}: {'; '.join(wrong) or done.summary['verdict']}")
            if done.exit_code:
                kept = shutil.move(artifacts, Path(".artifacts") / "chaos" / f"{time.time_ns()}")
                return [*wrong, f"exit code {done.exit_code}, evidence: {kept}"]
            shutil.rmtree(artifacts)
            counts.update({name: done.summary["explored"][name] for name in COUNTED})
            seed = next_seed(seed)
    summed = ", ".join(f"{counts[name]} {name}" for name in COUNTED)
    told(f"{summed} in {time.monotonic() - began:.0f} s")
    return []


def _target(runtime: str, number: int, server: Server) -> tuple[str, Sequence[str]]:
    """What to call the target of a batch, and the options that choose it."""
    if runtime == "sdk":
        return "an agent on the SDK", ("--command", f"{sys.executable} {HONEST_SDK} {{data}} {{port}}")
    if runtime != "bundled":
        return runtime, ("--target", runtime)
    return ("PostgreSQL", ("--store", server.new_database())) if number % 2 else ("SQLite", ())
