"""What a turn came to, for whoever runs the agent; after a restart, as far as the project's folder tells it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast.runtime.conversation import ConversationSession, turn_usage
from holdfast.runtime.workflow.definition_of_done import FOLDER, DefinitionOfDone, load_definition

NO_USAGE = {"prompt_tokens": 0, "completion_tokens": 0, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}


@dataclass(frozen=True, slots=True)
class TurnSummary:
    """One turn: its definition of done, what it cost, how it ended and why."""

    definition_of_done: DefinitionOfDone
    usage: dict[str, Any] = field(default_factory=dict)
    cumulative_usage: dict[str, Any] = field(default_factory=dict)
    final_response: str | None = None
    decision_code: str | None = None
    decision_summary: str | None = None
    tool_calls: int = 0
    iterations: int = 0


def usage_in_our_names(used: dict[str, Any]) -> dict[str, Any]:
    """What a turn cost, with zero for what nobody told."""
    return dict(turn_usage(NO_USAGE | used))


def summary_of_session(session: ConversationSession) -> TurnSummary | None:
    """The summary of a conversation's last turn, from its definition of done; None if there is none to be read."""
    if session.active_dod_path is None:
        return None
    path = Path(session.active_dod_path)
    definition = load_definition(path) or load_definition(session.project_root / FOLDER / path.name)
    if definition is None:
        return None
    return TurnSummary(
        definition_of_done=definition,
        usage=usage_in_our_names({}),
        cumulative_usage=dict(session.usage_totals),
        decision_code=session.last_completion_decision_code,
        decision_summary=session.last_completion_decision_summary,
    )
