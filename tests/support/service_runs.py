"""`holdfast prove service` again and again, each time with other work and other kills, and going on where it was.

A run is one line of a file of results, written when it has ended. If this is stopped, even by kill -9, the run that it
was making ends too; the next one makes that run again, and those that were not proven, and no other. One process at a
time makes the runs of a file.
"""

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

from tests.support.resumable import CHECKOUT, code_here, documents, held, keep, said_on_a_leash

Prove = Callable[..., tuple[int, dict[str, Any]]]
"""From a seed, a folder for evidence and arguments to an exit code and a summary."""


class ServiceRun(NamedTuple):
    """What came of a run; `wrong` names what was not proven, and is empty if everything was.

    `code` is the commit, or the version where nobody knows that.
    """

    seed: int
    wrong: list[str]
    kills: int
    seconds: float
    code: str


def prove_service(seed: int, artifacts: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    """One run as a process that does not outlive this one; its exit code, and its summary."""
    words = ("prove", "service", "--checkout", str(CHECKOUT), "--artifacts", str(artifacts), "--json", "--quiet")
    exit_code, said = said_on_a_leash(sys.executable, "-m", "holdfast", *words, "--seed", str(seed), *arguments)
    assert said, f"seed {seed}: no summary, exit code {exit_code}"
    return exit_code, json.loads(said)


def wrong_in(code: int, summary: dict[str, Any]) -> list[str]:
    """What a run did not prove, each with what it saw."""
    steps = [step for step in summary["proofs"] if step["verdict"] != "proven"]
    found = [f"{step['name']}: {step['reason']} ({step['got']})" for step in steps]
    return found or ([f"exit code {code}"] if code else [])


def service_runs(
    count: int, seed: int, results: Path, evidence: Path, next_seed: Callable[[int], int], prove: Prove = prove_service
) -> Iterator[ServiceRun]:
    """So many runs with random kills; those that the results have as proven are not made again.

    Evidence is below a folder, and goes when its run was proven or is made again.
    """
    code = code_here()
    with held(results) as file:
        known = _proven(file)
        for _ in range(count):
            if (run := known.get(seed)) is None:
                shutil.rmtree(evidence / str(seed), ignore_errors=True)
                exit_code, summary = prove(seed, evidence / str(seed), "--kills", "random")
                run = ServiceRun(seed, wrong_in(exit_code, summary), len(summary["kills"]), summary["seconds"], code)
                keep(file, run._asdict())
                if not run.wrong:
                    shutil.rmtree(evidence / str(seed), ignore_errors=True)
            yield run
            seed = next_seed(seed)


def _proven(file: IO[str]) -> dict[int, ServiceRun]:
    """The runs that a file has as proven, by their seeds."""
    known = {run.seed: run for run in (ServiceRun(**document) for document in documents(file))}
    return {seed: run for seed, run in known.items() if not run.wrong}
