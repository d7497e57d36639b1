"""The definition of done through a turn: its status at each step, what is pending, and what is checked."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.project.desk import agent, calls, says, script

from holdfast.models import Message, Role
from holdfast.runtime import Agent
from holdfast.runtime.turn.loop import ToolBegun, ToolEnded, TurnEvent

GOOD = {"file_path": "a.py", "content": "x = 1\n"}
BAD = {"file_path": "a.py", "content": "x = = 1\n"}


def definition(made: Agent) -> dict[str, Any]:
    """The definition of done as it is kept."""
    found: dict[str, Any] = json.loads(Path(made.session.active_dod_path or "").read_text())
    return found


async def test_its_status_tells_how_far_the_work_is(tmp_path: Path) -> None:
    made = agent(tmp_path, calls("write", **BAD), says("Created."), calls("write", **GOOD), says("Fixed."))
    seen: list[str] = []

    def tell(event: TurnEvent) -> None:
        if isinstance(event, ToolBegun):
            seen.append(definition(made)["status"])

    await made.run("Create a.py.", tell=tell)
    assert seen == ["in_progress", "fixing"]
    assert definition(made)["status"] == "done"


async def test_what_failed_is_still_pending(tmp_path: Path) -> None:
    made = agent(tmp_path, calls("write", **BAD), says("Created."), reasoning={"completion_check": False})
    await made.run("Create a.py.")
    kept = definition(made)
    assert kept["pending_items"] != []
    assert kept["acceptance_criteria"] == [*kept["completed_items"], *kept["pending_items"]]
    failed = [each for each in kept["evidence"] if not each["passed"]]
    assert [each.keys() for each in failed] == [{"command", "passed", "exit_code", "output"}]
    assert "SyntaxError" in failed[0]["output"]


@pytest.mark.parametrize("absolute", [True, False])
async def test_a_file_is_checked_by_whatever_path_it_was_written(tmp_path: Path, absolute: bool) -> None:
    name = str(tmp_path / "sub" / "a.py") if absolute else "sub/a.py"
    made = agent(tmp_path, calls("write", file_path=name, content="x = 1\n"), says("Created."))
    answer = await made.run("Create it.")
    assert "PASS" in answer
    assert "FAIL" not in answer
    assert definition(made)["touched_files"] == ["sub/a.py"]


async def test_a_file_that_was_edited_is_checked_too(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    made = agent(
        tmp_path,
        calls("edit", file_path="a.py", old_string="1", new_string="= 2"),
        says("Edited."),
        reasoning={"completion_check": False},
    )
    answer = await made.run("Edit a.py.")
    assert "FAIL `python -m py_compile a.py`" in answer
    assert answer.startswith("Edited.")


async def test_one_that_failed_is_not_resumed_but_one_in_progress_is(tmp_path: Path) -> None:
    made = agent(tmp_path, calls("write", **BAD), says("Created."), reasoning={"completion_check": False})
    await made.run("Create a.py.")
    failed = made.session.active_dod_path
    other = agent(tmp_path, *[calls("list_files")] * 2, says("Done."), max_iterations=2)
    await other.run("Create a.py.")
    unfinished = other.session.active_dod_path
    assert unfinished != failed
    await other.run("Create a.py.")
    assert other.session.active_dod_path == unfinished


async def test_a_turn_that_broke_off_is_taken_up_by_the_same_task_after_a_restart(tmp_path: Path) -> None:
    before = agent(tmp_path, calls("write", **GOOD))
    with pytest.raises(AssertionError):
        await before.run("Create a.py and b.py.")
    after = agent(tmp_path, calls("write", file_path="b.py", content="y = 1\n"), says("Created both."))
    assert after.resume_session(before.session.session_id) is True
    assert after.last_turn_summary is not None
    assert after.last_turn_summary.definition_of_done.task_statement == "Create a.py and b.py."
    await after.run("Create a.py and b.py.")
    assert after.session.active_dod_path == before.session.active_dod_path
    assert definition(after)["touched_files"] == ["a.py", "b.py"]
    assert definition(after)["status"] == "done"


@pytest.mark.parametrize(
    "task",
    ["[COMPACTED CONTEXT] is what I say.", "Verification: mine.", "a\r\nb\tc", "{}", "–\u200b ünï 🙂", "x" * 9_000],
)
async def test_any_task_is_kept_word_for_word(tmp_path: Path, task: str) -> None:
    made = agent(tmp_path, says("Hi."))
    await made.run(task)
    after = agent(tmp_path)
    after.resume_session(made.session.session_id)
    assert after.messages[0] == Message(Role.USER, task)
    assert type(after.messages[0].content) is str
    assert after.current_task == task
    assert definition(after)["task_statement"] == task


async def test_the_folder_may_be_given_as_a_text(tmp_path: Path) -> None:
    made = agent(str(tmp_path), calls("write", **GOOD), says("Created."))  # type: ignore[arg-type]
    await made.run("Create a.py.")
    assert (tmp_path / "a.py").exists()
    assert isinstance(made.session.storage_path, Path)
    after = agent(str(tmp_path))  # type: ignore[arg-type]
    assert after.resume_session(made.session.session_id) is True


async def test_what_the_session_keeps_is_there_while_the_turn_runs(tmp_path: Path) -> None:
    made = agent(tmp_path, calls("write", **GOOD), says("Created."))
    seen: list[dict[str, Any]] = []

    def tell(event: TurnEvent) -> None:
        if isinstance(event, ToolEnded):
            seen.append(json.loads((made.session.storage_path or Path()).read_text()))

    await made.run("Create a.py.", tell=tell)
    (kept,) = seen
    assert (kept["current_task"], kept["workflow_mode"]) == ("Create a.py.", "execute")
    assert kept["active_dod_path"] == made.session.active_dod_path
    assert [message["role"] for message in kept["messages"]][:2] == ["user", "assistant"]
    assert kept["active_turn_phase"] == "tools"


async def test_the_router_says_why_in_the_session_and_in_the_timeline(tmp_path: Path) -> None:
    made = agent(tmp_path, says("Hi."))
    await made.run("Say hi.")
    after = agent(tmp_path)
    after.resume_session(made.session.session_id)
    session, entry = after.session, after.session.workflow_timeline[0]
    assert (session.workflow_reason_code, session.workflow_reason_summary) == (entry.reason_code, entry.summary)
    assert (session.workflow_ambiguity_score, session.workflow_complexity_score) != (None, None)
    assert len(script(made).invocations) == 1
