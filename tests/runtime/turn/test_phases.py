"""The phases of a turn: which may follow which, and how a step is told."""

import itertools

import pytest

from holdfast.runtime.turn.phases import (
    ASSISTANT,
    COMPLETION,
    CRITIQUE,
    FINALIZE,
    KINDS,
    PREPARE,
    RECOVERY,
    REPAIR,
    RETRY,
    TERMINAL,
    TOOLS,
    Transition,
    TurnPhases,
    WrongTransition,
    check_transition,
)

MIDDLE = (REPAIR, TOOLS, CRITIQUE, COMPLETION)
STEPS = {
    (PREPARE, ASSISTANT),
    *((ASSISTANT, phase) for phase in MIDDLE),
    *((phase, ASSISTANT) for phase in MIDDLE),
    *((phase, FINALIZE) for phase in (PREPARE, ASSISTANT, *MIDDLE)),
    (CRITIQUE, COMPLETION),
    (REPAIR, COMPLETION),
}


def test_a_turn_goes_from_preparation_to_its_end() -> None:
    seen: list[Transition] = []
    phases = TurnPhases(seen.append)
    phases.move(ASSISTANT, "the model is asked", reason_code="prepared")
    phases.move(TOOLS, "2 calls", reason_code="tool_calls")
    phases.move(ASSISTANT, "results", reason_code="results")
    phases.move(COMPLETION, "an answer", reason_code="answer")
    phases.move(FINALIZE, "done", reason_code="verified")
    assert [step.target for step in seen] == [ASSISTANT, TOOLS, ASSISTANT, COMPLETION, FINALIZE]
    assert phases.phase == FINALIZE


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_is_told_in_one_form(kind: str) -> None:
    assert Transition("completion", "assistant", kind, "c", "once more").summary == (
        f"completion -> assistant [{kind}] once more"
    )


def test_every_step_that_does_not_exist_is_refused() -> None:
    for source, target in itertools.product((PREPARE, ASSISTANT, *MIDDLE, FINALIZE, "other"), repeat=2):
        step = Transition(source, target, RECOVERY, "c", "t")
        if (source, target) in STEPS:
            check_transition(step)
        else:
            with pytest.raises(WrongTransition):
                check_transition(step)


def test_a_refused_step_leaves_the_turn_where_it_is() -> None:
    seen: list[Transition] = []
    phases = TurnPhases(seen.append)
    with pytest.raises(WrongTransition):
        phases.move(TOOLS, "t", reason_code="c")
    assert (phases.phase, seen) == (PREPARE, [])


@pytest.mark.parametrize(
    ("source", "target", "kind"),
    [
        (COMPLETION, FINALIZE, RETRY),
        (COMPLETION, ASSISTANT, TERMINAL),
        (ASSISTANT, FINALIZE, TERMINAL),
        (COMPLETION, ASSISTANT, "sideways"),
    ],
)
def test_a_step_of_the_wrong_kind_is_refused(source: str, target: str, kind: str) -> None:
    with pytest.raises(WrongTransition):
        check_transition(Transition(source, target, kind, "c", "t"))
