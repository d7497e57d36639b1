"""Who has a conversation: a second agent takes it over, another process keeps it, and what a resume gives back."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.conversation.places import Place
from tests.runtime.conversation.writers import OtherWriter
from tests.runtime.project.desk import agent, calls, says, script

from holdfast.core.errors import ConversationHeld, StaleWriter
from holdfast.models import Message, Role, ScriptedBackend
from holdfast.runtime import Agent, AgentConfig, RuntimeHandle

TASK = "  Create notes.txt – with one line.\n"


async def finished(root: Path, **settings: Any) -> Agent:
    made = agent(root, calls("write", file_path="notes.txt", content="x\n"), says("Created."), **settings)
    await made.run(TASK)
    return made


@pytest.mark.parametrize("kind", [Agent, RuntimeHandle])
async def test_a_second_agent_of_the_process_takes_over(tmp_path: Path, kind: type[Agent]) -> None:
    older = await finished(tmp_path)
    newer = agent(tmp_path, says("Hi."), kind=kind)
    assert newer.resume_session(older.session.session_id) is True
    assert newer.session.session_id == older.session.session_id
    with pytest.raises(StaleWriter):
        older.session.append(Message(Role.USER, "lost"))
    with pytest.raises(StaleWriter):
        await older.run("Lost too.")
    await newer.run("Hello.")
    assert [message.text for message in newer.messages if message.role == Role.USER] == [TASK, "Hello."]


async def test_a_conversation_that_another_process_has_is_refused_by_the_holders_name(tmp_path: Path) -> None:
    before = await finished(tmp_path)
    session_id = before.session.session_id
    before.session.release()
    with OtherWriter(Place(tmp_path), session_id, "theirs") as other:
        other.said()
        late = agent(tmp_path)
        mine = late.session
        with pytest.raises(ConversationHeld, match=str(other.process.pid)):
            late.resume_session(session_id)
        assert late.session is mine
        assert (late.messages, late.current_task, late.last_turn_summary) == ([], None, None)
        other.kill()
        assert late.resume_session(session_id) is True
    assert late.messages[-1] == Message(Role.USER, "theirs")


def test_everything_but_a_run_works_without_a_loop(tmp_path: Path) -> None:
    before = asyncio.run(finished(tmp_path))
    after = agent(tmp_path)
    assert after.resume_session(before.session.session_id) is True
    after.set_workflow_mode("plan")
    after.queue_steering_message("wait")
    assert after.drain_steering_messages() == ["wait"]
    after.clear_history()
    assert after.messages == []


@pytest.mark.parametrize("kind", [Agent, RuntimeHandle])
async def test_a_resumed_task_is_the_same_to_the_letter(tmp_path: Path, kind: type[Agent]) -> None:
    before = await finished(tmp_path)
    after = agent(tmp_path, kind=kind)
    after.resume_session(before.session.session_id)
    assert after.current_task == after._current_task == TASK
    assert after.last_turn_summary is not None
    assert after.last_turn_summary.definition_of_done.task_statement == TASK
    assert type(after.last_turn_summary.usage) is dict
    assert type(after.last_turn_summary.cumulative_usage) is dict
    assert type(after.prompt_sections) is list
    assert type(after.messages) is list
    assert (type(after.workflow_mode), type(after.active_permission_mode)) == (str, str)


@pytest.mark.parametrize("mode", ["read-only", "workspace-write", "danger-full-access", "prompt", "allow"])
async def test_the_mode_of_the_settings_is_the_active_one_and_is_resumed(tmp_path: Path, mode: str) -> None:
    before = agent(tmp_path, says("Hi."), permission_mode=mode)
    assert before.active_permission_mode == mode
    await before.run("Hello.")
    after = agent(tmp_path)
    after.resume_session(before.session.session_id)
    assert after.active_permission_mode == mode


async def test_a_resumed_mode_is_the_one_that_tools_run_under(tmp_path: Path) -> None:
    before = agent(tmp_path, says("Hi."), permission_mode="read-only")
    await before.run("Hello.")
    after = agent(tmp_path, calls("write", file_path="a.txt", content="x"), says("No."))
    after.resume_session(before.session.session_id)
    await after.run("Write it.")
    assert not (tmp_path / "a.txt").exists()


async def test_an_older_conversation_is_resumed_and_not_the_current_one(tmp_path: Path) -> None:
    made = agent(tmp_path, says("One."), says("Two."))
    await made.run("First.")
    first = made.session.session_id
    made.clear_history()
    await made.run("Second.")
    assert made.resume_session(first) is True
    assert [message.text for message in made.messages] == ["First.", "One."]
    assert made.current_task == "First."


async def test_a_resume_makes_the_handle_the_owner_on_disk_at_once(tmp_path: Path) -> None:
    before = await finished(tmp_path)
    path = before.session.storage_path
    assert path is not None
    assert json.loads(path.read_text())["runtime_owner_path"] == "public-agent"
    RuntimeHandle(backend=ScriptedBackend(), config=AgentConfig(), project_root=tmp_path).resume_session(
        before.session.session_id
    )
    kept = json.loads(path.read_text())
    assert (kept["runtime_owner_type"], kept["runtime_owner_path"]) == ("RuntimeHandle", "runtime-handle")
    assert kept["messages"][0]["content"] == TASK


async def test_a_cleared_agent_begins_from_nothing(tmp_path: Path) -> None:
    made = agent(tmp_path, says("One."), says("Two."))
    await made.run("First.")
    made.clear_history()
    await made.run("Second.")
    asked = [message.text for message in script(made).invocations[1].messages if message.role != Role.SYSTEM]
    assert asked == ["Second."]
    assert made.session.usage_totals["turns"] == 1
    assert made.session.workflow_timeline[0].kind == "route"


async def test_the_session_and_the_agent_say_the_same(tmp_path: Path) -> None:
    made = agent(tmp_path, says("Hi."))
    await made.run("Hello.")
    assert made.messages == made.session.messages
    assert (made.current_task, made.workflow_mode) == (made.session.current_task, made.session.workflow_mode)
    assert made.active_permission_mode == made.session.permission_mode
    assert (made.prompt_format, made.prompt_sections) == (made.session.prompt_format, made.session.prompt_sections)
    made._current_task = "Mine."
    assert made.current_task == made.session.current_task == "Mine."
