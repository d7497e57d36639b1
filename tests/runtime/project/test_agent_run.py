"""`Agent.run`: the loop over model and tools, what it keeps, and how often it asks the model."""

import json
from pathlib import Path

import pytest
from tests.runtime.project.desk import USED, agent, calls, says, script

from holdfast.core.errors import Conflict
from holdfast.models import CompletionResponse, Message, Role, ScriptedBackend, ToolCall
from holdfast.runtime import Agent, AgentConfig, ReasoningConfig
from holdfast.runtime.turn.loop import ToolBegun, ToolEnded, TurnEnded, TurnEvent

TASK = "  Create hello.txt with the word hello – exactly so.\n"


def test_an_agent_before_its_first_turn(tmp_path: Path) -> None:
    made = Agent(backend=ScriptedBackend(), config=AgentConfig(), project_root=tmp_path)
    assert (made.active_permission_mode, made.workflow_mode) == ("workspace-write", "execute")
    assert (made.prompt_format, made.prompt_sections, made.messages) == (None, [], [])
    assert (made.current_task, made._current_task, made.last_turn_summary) == (None, None, None)
    assert made.drain_steering_messages() == []
    assert not (tmp_path / ".holdfast").exists()


def test_the_settings_and_what_they_are_by_themselves() -> None:
    config = AgentConfig()
    assert (config.auto_context, config.stream, config.max_iterations) == (True, True, 15)
    assert (config.temperature, config.max_tokens, config.permission_mode) == (0.3, 2048, "workspace-write")
    assert config.reasoning == ReasoningConfig(completion_check=True, max_continuation_prompts=5)
    assert AgentConfig().reasoning is not config.reasoning


async def test_a_turn_runs_the_tools_and_ends_with_the_last_answer_and_its_checks(tmp_path: Path) -> None:
    made = agent(tmp_path, calls("write", "I'll write it.", file_path="hello.txt", content="hello\n"), says("Created."))
    answer = await made.run(TASK)
    assert answer.startswith("Created.\n\nVerification:")
    assert "PASS `test -f hello.txt`" in answer
    assert (tmp_path / "hello.txt").read_text() == "hello\n"
    assert len(script(made).invocations) == 2


async def test_the_users_text_is_kept_word_for_word(tmp_path: Path) -> None:
    made = agent(tmp_path, says("Hi."))
    await made.run(TASK)
    assert made.messages[0] == Message(Role.USER, TASK)
    assert made.current_task == made._current_task == TASK
    stored = json.loads((made.session.storage_path or Path()).read_text())
    assert [message["content"] for message in stored["messages"]] == [TASK, "Hi."]


async def test_the_model_is_told_what_the_tools_gave(tmp_path: Path) -> None:
    made = agent(tmp_path, calls("write", file_path="a.txt", content="x"), says("Done."))
    await made.run("Write a.txt.")
    asked = script(made).invocations[1].messages
    assert [message.role for message in asked] == [Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.TOOL]
    assert asked[-1] == Message(Role.TOOL, "wrote 1 bytes to a.txt", tool_call_id="write-1")
    assert [message.role for message in made.messages] == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT]


async def test_every_file_tool_and_an_absolute_path_inside(tmp_path: Path) -> None:
    path = str(tmp_path / "sub" / "a.txt")
    made = agent(
        tmp_path,
        calls("write", file_path=path, content="one\ntwo\nthree\n"),
        calls("edit", file_path=path, old_string="two", new_string="zwei"),
        calls("read", file_path=path, offset=2, limit=1),
        says("Done."),
    )
    await made.run("Work on the file.")
    assert (tmp_path / "sub" / "a.txt").read_text() == "one\nzwei\nthree\n"
    assert made.messages[-2].text.startswith("zwei\n")


async def test_a_turn_without_a_change_asks_the_model_once(tmp_path: Path) -> None:
    made = agent(tmp_path, says("Four."))
    answer = await made.run("Write down what two and two is. Then create nothing. Be short.")
    assert answer.startswith("Four.\n\nVerification:")
    assert len(script(made).invocations) == 1


async def test_a_short_answer_after_a_change_that_passed_is_finished(tmp_path: Path) -> None:
    made = agent(tmp_path, calls("write", file_path="a.py", content="x = 1\n"), says("k"))
    assert (await made.run("Create a.py.")).startswith("k\n\n")
    assert made.session.last_completion_decision_code == "verified"


async def test_tools_run_in_the_order_of_their_calls(tmp_path: Path) -> None:
    both = CompletionResponse(
        "",
        [
            ToolCall("a", "write", {"file_path": "a.txt", "content": "1"}),
            ToolCall("b", "edit", {"file_path": "a.txt", "old_string": "1", "new_string": "2"}),
        ],
    )
    made = agent(tmp_path, both, says("Done."))
    await made.run("Do both.")
    assert (tmp_path / "a.txt").read_text() == "2"
    assert made.last_turn_summary is not None
    assert made.last_turn_summary.tool_calls == 2


async def test_usage_adds_up_over_the_session(tmp_path: Path) -> None:
    cached = {**USED, "cache_read_input_tokens": 5}
    made = agent(
        tmp_path, calls("write", file_path="a", content="x"), says("Done."), CompletionResponse("Hi.", usage=cached)
    )
    await made.run("Write a.")
    await made.run("Hello.")
    assert made.last_turn_summary is not None
    usage, total = made.last_turn_summary.usage, made.last_turn_summary.cumulative_usage
    assert (usage["input_tokens"], usage["output_tokens"], usage["cache_read_input_tokens"]) == (10, 2, 5)
    assert (total["input_tokens"], total["output_tokens"], total["cache_read_input_tokens"]) == (30, 6, 5)
    assert (total["turns"], total["tool_calls"], total["iterations"]) == (2, 1, 3)
    assert made.session.usage_totals == total


async def test_a_model_that_only_calls_tools_is_asked_as_often_as_it_may_be(tmp_path: Path) -> None:
    made = agent(tmp_path, *[calls("list_files", "Looking.")] * 9, max_iterations=3)
    answer = await made.run("Look around.")
    assert answer.startswith("Looking.\n\nVerification:")
    assert len(script(made).invocations) == 3
    assert made.session.last_completion_decision_code == "iteration_limit"
    assert made.last_turn_summary is not None
    assert made.last_turn_summary.definition_of_done.status == "in_progress"


async def test_what_happens_is_told_as_it_happens(tmp_path: Path) -> None:
    heard: list[TurnEvent] = []
    streams: list[list[str | CompletionResponse]] = [
        ["Let me ", "write.", calls("write", "Let me write.", file_path="a", content="x")],
        ["Do", "ne."],
    ]
    made = Agent(ScriptedBackend(streams=streams), AgentConfig(auto_context=False), tmp_path)
    assert (await made.run("Write a.", tell=heard.append)).startswith("Done.")
    assert [event if isinstance(event, str) else type(event) for event in heard] == [
        *("Let me ", "write.", "\n\n", ToolBegun, ToolEnded, "Do", "ne.", TurnEnded)
    ]
    assert all(invocation.streamed for invocation in made.backend.invocations)  # type: ignore[attr-defined]


async def test_while_a_turn_runs_nothing_else_is_begun(tmp_path: Path) -> None:
    made = agent(tmp_path, says("Hi."))
    session = made.session

    def tell(event: TurnEvent) -> None:
        for other in (lambda: made.run("Again.").send(None), made.clear_history, lambda: made.resume_session("x")):
            with pytest.raises(Conflict):
                other()

    assert (await made.run("Hello.", tell=tell)).startswith("Hi.")
    assert made.session is session


async def test_steering_is_said_before_the_model_is_asked_the_next_time(tmp_path: Path) -> None:
    made = agent(tmp_path, calls("list_files"), says("Done."))

    def tell(event: TurnEvent) -> None:
        if isinstance(event, ToolEnded):
            made.queue_steering_message("Only the text files.")

    await made.run("List the files.", tell=tell)
    assert script(made).invocations[1].messages[-1] == Message(Role.USER, "Only the text files.")
    assert made.drain_steering_messages() == []


def test_steering_that_nobody_heard_can_be_taken_back(tmp_path: Path) -> None:
    made = agent(tmp_path)
    made.queue_steering_message("one")
    made.queue_steering_message("two")
    assert made.drain_steering_messages() == ["one", "two"]
    assert made.drain_steering_messages() == []


async def test_the_model_is_asked_with_the_settings(tmp_path: Path) -> None:
    made = agent(tmp_path, says("Hi."), temperature=0.7, max_tokens=99)
    await made.run("Hello.")
    asked = script(made).invocations[0]
    assert (asked.temperature, asked.max_tokens) == (0.7, 99)
    assert {"read", "write", "edit", "bash", "save_memory", "recall_memory", "read_skill"} <= {
        tool.name for tool in asked.tools
    }


async def test_the_project_is_told_only_if_that_is_wanted(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Use tabs.")
    told = agent(tmp_path, says("Hi."), auto_context=True)
    await told.run("Hello.")
    assert "Use tabs." in script(told).invocations[0].messages[0].text
    assert "project" in told.prompt_sections
    silent = agent(tmp_path, says("Hi."))
    await silent.run("Hello.")
    assert "Use tabs." not in script(silent).invocations[0].messages[0].text


async def test_a_prompt_that_is_told_again_is_kept_once(tmp_path: Path) -> None:
    made = agent(tmp_path, says("Hi."), says("Hi."), says("Hi."))
    await made.run("Hello.")
    await made.run("Hello.")
    assert len(made.session.prompt_history) == 1
    await made.run("Goodbye.")
    assert [kept.current_task for kept in made.session.prompt_history] == ["Hello.", "Goodbye."]
    assert made.session.prompt_history[0].prompt_sections == made.prompt_sections
