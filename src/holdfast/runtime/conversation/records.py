"""What a conversation keeps of its own course: plain data, the same in memory and in JSON.

Phases, stages, outcomes, codes and categories are free text. Every list is a list, also when it comes from JSON.
"""

from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from holdfast.core.errors import InvalidInput

Record = TypeVar("Record")


@dataclass(slots=True)
class EvidenceProvenance:
    """Where a piece of evidence comes from, and whether it supports, contradicts or misses what it is evidence for."""

    category: str
    source: str
    summary: str
    status: str = "context"
    """supports, missing, contradicts or context."""
    subject: str | None = None
    detail: str | None = None


@dataclass(slots=True)
class CompletionTraceEntry:
    """One decision whether an answer finishes its task."""

    stage: str
    outcome: str
    decision_code: str
    decision_summary: str
    evidence_summary: list[str] = field(default_factory=list)
    evidence_provenance: list[EvidenceProvenance] = field(default_factory=list)


@dataclass(slots=True)
class WorkflowTimelineEntry:
    """One step of the workflow, and why it was taken."""

    timestamp: str
    kind: str
    """route, handoff, reentry, clarify_continue, clarify_exit, plan_refresh, verify_skip, completion_check,
    completion_continue or completion_finalize."""
    mode: str
    reason_code: str
    summary: str
    decision_kind: str | None = None
    """initial_route, requested, artifact_reuse, handoff, reentry or forced."""
    route_score: float | None = None
    runner_up_mode: str | None = None
    runner_up_score: float | None = None
    scheduled_next_mode: str | None = None
    unresolved_questions: list[str] = field(default_factory=list)
    signal_summary: list[str] = field(default_factory=list)
    prompt_format: str | None = None
    prompt_sections: list[str] = field(default_factory=list)
    artifact_paths: list[str] = field(default_factory=list)
    policy_stage: str | None = None
    policy_outcome: str | None = None
    evidence_summary: list[str] = field(default_factory=list)
    evidence_provenance: list[EvidenceProvenance] = field(default_factory=list)


@dataclass(slots=True)
class PromptSnapshot:
    """What the model was told of itself at one time."""

    timestamp: str
    workflow_mode: str
    permission_mode: str
    current_task: str | None
    prompt_format: str | None
    prompt_sections: list[str]
    content: str


@dataclass(slots=True)
class WorkflowLedgerItem:
    """One assumption, anchor or boundary; the runtime's statuses are open, active, tracked, contradicted, changed and
    reopened."""

    text: str
    status: str
    introduced_phase: str
    updated_phase: str | None = None
    evidence: list[str] = field(default_factory=list)


@dataclass(slots=True)
class WorkflowLedger:
    """What the work rests on, is measured by, and must not decide alone."""

    assumptions: list[WorkflowLedgerItem] = field(default_factory=list)
    acceptance_anchors: list[WorkflowLedgerItem] = field(default_factory=list)
    decision_boundaries: list[WorkflowLedgerItem] = field(default_factory=list)


@dataclass(slots=True)
class CompactionRecord:
    """How often the conversation was compacted, and what the last time did.

    The facts, topics and others are what the next compaction goes on from.
    """

    count: int
    removed_message_count: int
    summary: str
    tokens_before: int
    tokens_after: int
    facts: list[str] = field(default_factory=list)
    topics: list[str] = field(default_factory=list)
    messages: int = 0
    """How many messages the summary stands for, since the beginning."""
    others: list[str] = field(default_factory=list)
    """What the user said beside the facts, as far as there is room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedTurn:
    """The turn over A2A that a conversation is at: the session and the task, the place of its message in the session's
    log and in the conversation, and which messages of that log the conversation has."""

    session_id: str
    task_id: str
    seq: int
    position: int
    seqs: list[int] = field(default_factory=list)
    ended: bool = False


@dataclass(frozen=True, slots=True)
class ToolEffect:
    """One call of a tool that changes something outside: started, finished or failed.

    `shown` is what may be read of what it was asked.
    """

    call_id: str
    tool: str
    digest: str
    status: str
    started_at: int
    finished_at: int | None = None
    result: Any = None
    shown: str = ""


@dataclass(frozen=True, slots=True)
class EffectRun:
    """A tool's effect, and whether it is for this caller to bring it about."""

    effect: ToolEffect
    run: bool


def document_of(record: Any) -> Any:
    """A record, or anything made of records, as JSON values."""
    return msgspec.to_builtins(record)


def record_from(document: Any, kind: type[Record]) -> Record:
    """The record of a document; msgspec.ValidationError if it is not one."""
    return msgspec.convert(document, kind)


def detached(record: Record) -> Record:
    """A copy that shares nothing with the record; InvalidInput if a field is not what it must be."""
    try:
        return record_from(document_of(record), type(record))
    except msgspec.ValidationError as error:
        raise InvalidInput(f"not a {type(record).__name__}: {error}") from error
