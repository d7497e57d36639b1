"""The workflow of a turn: its mode and why, its phases, and what is recorded of them."""

import json
from pathlib import Path

import pytest
from tests.runtime.project.desk import agent, calls, says, script

from holdfast.runtime import Agent
from holdfast.runtime.turn.loop import TurnEvent

LARGE = (
    "Refactor the whole pipeline across src/a.py, src/b.py and src/c.py. First move the parser. Then migrate it. "
    "Also update the docs. Finally redesign the entire framework."
)
UNCLEAR = "Maybe improve something here. Make things better somehow? I think it should be nicer, or whatever."


async def test_the_route_is_recorded_with_its_reasons(tmp_path: Path) -> None:
    made = agent(tmp_path, says("Hi."))
    await made.run("Say hi.")
    entry = made.session.workflow_timeline[0]
    assert (entry.kind, entry.mode, entry.decision_kind) == ("route", "execute", "initial_route")
    assert (entry.reason_code, entry.scheduled_next_mode) == ("one_sentence", "verify")
    assert entry.route_score is not None
    assert entry.runner_up_mode in {"clarify", "plan", "verify"}
    assert entry.artifact_paths == [made.session.active_dod_path]
    session = made.session
    assert (session.workflow_reason_code, session.workflow_decision_kind) == ("one_sentence", "initial_route")
    assert session.workflow_ambiguity_score is not None
    assert session.workflow_complexity_score is not None


async def test_a_large_task_is_planned_in_the_same_turn_and_the_mode_is_over_then(tmp_path: Path) -> None:
    made = agent(tmp_path, says("1. Move it. 2. Done."))
    await made.run(LARGE)
    assert len(script(made).invocations) == 1
    assert "Begin with a short plan" in script(made).invocations[0].messages[0].text
    assert made.session.workflow_timeline[0].mode == "plan"
    assert (made.session.workflow_timeline[-1].kind, made.workflow_mode) == ("handoff", "execute")


async def test_an_unclear_task_is_clarified_until_it_is_clear(tmp_path: Path) -> None:
    made = agent(tmp_path, says("What exactly?"), says("Done."))
    await made.run(UNCLEAR)
    assert made.workflow_mode == "clarify"
    assert "Ask the user" in script(made).invocations[0].messages[0].text
    assert made.last_turn_summary is not None
    assert made.last_turn_summary.definition_of_done.status == "in_progress"
    await made.run("Use src/a.py. Write 3 lines.")
    routes = [(entry.kind, entry.mode) for entry in made.session.workflow_timeline if entry.route_score is not None]
    assert routes == [("route", "clarify"), ("clarify_exit", "execute")]
    assert made.workflow_mode == "execute"


@pytest.mark.parametrize("mode", ["clarify", "plan", "verify"])
async def test_a_mode_that_was_asked_for_stays(tmp_path: Path, mode: str) -> None:
    made = agent(tmp_path, says("One."), says("Two."), says("Three."))
    made.set_workflow_mode(mode)
    await made.run("Do it.")
    await made.run("Do that.")
    assert made.workflow_mode == mode
    assert made.session.workflow_decision_kind == "requested"
    made.set_workflow_mode("execute")
    await made.run("Do the rest.")
    assert (made.workflow_mode, made.session.workflow_decision_kind) == ("execute", "initial_route")


async def test_the_phases_of_a_turn(tmp_path: Path) -> None:
    made = agent(tmp_path, says("I'll write it."), calls("write", file_path="a", content="x"), says("Done."))
    seen: list[str | None] = []

    def tell(event: TurnEvent) -> None:
        seen.append(made.session.last_turn_transition_summary)

    await made.run("Write it.", tell=tell)
    assert list(dict.fromkeys(seen)) == [
        "prepare -> assistant [normal] the model is asked",
        "critique -> assistant [reroute] the answer announces work that was not done",
        "assistant -> tools [normal] write",
        "tools -> assistant [normal] the model is told what they gave",
        "assistant -> completion [normal] what was changed passed its checks",
    ]
    session = made.session
    assert session.last_turn_transition_summary == "completion -> finalize [terminal] the turn is over"
    assert (session.last_turn_transition_kind, session.last_turn_transition_reason_code) == ("terminal", "verified")
    assert session.active_turn_phase is None


async def test_what_the_work_is_measured_by_is_in_the_ledger(tmp_path: Path) -> None:
    made = agent(tmp_path, calls("write", file_path="a", content="x"), says("Done."))
    await made.run("Write it.")
    (anchor,) = made.session.workflow_ledger.acceptance_anchors
    assert (anchor.text, anchor.status, anchor.introduced_phase) == ("Write it.", "tracked", "prepare")
    assert anchor.evidence == ["test -f a: exit code 0"]


async def test_a_definition_of_done_is_kept_with_all_it_says(tmp_path: Path) -> None:
    made: Agent = agent(tmp_path, calls("write", file_path="a.py", content="x = 1\n"), says("Done."))
    await made.run("Create a.py.")
    path = Path(made.session.active_dod_path or "")
    assert path.parent == tmp_path / ".holdfast" / "dod"
    kept = json.loads(path.read_text())
    assert kept["task_statement"] == "Create a.py."
    assert (kept["status"], kept["retry_budget"], kept["touched_files"]) == ("done", 3, ["a.py"])
    assert kept["verification_commands"] == ["test -f a.py", "python -m py_compile a.py"]
    assert kept["evidence"] == [
        {"command": command, "passed": True, "exit_code": 0, "output": ""} for command in kept["verification_commands"]
    ]
    assert (kept["pending_items"], kept["completed_items"]) == ([], kept["acceptance_criteria"])
