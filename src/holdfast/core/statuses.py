"""The statuses that things can have, and the priorities of goals: each list stands here and nowhere else.

A type says what may be written, its tuple says it to those who check or choose. What tasks have is `TaskState`,
among the nouns.
"""

from typing import Final, Literal, TypeVar, get_args

from holdfast.core.errors import InvalidInput

SessionStatus = Literal["active", "completed", "failed", "cancelled", "interrupted", "archived"]
GoalStatus = Literal["pending", "in_progress", "completed", "failed", "cancelled"]
GoalPriority = Literal["low", "medium", "high"]
AgentStatus = Literal["active", "completed", "failed"]
AgentEnd = Literal["completed", "failed"]
EffectEnd = Literal["finished", "failed"]
CheckpointReason = Literal["manual", "compaction"]

SESSION_STATUSES: tuple[SessionStatus, ...] = get_args(SessionStatus)
GOAL_STATUSES: tuple[GoalStatus, ...] = get_args(GoalStatus)
GOAL_PRIORITIES: tuple[GoalPriority, ...] = get_args(GoalPriority)
AGENT_ENDS: tuple[AgentEnd, ...] = get_args(AgentEnd)
EFFECT_ENDS: tuple[EffectEnd, ...] = get_args(EffectEnd)

OPEN_GOALS: tuple[GoalStatus, ...] = ("pending", "in_progress")
ENDED_GOALS: tuple[GoalStatus, ...] = ("completed", "failed", "cancelled")
REOPENED_SESSIONS: tuple[SessionStatus, ...] = ("failed", "interrupted")
"""A session with one of these becomes active again when a turn begins in it."""

ACTIVE: Final = "active"
"""A session or a sub-agent at work."""
COMPLETED: Final = "completed"
FAILED: Final = "failed"
PENDING: Final = "pending"
MEDIUM: Final = "medium"
STARTED: Final = "started"
FINISHED: Final = "finished"
MANUAL: Final = "manual"
COMPACTION: Final = "compaction"

Choice = TypeVar("Choice", bound=str)


def one_of(choices: tuple[Choice, ...], value: str, problem: str) -> Choice:
    """The value as one of these; InvalidInput, with the problem and what there is to choose from."""
    for choice in choices:
        if choice == value:
            return choice
    raise InvalidInput(problem, hint=f"one of {', '.join(choices)}")
