"""`holdfast prove service` again and again, each time with other work and other kills, and going on where it was."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

CHECKOUT = Path(__file__).parents[2]


class ServiceRun(NamedTuple):
    """What came of a run; `wrong` names what was not proven, and is empty if everything was."""

    seed: int
    wrong: list[str]
    kills: int
    seconds: float


def prove_service(seed: int, artifacts: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    """One run as a process; its exit code, and its summary."""
    words = ("prove", "service", "--checkout", str(CHECKOUT), "--artifacts", str(artifacts), "--json", "--quiet")
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", *words, "--seed", str(seed), *arguments],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    return done.returncode, json.loads(done.stdout)


def wrong_in(code: int, summary: dict[str, Any]) -> list[str]:
    """What a run did not prove, each with what it saw."""
    steps = [step for step in summary["proofs"] if step["verdict"] != "proven"]
    found = [f"{step['name']}: {step['reason']} ({step['got']})" for step in steps]
    return found or ([f"exit code {code}"] if code else [])


def done_before(results: Path) -> dict[int, ServiceRun]:
    """The runs that a file of results has, by their seeds."""
    lines = results.read_text().splitlines() if results.exists() else []
    runs = [ServiceRun(**json.loads(line)) for line in lines if line.endswith("}")]
    return {run.seed: run for run in runs}


def service_runs(
    count: int, root: Path, seed: int, results: Path, next_seed: Callable[[int], int], *arguments: str
) -> Iterator[ServiceRun]:
    """So many runs; those that the results have are not made again. The evidence of one that failed is kept."""
    known = done_before(results)
    results.parent.mkdir(parents=True, exist_ok=True)
    for _ in range(count):
        if seed in known:
            yield known[seed]
        else:
            artifacts = root / str(seed)
            code, summary = prove_service(seed, artifacts, "--kills", "random", *arguments)
            run = ServiceRun(seed, wrong_in(code, summary), len(summary["kills"]), summary["seconds"])
            with results.open("a") as file:
                file.write(json.dumps(run._asdict()) + "\n")
            if not run.wrong:
                shutil.rmtree(artifacts)
            yield run
        seed = next_seed(seed)
