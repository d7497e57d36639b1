"""The rules by which a runtime's state is updated: which fields None leaves alone, and which it clears."""

import re
from pathlib import PurePath
from typing import Any

KEPT = frozenset(
    {
        *("current_task", "active_dod_path", "runtime_owner_type", "runtime_owner_path"),
        *("workflow_mode", "permission_mode", "permission_prompting_enabled", "permission_rule_counts"),
        *("permission_rules_source", "prompt_format", "prompt_sections"),
    }
)
"""None leaves these as they are."""
CLEARED = frozenset(
    {
        *("workflow_reason_code", "workflow_reason_summary", "workflow_decision_kind", "workflow_ambiguity_score"),
        *("workflow_complexity_score", "workflow_scheduled_next_mode"),
        *("last_completion_decision_code", "last_completion_decision_summary", "last_turn_transition_summary"),
        *("last_turn_transition_kind", "last_turn_transition_reason_code", "active_turn_phase"),
    }
)
"""None clears these."""
MODES = frozenset({"workflow_mode", "permission_mode"})
"""There is always one of these."""
OWNER_PATHS = {"Agent": "public-agent"}
WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def changes(given: dict[str, Any]) -> dict[str, Any]:
    """The fields that an update sets, with their values; TypeError for a field that it does not know."""
    unknown = sorted(given.keys() - KEPT - CLEARED)
    if unknown:
        raise TypeError(f"update_runtime_state() has no field {unknown[0]!r}")
    asked = {name: _plain(value) for name, value in given.items() if value is not None or name in CLEARED}
    asked = {name: value for name, value in asked.items() if value is not None or name not in MODES}
    if asked.get("runtime_owner_type") is not None and asked.get("runtime_owner_path") is None:
        asked["runtime_owner_path"] = owner_path(asked["runtime_owner_type"])
    return asked


def owner_path(owner_type: str) -> str:
    """The path of an owner of this type: its name in kebab-case, but for the public agent."""
    return OWNER_PATHS.get(owner_type) or WORD_START.sub("-", owner_type).replace("_", "-").lower()


def _plain(value: Any) -> Any:
    """The value as it is kept: a blank text is None, a path a text, and a list or dict nobody else's."""
    if isinstance(value, str):
        return value if value.strip() else None
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, list | tuple):
        return list(value)
    return dict(value) if isinstance(value, dict) else value
