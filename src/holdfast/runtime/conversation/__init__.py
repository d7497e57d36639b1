"""A conversation that survives its process: `ConversationSession`, and the records that it keeps.

`session` is what callers use; `fields` and `records` are what is stored; `storage` is what a storage does, and
`file_storage` and `store_storage` are the two; `claims` says which object of which process may write.
"""

from holdfast.runtime.conversation.records import (
    CompactionRecord,
    CompletionTraceEntry,
    EffectRun,
    EvidenceProvenance,
    PromptSnapshot,
    ServedTurn,
    ToolEffect,
    WorkflowLedger,
    WorkflowLedgerItem,
    WorkflowTimelineEntry,
)
from holdfast.runtime.conversation.runtime_state import owner_path
from holdfast.runtime.conversation.session import ConversationSession
from holdfast.runtime.conversation.usage_totals import turn_usage

__all__ = [
    "CompactionRecord",
    "CompletionTraceEntry",
    "ConversationSession",
    "EffectRun",
    "EvidenceProvenance",
    "PromptSnapshot",
    "ServedTurn",
    "ToolEffect",
    "WorkflowLedger",
    "WorkflowLedgerItem",
    "WorkflowTimelineEntry",
    "owner_path",
    "turn_usage",
]
