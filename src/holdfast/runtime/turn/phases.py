"""The phases of a turn, and which may follow which.

A turn is prepared, then the model is asked; what it says is repaired, run, criticized or taken for complete, until the
turn is finalized. A transition that does not exist is a defect of ours, and is refused.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from holdfast.core.errors import HoldfastError

PREPARE = "prepare"
ASSISTANT = "assistant"
REPAIR = "repair"
TOOLS = "tools"
CRITIQUE = "critique"
COMPLETION = "completion"
FINALIZE = "finalize"

NORMAL = "normal"
RETRY = "retry"
REROUTE = "reroute"
RECOVERY = "recovery"
TERMINAL = "terminal"
KINDS = (NORMAL, RETRY, REROUTE, RECOVERY, TERMINAL)

FOLLOWING: dict[str, frozenset[str]] = {
    PREPARE: frozenset({ASSISTANT, FINALIZE}),
    ASSISTANT: frozenset({REPAIR, TOOLS, CRITIQUE, COMPLETION, FINALIZE}),
    REPAIR: frozenset({ASSISTANT, COMPLETION, FINALIZE}),
    TOOLS: frozenset({ASSISTANT, FINALIZE}),
    CRITIQUE: frozenset({ASSISTANT, COMPLETION, FINALIZE}),
    COMPLETION: frozenset({ASSISTANT, FINALIZE}),
    FINALIZE: frozenset(),
}
WAYS_OUT = frozenset({PREPARE, ASSISTANT})
"""From these a turn is finalized only because something went wrong."""


class WrongTransition(HoldfastError):
    """A turn cannot go from this phase to that one in this way."""

    code: ClassVar[str] = "wrong_transition"


@dataclass(frozen=True, slots=True)
class Transition:
    """One step from phase to phase, of a kind, for a reason."""

    source: str
    target: str
    kind: str
    reason_code: str
    text: str

    @property
    def summary(self) -> str:
        """The step in a line."""
        return f"{self.source} -> {self.target} [{self.kind}] {self.text}"


class TurnPhases:
    """Where one turn is; whoever observes it hears of every step after it was found to be right."""

    def __init__(self, observe: Callable[[Transition], None] | None = None) -> None:
        self.phase = PREPARE
        self._observe = observe

    def move(self, target: str, text: str, *, reason_code: str, kind: str | None = None) -> Transition:
        """Go on to a phase; WrongTransition if it does not follow, and the turn stays where it is."""
        step = Transition(self.phase, target, kind or (TERMINAL if target == FINALIZE else NORMAL), reason_code, text)
        check_transition(step)
        self.phase = target
        if self._observe is not None:
            self._observe(step)
        return step


def check_transition(step: Transition) -> None:
    """WrongTransition if there is no such step."""
    if step.kind not in KINDS:
        raise WrongTransition(f"there is no kind of transition {step.kind!r:.80}")
    if step.target not in FOLLOWING.get(step.source, frozenset()):
        raise WrongTransition(f"a turn does not go from {step.source} to {step.target}")
    if (step.kind == TERMINAL) != (step.target == FINALIZE) and step.kind != RECOVERY:
        raise WrongTransition(f"a step to {step.target} is not {step.kind}")
    if step.target == FINALIZE and step.source in WAYS_OUT and step.kind != RECOVERY:
        raise WrongTransition(f"a turn is finalized from {step.source} only in recovery")
