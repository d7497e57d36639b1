"""Many runs of the proof of a whole service: whoever is stopped goes on, and counts each run once."""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.prove.prover import gone
from tests.support.eventually import wait_until
from tests.support.processes import spawn
from tests.support.resumable import said_on_a_leash
from tests.support.service_runs import ServiceRun, service_runs

PROVEN: dict[str, Any] = {"proofs": [], "kills": ["gateway"], "seconds": 1.0}
LOST = {"name": "actions", "verdict": "disproven", "reason": "a mail is lost", "got": "5"}


def after(seed: int) -> int:
    return seed + 10


class Runs:
    """Runs whose end is given by their seeds, and what was made of them."""

    def __init__(self, folder: Path) -> None:
        self.results, self.evidence = folder / "results.jsonl", folder / "evidence"
        self.made: list[int] = []
        self.lost: set[int] = set()

    def prove(self, seed: int, artifacts: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
        assert arguments == ("--kills", "random") and not artifacts.exists()
        artifacts.mkdir(parents=True)
        self.made.append(seed)
        return (1, PROVEN | {"proofs": [LOST]}) if seed in self.lost else (0, PROVEN)

    def take(self, count: int, most: int = 100) -> list[ServiceRun]:
        """So many runs from seed 1 on; after the first few it is stopped."""
        self.made = []
        found = service_runs(count, 1, self.results, self.evidence, after, self.prove)
        return [run for run, _ in zip(found, range(most), strict=False)]


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


def test_a_run_that_was_made_is_not_made_again(runs: Runs) -> None:
    assert [run.seed for run in runs.take(2)] == runs.made == [1, 11]
    assert [run.seed for run in runs.take(4)] == [1, 11, 21, 31] and runs.made == [21, 31]
    assert not list(runs.evidence.iterdir())


def test_a_run_that_was_not_proven_is_made_again_and_counts_once(runs: Runs) -> None:
    runs.lost = {11}
    first, second, _ = runs.take(3)
    assert not first.wrong and second.wrong == ["actions: a mail is lost (5)"]
    assert [path.name for path in runs.evidence.iterdir()] == ["11"]
    runs.lost = set()
    assert [run.wrong for run in runs.take(3)] == [[], [], []] and runs.made == [11]
    assert runs.take(3) and runs.made == []


def test_what_a_killed_write_left_does_not_count_and_harms_no_other_run(runs: Runs) -> None:
    runs.take(2)
    whole = runs.results.read_text()
    runs.results.write_text(whole[:-20])
    assert len(runs.take(3)) == 3 and runs.made == [11, 21]
    assert runs.take(3) and runs.made == []


def test_evidence_of_a_run_that_was_killed_goes_when_it_is_made_again(runs: Runs) -> None:
    (runs.evidence / "1" / "service").mkdir(parents=True)
    assert not runs.take(1)[0].wrong


def test_two_do_not_make_the_same_runs(runs: Runs) -> None:
    held = service_runs(2, 1, runs.results, runs.evidence, after, runs.prove)
    next(held)
    with pytest.raises(SystemExit, match="another process makes the runs"):
        runs.take(2)
    assert len(list(held)) == 1
    assert len(runs.take(2)) == 2
    assert [json.loads(line)["seed"] for line in runs.results.read_text().splitlines()] == [1, 11]


def test_a_command_on_a_leash_tells_its_words_and_how_it_ended() -> None:
    assert said_on_a_leash(sys.executable, "-c", "print('so'); raise SystemExit(3)") == (3, "so\n")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_command_on_a_leash_ends_with_whoever_holds_it(number: signal.Signals, tmp_path: Path) -> None:
    said = tmp_path / "pid"
    script = "import os, sys, time; open(sys.argv[1], 'w').write(f'{os.getpid()}.'); time.sleep(600)"
    holder = spawn(said_on_a_leash, sys.executable, "-c", script, str(said))
    wait_until(lambda: said.exists() and said.read_text().endswith("."))
    pid = int(said.read_text()[:-1])
    os.kill(holder.pid or 0, number)
    wait_until(lambda: gone(pid))
