"""Resuming and clearing: what a new process finds, and who owns the conversation then."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.project.desk import agent, calls, says, script

from holdfast.models import Role
from holdfast.runtime import Agent, RuntimeHandle

TASK = "Create notes.txt so that it survives."


async def finished(root: Path) -> Agent:
    made = agent(root, calls("write", file_path="notes.txt", content="x\n"), says("Created notes.txt."))
    await made.run(TASK)
    return made


def stored(root: Path, session_id: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((root / ".holdfast" / "sessions" / f"{session_id}.json").read_text())
    return document


@pytest.mark.parametrize("kind", [Agent, RuntimeHandle])
async def test_a_restarted_agent_has_everything_again(tmp_path: Path, kind: type[Agent]) -> None:
    before = await finished(tmp_path)
    before.set_workflow_mode("plan")
    before.set_permission_mode("read-only")
    before.prompt_sections = ["role", "mine"]
    after = agent(tmp_path, kind=kind)
    assert after.resume_session(before.session.session_id) is True
    assert after.session.session_id == before.session.session_id
    assert after.messages == before.messages
    assert isinstance(after.messages, list)
    assert (after.current_task, after.active_permission_mode, after.workflow_mode) == (TASK, "read-only", "plan")
    assert (after.prompt_format, after.prompt_sections) == ("native", ["role", "mine"])
    assert after.last_turn_summary is not None
    assert after.last_turn_summary.definition_of_done.task_statement == TASK
    assert after.last_turn_summary.definition_of_done.status == "done"
    assert after.last_turn_summary.cumulative_usage["turns"] == 1


class NightWatch(Agent):
    """A host's own kind of agent."""


@pytest.mark.parametrize(
    ("kind", "path"), [(Agent, "public-agent"), (RuntimeHandle, "runtime-handle"), (NightWatch, "night-watch")]
)
async def test_the_conversation_names_its_owner(tmp_path: Path, kind: type[Agent], path: str) -> None:
    session_id = (await finished(tmp_path)).session.session_id
    after = agent(tmp_path, kind=kind)
    after.resume_session(session_id)
    assert (after.session.runtime_owner_type, after.session.runtime_owner_path) == (kind.__name__, path)
    document = stored(tmp_path, session_id)
    assert (document["runtime_owner_type"], document["runtime_owner_path"]) == (kind.__name__, path)
    new = agent(tmp_path, kind=kind)
    assert (new.session.runtime_owner_type, new.session.runtime_owner_path) == (kind.__name__, path)


@pytest.mark.parametrize("unknown", ["20200101T000000Z-00000000", "", "../../etc/passwd", "a/b"])
async def test_an_unknown_session_changes_nothing(tmp_path: Path, unknown: str) -> None:
    before = await finished(tmp_path)
    session, summary, raw = before.session, before.last_turn_summary, stored(tmp_path, before.session.session_id)
    assert before.resume_session(unknown) is False
    assert before.session is session
    assert before.last_turn_summary is summary
    assert stored(tmp_path, session.session_id) == raw


async def test_the_conversation_goes_on_after_a_restart(tmp_path: Path) -> None:
    session_id = (await finished(tmp_path)).session.session_id
    after = agent(tmp_path, says("It is notes.txt."))
    after.resume_session(session_id)
    await after.run("Which file was it?")
    asked = script(after).invocations[0].messages
    assert [message.text for message in asked if message.role == Role.USER] == [TASK, "Which file was it?"]
    assert after.session.usage_totals["turns"] == 2


async def test_a_definition_of_done_that_is_gone_leaves_no_summary(tmp_path: Path) -> None:
    before = await finished(tmp_path)
    Path(before.session.active_dod_path or "").unlink()
    after = agent(tmp_path)
    assert after.resume_session(before.session.session_id) is True
    assert after.last_turn_summary is None


async def test_a_project_that_was_moved_still_has_its_summary(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    before = await finished(tmp_path / "old")
    before.session.release()
    (tmp_path / "old").rename(tmp_path / "new")
    after = agent(tmp_path / "new")
    assert after.resume_session(before.session.session_id) is True
    assert after.last_turn_summary is not None


async def test_clearing_begins_a_new_conversation(tmp_path: Path) -> None:
    made = await finished(tmp_path)
    before = made.session.session_id
    made.set_workflow_mode("plan")
    made.queue_steering_message("wait")
    made.clear_history()
    assert made.session.session_id != before
    assert (made.current_task, made.workflow_mode, made.prompt_format) == (None, "execute", None)
    assert (made.prompt_sections, made.messages, made.last_turn_summary) == ([], [], None)
    assert made.drain_steering_messages() == []
    assert len(stored(tmp_path, before)["messages"]) == 4
    assert stored(tmp_path, made.session.session_id)["messages"] == []


def test_what_is_assigned_is_kept(tmp_path: Path) -> None:
    made = agent(tmp_path)
    made.current_task = "Mine."
    made.prompt_format = "react"
    made.prompt_sections = ["a", "b"]
    made.set_workflow_mode("clarify")
    document = stored(tmp_path, made.session.session_id)
    assert (document["current_task"], document["prompt_format"]) == ("Mine.", "react")
    assert (document["prompt_sections"], document["workflow_mode"]) == (["a", "b"], "clarify")
    made._current_task = None
    made.prompt_format = None
    document = stored(tmp_path, made.session.session_id)
    assert (document["current_task"], document["prompt_format"]) == (None, None)
