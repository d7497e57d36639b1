"""Exploration from a program: its options, its result, and the plugin for pytest."""

import asyncio
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.prove.explore.test_explore_command_line import FORGETFUL

from holdfast.core.errors import InvalidInput
from holdfast.prove.explore import explore
from holdfast.prove.explore.api import options_of
from holdfast.prove.explore.histories import history
from holdfast.prove.explore.histories.draft import FAMILIES, FAULT_KINDS
from holdfast.prove.explore.options import ExploreOptions
from holdfast.prove.targets import Choice


def test_a_wrong_option_is_refused_before_anything_starts(tmp_path: Path) -> None:
    for wrong in ({"storys": 3}, {"faults": "all of them"}, {"profile": ["nothing"]}, {"replay": tmp_path / "none"}):
        with pytest.raises(InvalidInput):
            explore(artifacts=tmp_path, **wrong)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["skip", "turns", "proofs", "next_command", "probe_command", "families"])
def test_what_exploring_makes_no_use_of_is_refused_by_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=f"no option {name}"):
        explore(artifacts=tmp_path, replay=tmp_path / "none", **{name: 3})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("budget", 0),
        ("budget", -1.0),
        ("budget", "soon"),
        ("budget", float("nan")),
        ("longest_pause", "a while"),
        ("histories", 0),
        ("histories", 2.5),
        ("confirm", 0),
        ("side_by_side", 0),
        ("side_by_side", 65),
        ("seed", -1),
    ],
)
def test_what_is_out_of_range_is_refused_by_name(name: str, value: object, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=name.replace("_", "-")):
        explore(artifacts=tmp_path, replay=tmp_path / "none", **{name: value})


def test_a_program_names_profiles_and_times_as_the_command_line_does() -> None:
    assert options_of({"profile": "files,memory"}, {}).bounds().families == {"files", "memory"}
    assert options_of({"profile": ["files", "all"]}, {}).bounds().families == frozenset(FAMILIES)
    assert options_of({"budget": "2m"}, {}).budget == 120.0
    assert options_of({"budget": 5}, {}).budget == 5.0


def test_who_waits_in_a_loop_is_told_what_to_do_instead() -> None:
    async def ask() -> None:
        explore()

    with pytest.raises(InvalidInput, match="event loop"):
        asyncio.run(ask())


def test_a_foreign_target_is_explored_for_what_every_agent_can_do() -> None:
    own, foreign = ExploreOptions(), ExploreOptions(choice=Choice(command="agent {port}"))
    assert own.bounds().families == frozenset(FAMILIES)
    assert foreign.bounds().families == {"continuity"}
    assert replace(foreign, profiles=("files", "memory")).bounds().families == {"files", "memory"}
    assert foreign.bounds().faults == frozenset(FAULT_KINDS)
    assert own.bounds().twins
    assert not foreign.bounds().twins
    assert options_of({"longest_pause": "20s"}, {}).bounds().longest_pause == 20_000


def test_what_cannot_be_restarted_has_no_faults() -> None:
    running = ExploreOptions(choice=Choice(url="http://localhost:9"))
    assert running.bounds().faults == frozenset()
    restartable = ExploreOptions(choice=Choice(url="http://localhost:9", restart_command="again"), faults="kill")
    assert restartable.bounds().faults == {"kill"}
    assert ExploreOptions(faults="none").bounds().faults == frozenset()


@pytest.mark.parametrize(("restart", "faults"), [(None, "kill"), (None, "pause"), ("again", "pause")])
def test_a_fault_that_cannot_be_done_is_not_left_out_quietly(restart: str | None, faults: str) -> None:
    choice = Choice(url="http://localhost:9", restart_command=restart)
    with pytest.raises(InvalidInput, match=f"no way to {faults}"):
        ExploreOptions(choice=choice, faults=faults).check()
    assert faults not in ExploreOptions(choice=choice).bounds().faults


def test_targets_that_share_something_do_not_run_side_by_side() -> None:
    assert ExploreOptions(side_by_side=3).workers() == 3
    for choice in (Choice(url="http://localhost:9"), Choice(command="agent", port=9), Choice(store="sqlite:///x")):
        assert ExploreOptions(choice=choice, side_by_side=3).workers() == 1
    assert options_of({}, {}).side_by_side >= 1


TESTS = """
def test_it_keeps_everything(holdfast_explore):
    assert holdfast_explore(target="broken:none", replay="history.json").exit_code == 0

def test_it_keeps_nothing(holdfast_explore):
    holdfast_explore(target="broken:memory-only", replay="history.json", confirm=1)
"""


@pytest.mark.long(seconds=20)
def test_a_violation_fails_a_test_with_its_smallest_history(tmp_path: Path) -> None:
    history.write(FORGETFUL, tmp_path / "history.json")
    (tmp_path / "test_agent.py").write_text(TESTS)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp", str(tmp_path / "base"), "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert "1 failed, 1 passed" in done.stdout
    assert "known is disproven: the" in done.stdout
    assert "SIGKILL, and start again" in done.stdout
