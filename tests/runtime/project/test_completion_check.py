"""The completion check in a turn: what is sent back, how often at most, and what is recorded of it."""

from pathlib import Path

import pytest
from tests.runtime.project.desk import agent, calls, says, script

from holdfast.models import Message, Role
from holdfast.runtime.workflow.completion import announces_work

GOOD = {"file_path": "a.py", "content": "x = 1\n"}
BAD = {"file_path": "a.py", "content": "x = = 1\n"}


@pytest.mark.parametrize(
    "answer",
    [
        "I'll create the file now.",
        "Let me check the tests first.",
        "That is clear. Now I will run the tests:",
        "Okay, next I'm going to edit config.toml.",
        "I understand.\n\nLet's look at the parser",
        "I’ll go ahead and write it.",
    ],
)
def test_an_answer_that_announces_work_is_unfinished(answer: str) -> None:
    assert announces_work(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "Done.",
        "",
        "I created the file.",
        "I'll remember that.",
        "Let me know if I should write it.",
        "I will check it if you like.",
        "Shall I create it? I'll write it when you say so.",
        "Your name is Ada.",
        "You said: I'll write the file. That was yesterday.",
        "Next time I'll look first.",
        "If you agree, I'll update the docs.",
    ],
)
def test_an_answer_that_does_not_is_finished(answer: str) -> None:
    assert not announces_work(answer)


async def test_work_that_was_announced_and_not_done_is_asked_for(tmp_path: Path) -> None:
    made = agent(tmp_path, says("I'll create a.py now."), calls("write", **GOOD), says("Created."))
    assert (await made.run("Create a.py.")).startswith("Created.")
    asked = script(made).invocations[1].messages[-1]
    assert asked.role == Role.USER
    assert "did not do it" in asked.text
    kinds = [(entry.kind, entry.reason_code) for entry in made.session.workflow_timeline]
    assert kinds == [
        ("route", "one_sentence"),
        ("verify_skip", "nothing_changed"),
        ("completion_check", "work_announced"),
        ("completion_continue", "work_announced"),
        ("completion_check", "verified"),
        ("completion_finalize", "verified"),
    ]


async def test_a_change_that_fails_its_check_is_to_be_fixed(tmp_path: Path) -> None:
    made = agent(tmp_path, calls("write", **BAD), says("Created."), calls("write", **GOOD), says("Fixed."))
    answer = await made.run("Create a.py.")
    assert answer.startswith("Fixed.\n\nVerification:")
    assert "FAIL" not in answer
    assert "SyntaxError" in script(made).invocations[2].messages[-1].text
    assert made.last_turn_summary is not None
    done = made.last_turn_summary.definition_of_done
    assert (done.status, done.retry_count, done.retry_budget) == ("done", 1, 3)


async def test_fixes_are_bounded(tmp_path: Path) -> None:
    made = agent(tmp_path, *[calls("write", **BAD), says("Created.")] * 4)
    answer = await made.run("Create a.py.")
    assert len(script(made).invocations) == 8
    assert "FAIL `python -m py_compile a.py`: a.py:1: SyntaxError" in answer
    assert made.session.last_completion_decision_code == "fixes_used_up"
    assert made.session.last_completion_decision_summary == "a change still fails its check"
    assert made.last_turn_summary is not None
    assert made.last_turn_summary.definition_of_done.status == "failed"


@pytest.mark.parametrize("most", [0, 1, 5])
async def test_continuation_prompts_are_bounded(tmp_path: Path, most: int) -> None:
    answers = [says(f"I'll write part {number}.") for number in range(most + 1)]
    made = agent(tmp_path, *answers, reasoning={"max_continuation_prompts": most})
    assert (await made.run("Write it.")).startswith(f"I'll write part {most}.")
    assert len(script(made).invocations) == most + 1
    assert made.session.last_completion_decision_code == "continuations_used_up"


async def test_a_model_that_repeats_itself_is_not_asked_again(tmp_path: Path) -> None:
    made = agent(tmp_path, *[says("I'll write it.")] * 2)
    await made.run("Write it.")
    assert made.session.last_completion_decision_code == "no_progress"


async def test_after_a_change_that_passed_even_an_empty_answer_will_do(tmp_path: Path) -> None:
    made = agent(tmp_path, calls("write", **GOOD), says(""))
    assert (await made.run("Create a.py.")).startswith("Verification:")


async def test_an_empty_answer_is_sent_back(tmp_path: Path) -> None:
    made = agent(tmp_path, says(" "), says("Four."))
    assert (await made.run("Two and two?")).startswith("Four.")


@pytest.mark.parametrize("first", [says("I'll create it now."), says(""), says("Done.")])
async def test_without_the_check_the_first_answer_ends_the_turn(tmp_path: Path, first: object) -> None:
    made = agent(tmp_path, calls("write", **BAD), first, reasoning={"completion_check": False})  # type: ignore[arg-type]
    answer = await made.run("Create a.py.")
    assert len(script(made).invocations) == 2
    assert "FAIL" in answer
    assert made.session.last_completion_decision_code == "completion_check_off"
    assert made.last_turn_summary is not None
    assert made.last_turn_summary.definition_of_done.status == "failed"


async def test_the_trace_tells_why_the_turn_ended(tmp_path: Path) -> None:
    made = agent(tmp_path, calls("write", **GOOD), says("Created."))
    await made.run("Create a.py.")
    last = made.session.completion_trace[-1]
    assert (last.stage, last.outcome, last.decision_code) == ("verification", "finish", "verified")
    assert last.decision_summary == "what was changed passed its checks"
    assert [(each.category, each.source, each.status) for each in last.evidence_provenance] == [
        ("verification", "test -f a.py", "supports"),
        ("verification", "python -m py_compile a.py", "supports"),
    ]


async def test_a_write_that_was_refused_is_not_asked_for_again(tmp_path: Path) -> None:
    made = agent(tmp_path, calls("write", **GOOD), says("I may not write here."), permission_mode="read-only")
    assert (await made.run("Create a.py.")).startswith("I may not write here.")
    assert len(script(made).invocations) == 2


async def test_what_the_runtime_says_is_no_statement_of_the_user(tmp_path: Path) -> None:
    made = agent(tmp_path, calls("write", **BAD), says("Created."), calls("write", **GOOD), says("Fixed."))
    await made.run("My name is Ada. Create a.py.")
    made.session.append(Message(Role.USER, "x" * 2_000))
    made.session.auto_compaction_input_tokens_threshold = 100
    made.session.compaction_keep_last_messages = 1
    compaction = made.session.maybe_compact()
    assert compaction is not None
    assert compaction.facts == ["My name is Ada."]
