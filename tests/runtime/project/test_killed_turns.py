"""A process is killed at each step of a turn: what was told is kept, each tool ran once, and the work goes on."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.runtime.project.killed_turn import kill_at_steps, problems, run_until_killed
from tests.support.postgres import Server
from tests.support.processes import spawn


@pytest.mark.parametrize("every", [41, pytest.param(1, marks=[pytest.mark.long(seconds=20), pytest.mark.timeout(900)])])
def test_a_kill_at_any_step_of_a_turn_loses_nothing(tmp_path: Path, every: int) -> None:
    answer = tmp_path / "answer"
    child = spawn(kill_at_steps, str(tmp_path), every, str(answer))
    child.join()
    told = json.loads(answer.read_text())
    assert told["problems"] == []
    assert told["steps"] > 100
    assert told["kills"] == 2 * len(range(0, told["steps"], every))


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
@pytest.mark.parametrize(
    "writes", [(12,), pytest.param(range(200), marks=[pytest.mark.long(seconds=20), pytest.mark.timeout(900)])]
)
def test_a_kill_at_any_write_of_a_turn_in_a_store_loses_nothing(
    tmp_path: Path, postgres: Server, engine: str, writes: Sequence[int]
) -> None:
    url = postgres.new_store() if engine == "postgresql" else None
    for write in writes:
        lived = False
        for after in (False, True):
            root = tmp_path / f"{write}-{after}"
            root.mkdir()
            place = url or f"sqlite:///{root}/store.db"
            child = spawn(run_until_killed, str(root), place, write, after)
            child.join()
            lived = child.exitcode == 0
            told = (root / "journal").read_text().split()
            assert problems(root, place, told) == [], f"write {write}, {after=}"
        if lived:
            assert write > 12
            return
    assert len(writes) == 1, "every write was to be reached"
