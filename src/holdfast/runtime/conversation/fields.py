"""The fields of a conversation: all that is stored of it but its messages, and how they are before anything happened.

A field's name is its name in the stored JSON. Time is ISO 8601 in UTC.
"""

import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime

from holdfast.core.clock import SystemClock, to_iso
from holdfast.runtime.conversation.known_types import look_at
from holdfast.runtime.conversation.records import (
    CompactionRecord,
    CompletionTraceEntry,
    PromptSnapshot,
    ServedTurn,
    WorkflowLedger,
    WorkflowTimelineEntry,
)
from holdfast.runtime.conversation.usage_totals import no_usage

ROTATE_AFTER_BYTES = 262_144
MAX_ROTATED_FILES = 3
COMPACTION_THRESHOLD = 100_000
COMPACTION_KEEP = 4


def new_session_id() -> str:
    """`YYYYMMDDTHHMMSSZ-<8 hex>`: ids of different seconds sort by their time."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}"


def now() -> str:
    """The time, as it is stored."""
    return to_iso(SystemClock().now())


def no_rules() -> dict[str, int]:
    """How many permission rules there are if there are none."""
    return {"allow": 0, "deny": 0, "ask": 0}


@dataclass(kw_only=True)
class ConversationFields:
    """What is stored of a conversation beside its messages."""

    session_id: str = field(default_factory=new_session_id)
    created_at: str = field(default_factory=now)
    updated_at: str = field(default_factory=now)
    forked_from: str | None = None
    usage_totals: dict[str, int | float] = field(default_factory=no_usage)
    active_dod_path: str | None = None
    current_task: str | None = None
    runtime_owner_type: str | None = None
    runtime_owner_path: str | None = None
    workflow_mode: str = "execute"
    permission_mode: str = "workspace-write"
    permission_prompting_enabled: bool = False
    permission_rule_counts: dict[str, int] = field(default_factory=no_rules)
    permission_rules_source: str | None = None
    prompt_format: str | None = None
    prompt_sections: list[str] = field(default_factory=list)
    prompt_history: list[PromptSnapshot] = field(default_factory=list)
    workflow_timeline: list[WorkflowTimelineEntry] = field(default_factory=list)
    workflow_ledger: WorkflowLedger = field(default_factory=WorkflowLedger)
    completion_trace: list[CompletionTraceEntry] = field(default_factory=list)
    compaction: CompactionRecord | None = None
    workflow_reason_code: str | None = None
    workflow_reason_summary: str | None = None
    workflow_decision_kind: str | None = None
    workflow_ambiguity_score: float | None = None
    workflow_complexity_score: float | None = None
    workflow_scheduled_next_mode: str | None = None
    last_completion_decision_code: str | None = None
    last_completion_decision_summary: str | None = None
    last_turn_transition_summary: str | None = None
    last_turn_transition_kind: str | None = None
    last_turn_transition_reason_code: str | None = None
    active_turn_phase: str | None = None
    served_turn: ServedTurn | None = None
    rotate_after_bytes: int = ROTATE_AFTER_BYTES
    max_rotated_files: int = MAX_ROTATED_FILES
    auto_compaction_input_tokens_threshold: int = COMPACTION_THRESHOLD
    compaction_keep_last_messages: int = COMPACTION_KEEP


look_at(ConversationFields)
