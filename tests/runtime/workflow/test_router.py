"""The router: which mode a task gets, and what is said of why."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.errors import InvalidInput
from holdfast.runtime.workflow.router import MODES, check_workflow_mode, route

UNCLEAR = "Maybe improve something here. Make things better somehow? I think it should be nicer, or whatever."
LARGE = (
    "Refactor the whole pipeline across src/a.py, src/b.py and src/c.py. First move the parser. Then migrate it. "
    "Also update the docs. Finally redesign the entire framework."
)
CLEAR = "Create hello.txt in the root. It says hello."


@pytest.mark.parametrize(
    "task",
    [
        "Create hello.txt with the word hello.",
        "make it better somehow",
        "refactor the whole architecture across everything, then migrate it and also rewrite the framework",
        "What is my name?",
        "",
    ],
)
def test_a_request_of_one_sentence_is_executed(task: str) -> None:
    found = route(task)
    assert (found.mode, found.kind, found.decision_kind) == ("execute", "route", "initial_route")


@pytest.mark.parametrize(
    ("task", "mode", "code", "following"),
    [
        (UNCLEAR, "clarify", "unclear", "execute"),
        (LARGE, "plan", "large", "execute"),
        (CLEAR, "execute", "clear", "verify"),
        ("Check whether a.txt is there. Say what is in it.", "verify", "asks_to_look", None),
    ],
)
def test_longer_requests_go_by_their_scores(task: str, mode: str, code: str, following: str | None) -> None:
    found = route(task)
    assert (found.mode, found.reason_code, found.scheduled_next_mode) == (mode, code, following)
    assert found.runner_up_mode != mode
    assert found.scores.signals


@pytest.mark.parametrize("mode", MODES)
def test_a_mode_that_is_asked_for_is_taken(mode: str) -> None:
    found = route(LARGE, requested=mode)
    assert (found.mode, found.decision_kind) == (mode, "requested")


def test_unfinished_work_goes_on() -> None:
    found = route(LARGE, resumes=True)
    assert (found.mode, found.kind, found.decision_kind) == ("execute", "reentry", "artifact_reuse")


def test_a_clarification_ends_when_it_is_clear_or_was_asked_often_enough() -> None:
    assert route("Use src/a.py. Write 3 lines.", clarifying_turns=1).kind == "clarify_exit"
    assert route(UNCLEAR, clarifying_turns=1).kind == "clarify_continue"
    assert route(UNCLEAR, clarifying_turns=2).mode == "execute"


@given(st.text(max_size=300))
def test_scores_are_the_same_for_the_same_words_and_within_bounds(task: str) -> None:
    one, other = route(task), route(task)
    assert one == other
    assert 0 <= one.scores.ambiguity <= 1
    assert 0 <= one.scores.complexity <= 1


def test_an_unknown_mode_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match="no workflow mode 'dream'"):
        check_workflow_mode("dream")
