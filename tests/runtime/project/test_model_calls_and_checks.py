"""How often a turn asks the model, what its tools are called with, and what is checked at its end."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.project.desk import USED, agent, calls, says, script

from holdfast.models import CompletionResponse, ToolCall
from holdfast.runtime import Agent

TASK = "\n Write it –  exactly so. \n"
BAD = {"file_path": "a.py", "content": "x = = 1\n"}
GOOD = {"file_path": "a.py", "content": "x = 1\n"}
LARGE = (
    "Refactor the whole pipeline across src/a.py, src/b.py and src/c.py. First move the parser. Then migrate it. "
    "Also update the docs. Finally redesign the entire framework."
)
UNCLEAR = "Maybe improve something here. Make things better somehow? I think it should be nicer, or whatever."


def definition(made: Agent) -> dict[str, Any]:
    """The definition of done as it is kept."""
    found: dict[str, Any] = json.loads(Path(made.session.active_dod_path or "").read_text())
    return found


@pytest.mark.parametrize("rounds", [0, 1, 2, 5])
async def test_a_turn_asks_once_per_round_of_tools_and_once_for_the_answer(tmp_path: Path, rounds: int) -> None:
    tools = [calls("write", file_path=f"{number}.txt", content="x") for number in range(rounds)]
    made = agent(tmp_path, *tools, says("Done."))
    await made.run("Write them.")
    assert len(script(made).invocations) == rounds + 1
    assert made.last_turn_summary is not None
    assert made.last_turn_summary.cumulative_usage["iterations"] == rounds + 1
    assert made.last_turn_summary.cumulative_usage["tool_calls"] == rounds


async def test_several_calls_in_one_answer_are_one_round(tmp_path: Path) -> None:
    three = [ToolCall(str(number), "write", {"file_path": f"{number}.txt", "content": "x"}) for number in range(3)]
    made = agent(tmp_path, CompletionResponse("", three, dict(USED)), says("Done."))
    await made.run("Write them.")
    assert len(script(made).invocations) == 2
    assert sorted(path.name for path in tmp_path.glob("*.txt")) == ["0.txt", "1.txt", "2.txt"]


@pytest.mark.parametrize("task", [LARGE, UNCLEAR, "Create a.txt, b.txt and c.txt.", "Who are you?"])
async def test_what_is_asked_for_costs_no_call_of_its_own(tmp_path: Path, task: str) -> None:
    made = agent(tmp_path, says("That is so."))
    assert (await made.run(task)).startswith("That is so.")
    assert len(script(made).invocations) == 1


async def test_who_only_looked_is_not_sent_back_to_write(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello\n")
    made = agent(tmp_path, calls("read", file_path="a.txt"), calls("list_files"), says("It says hello."))
    assert (await made.run("Create a summary of a.txt, write it well.")).startswith("It says hello.")
    assert len(script(made).invocations) == 3


async def test_every_turn_has_a_definition_of_its_task_word_for_word(tmp_path: Path) -> None:
    made = agent(tmp_path, says("One."), says("Two."))
    paths = []
    for task in (TASK, "Another."):
        await made.run(task)
        assert definition(made)["task_statement"] == task
        assert made.last_turn_summary is not None
        assert made.last_turn_summary.definition_of_done.task_statement == task
        paths.append(made.session.active_dod_path)
        kept = json.loads((made.session.storage_path or Path()).read_text())
        assert kept["active_dod_path"] == made.session.active_dod_path
    assert len(set(paths)) == 2


async def test_the_definition_is_there_before_the_model_is_asked(tmp_path: Path) -> None:
    made = agent(tmp_path)
    with pytest.raises(AssertionError):
        await made.run(TASK)
    assert definition(made)["task_statement"] == TASK
    assert definition(made)["status"] not in {"done", "failed"}


@pytest.mark.parametrize(
    "words", ["Created.", "Verification: none of mine.", "Two\n\nparagraphs.", "    indented()\n", "– ünï ✓"]
)
async def test_the_result_starts_with_the_models_words(tmp_path: Path, words: str) -> None:
    made = agent(tmp_path, calls("write", "First words.", file_path="a.txt", content="x"), says(words))
    answer = await made.run("Write it.")
    assert answer.startswith(f"{words}\n\nVerification:")
    assert "First words." not in answer
    assert made.messages[-1].content == words


async def test_a_file_that_is_gone_at_the_end_fails_its_check(tmp_path: Path) -> None:
    made = agent(
        tmp_path,
        calls("write", file_path="a.txt", content="x"),
        calls("bash", command="rm a.txt"),
        says("Created."),
        permission_mode="danger-full-access",
        reasoning={"completion_check": False},
    )
    assert "FAIL `test -f a.txt`" in await made.run("Write it.")
    (found,) = definition(made)["evidence"]
    assert (found["command"], found["passed"], found["exit_code"]) == ("test -f a.txt", False, 1)
    assert definition(made)["status"] == "failed"


async def test_a_command_runs_where_the_mode_lets_it(tmp_path: Path) -> None:
    made = agent(
        tmp_path, calls("bash", command="echo hello"), says("It said hello."), permission_mode="danger-full-access"
    )
    await made.run("Say it.")
    assert "hello" in made.messages[2].text


async def test_the_tools_are_called_by_these_arguments(tmp_path: Path) -> None:
    made = agent(tmp_path, says("Hi."))
    await made.run("Hello.")
    tools = {tool.name: tool.parameters for tool in script(made).invocations[0].tools}
    wanted = {
        "write": ({"file_path", "content"}, {"file_path", "content"}),
        "read": ({"file_path", "offset", "limit"}, {"file_path"}),
        "edit": ({"file_path", "old_string", "new_string"}, {"file_path", "old_string", "new_string"}),
        "bash": ({"command"}, {"command"}),
    }
    for name, (arguments, required) in wanted.items():
        assert arguments <= tools[name]["properties"].keys(), name
        assert set(tools[name]["required"]) == required, name


async def test_why_a_turn_ended_is_kept(tmp_path: Path) -> None:
    made = agent(tmp_path, calls("write", **GOOD), says("Created."))
    await made.run("Create a.py.")
    after = agent(tmp_path)
    after.resume_session(made.session.session_id)
    session = after.session
    assert session.last_completion_decision_code == made.session.last_completion_decision_code == "verified"
    assert session.last_completion_decision_summary
    assert session.completion_trace == made.session.completion_trace != []
    assert "completion_trace" not in json.loads((session.storage_path or Path()).read_text())


async def test_usage_has_both_cache_fields(tmp_path: Path) -> None:
    used = {**USED, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 7}
    made = agent(tmp_path, *[CompletionResponse("Hi.", usage=dict(used)) for _ in range(2)])
    await made.run("Hello.")
    await made.run("Hello again.")
    assert made.last_turn_summary is not None
    usage, total = made.last_turn_summary.usage, made.last_turn_summary.cumulative_usage
    assert type(usage) is type(total) is dict
    assert (usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"]) == (5, 7)
    assert (total["cache_read_input_tokens"], total["cache_creation_input_tokens"]) == (10, 14)


async def test_usage_goes_on_adding_up_after_a_restart(tmp_path: Path) -> None:
    before = agent(tmp_path, calls("write", **GOOD), says("Created."))
    await before.run("Create a.py.")
    after = agent(tmp_path, says("Hi."))
    after.resume_session(before.session.session_id)
    await after.run("Hello.")
    assert after.last_turn_summary is not None
    total = after.last_turn_summary.cumulative_usage
    assert (total["input_tokens"], total["output_tokens"]) == (30, 6)
    assert (total["turns"], total["tool_calls"], total["iterations"]) == (2, 1, 3)


async def test_an_answer_without_usage_counts_nothing(tmp_path: Path) -> None:
    made = agent(tmp_path, CompletionResponse("Hi."))
    await made.run("Hello.")
    assert made.last_turn_summary is not None
    assert (made.last_turn_summary.usage["input_tokens"], made.last_turn_summary.usage["output_tokens"]) == (0, 0)


async def test_what_failed_its_check_contradicts_the_ledger(tmp_path: Path) -> None:
    made = agent(tmp_path, calls("write", **BAD), says("Created."), reasoning={"completion_check": False})
    await made.run("Create a.py.")
    assert [anchor.status for anchor in made.session.workflow_ledger.acceptance_anchors] == ["contradicted"]


async def test_work_that_is_taken_up_again_is_reopened_in_the_ledger(tmp_path: Path) -> None:
    first = agent(tmp_path, *[calls("list_files")] * 2, max_iterations=2)
    await first.run("Do all of it.")
    seen: list[str] = []
    other = agent(tmp_path, says("All done."))
    await other.run(
        "Do all of it.",
        tell=lambda event: seen.extend(each.status for each in other.session.workflow_ledger.acceptance_anchors),
    )
    assert seen[0] == "reopened"


async def test_a_clarification_that_is_still_unclear_goes_on(tmp_path: Path) -> None:
    made = agent(tmp_path, says("What exactly?"), says("Which of them?"))
    await made.run(UNCLEAR)
    await made.run(f"Well. {UNCLEAR}")
    routes = [(entry.kind, entry.mode) for entry in made.session.workflow_timeline if entry.route_score is not None]
    assert routes == [("route", "clarify"), ("clarify_continue", "clarify")]


def test_a_definition_of_done_is_none_before_a_turn(tmp_path: Path) -> None:
    made = agent(tmp_path)
    assert (made.session.active_dod_path, made.last_turn_summary) == (None, None)
