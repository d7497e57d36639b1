"""The completion trace: the decisions that led to the last one, as the timeline tells them."""

from collections.abc import Sequence
from itertools import takewhile

from holdfast.runtime.conversation.records import CompletionTraceEntry, WorkflowTimelineEntry, detached

MAX_TRACE = 8
KIND = "completion_"
PREFIX = "completion:"


def projected_trace(timeline: Sequence[WorkflowTimelineEntry], decision_code: str | None) -> list[CompletionTraceEntry]:
    """The decisions in a row up to the newest with this code, at most the last `MAX_TRACE`; none without such a one."""
    if decision_code is None:
        return []
    places = [n for n, entry in enumerate(timeline) if _decides(entry) and entry.reason_code == decision_code]
    if not places:
        return []
    row = list(takewhile(_decides, reversed(timeline[: places[-1] + 1])))
    return [_trace_entry(entry) for entry in reversed(row[:MAX_TRACE])]


def _decides(entry: WorkflowTimelineEntry) -> bool:
    return entry.kind.startswith(KIND)


def _trace_entry(entry: WorkflowTimelineEntry) -> CompletionTraceEntry:
    return CompletionTraceEntry(
        stage=entry.policy_stage or "",
        outcome=entry.policy_outcome or "",
        decision_code=entry.reason_code,
        decision_summary=entry.summary.removeprefix(PREFIX).strip(),
        evidence_summary=list(entry.evidence_summary),
        evidence_provenance=[detached(provenance) for provenance in entry.evidence_provenance],
    )
