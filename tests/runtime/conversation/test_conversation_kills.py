"""A process is killed at each step by which it writes a conversation: what was acknowledged is there, and all of it."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.runtime.conversation.killed import expected, kill_at_steps, wrong_after
from tests.runtime.conversation.killed_in_store import run_until_killed
from tests.runtime.conversation.places import Place
from tests.support.processes import spawn


@pytest.mark.parametrize("every", [29, pytest.param(1, marks=[pytest.mark.long(seconds=60), pytest.mark.timeout(900)])])
def test_a_kill_at_any_step_of_a_write_loses_nothing(tmp_path: Path, every: int) -> None:
    answer = tmp_path / "answer"
    child = spawn(kill_at_steps, str(tmp_path), every, str(answer))
    child.join()
    told = json.loads(answer.read_text())
    assert told["problems"] == []
    assert told["steps"] > 100
    assert told["kills"] == 2 * len(range(0, told["steps"], every))


@pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
@pytest.mark.parametrize(
    "writes", [(9,), pytest.param(range(100), marks=[pytest.mark.long(seconds=90), pytest.mark.timeout(900)])]
)
def test_a_kill_at_any_write_of_a_store_loses_nothing(place: Place, writes: Sequence[int]) -> None:
    states = expected(place)
    lived = False
    for write in writes:
        for after in (False, True):
            session_id = f"killed-{place.root.name}-{write}-{after}"
            project = Place(place.root / session_id, place.url)
            project.root.mkdir()
            journal = project.root / "journal"
            child = spawn(run_until_killed, project, session_id, str(journal), write, after)
            child.join()
            lived = child.exitcode == 0
            done = journal.stat().st_size if journal.exists() else 0
            assert wrong_after(project, states, done, session_id) == [], f"write {write}, {after=}"
        if lived:
            assert write > 12
            return
    assert not lived, "every write was to be reached"
