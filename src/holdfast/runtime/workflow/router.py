"""The router: in which mode a turn works, and why.

A mode that somebody asked for is taken. A request of one sentence is executed. Anything longer goes by its scores: what
is unclear is clarified, what is large is planned, what asks to look is verified. It never asks a model.
"""

from dataclasses import dataclass

from holdfast.core.errors import InvalidInput
from holdfast.runtime.workflow.scores import TaskScores, score

CLARIFY = "clarify"
PLAN = "plan"
EXECUTE = "execute"
VERIFY = "verify"
MODES = (CLARIFY, PLAN, EXECUTE, VERIFY)

UNCLEAR = 0.6
LARGE = 0.6
MOST_CLARIFYING_TURNS = 2


@dataclass(frozen=True, slots=True)
class TaskRoute:
    """The mode of a turn, how it was chosen, and what the choice rests on."""

    kind: str
    mode: str
    reason_code: str
    summary: str
    decision_kind: str
    score: float
    runner_up_mode: str
    runner_up_score: float
    scheduled_next_mode: str | None
    scores: TaskScores


def check_workflow_mode(mode: str) -> str:
    """The mode itself; InvalidInput if there is no such mode."""
    if mode not in MODES:
        raise InvalidInput(f"there is no workflow mode {mode!r:.80}", hint=f"one of {', '.join(MODES)}")
    return mode


def route(
    task: str, *, requested: str | None = None, resumes: bool = False, clarifying_turns: int | None = None
) -> TaskRoute:
    """The route of a task: `requested` is a mode that was asked for, `resumes` says that unfinished work for this task
    goes on, `clarifying_turns` how often the task was clarified before, if the turn before this one did that."""
    scores = score(task)
    if requested is not None:
        return _chosen("route", requested, "requested", f"{requested} was asked for", "requested", scores)
    if resumes:
        return _chosen("reentry", EXECUTE, "unfinished_work", "unfinished work goes on", "artifact_reuse", scores)
    if clarifying_turns is not None:
        return _after_clarification(clarifying_turns, scores)
    if scores.sentences <= 1:
        return _chosen("route", EXECUTE, "one_sentence", "a request of one sentence", "initial_route", scores)
    if scores.ambiguity >= UNCLEAR and scores.ambiguity >= scores.complexity:
        return _chosen("route", CLARIFY, "unclear", "the request leaves much open", "initial_route", scores)
    if scores.complexity >= LARGE:
        return _chosen("route", PLAN, "large", "the request is large", "initial_route", scores)
    if scores.checks:
        return _chosen("route", VERIFY, "asks_to_look", "the request is to look", "initial_route", scores)
    return _chosen("route", EXECUTE, "clear", "the request is clear", "initial_route", scores)


def _after_clarification(turns: int, scores: TaskScores) -> TaskRoute:
    if scores.ambiguity >= UNCLEAR and turns < MOST_CLARIFYING_TURNS:
        return _chosen("clarify_continue", CLARIFY, "still_unclear", "much is still open", "reentry", scores)
    if scores.ambiguity < UNCLEAR:
        return _chosen("clarify_exit", EXECUTE, "clarified", "the request was clarified", "handoff", scores)
    enough = "the request was clarified often enough, and goes on as it is"
    return _chosen("clarify_exit", EXECUTE, "clarified_enough", enough, "forced", scores)


def _chosen(kind: str, mode: str, code: str, summary: str, decision: str, scores: TaskScores) -> TaskRoute:
    weights = {
        CLARIFY: scores.ambiguity,
        PLAN: scores.complexity,
        EXECUTE: round(1.0 - max(scores.ambiguity, scores.complexity), 2),
        VERIFY: 0.5 if scores.checks else 0.0,
    }
    runner_up = max((other for other in MODES if other != mode), key=lambda other: weights[other])
    following = EXECUTE if mode in {CLARIFY, PLAN} else VERIFY if mode == EXECUTE else None
    return TaskRoute(
        kind, mode, code, summary, decision, weights[mode], runner_up, weights[runner_up], following, scores
    )
