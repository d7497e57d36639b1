"""The runtime: conversations that survive their process, and the bundled agent, a turn loop over a model and its tools.

What is kept of a conversation is imported at once, what answers over A2A only if somebody asks for it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from holdfast.runtime.conversation import (
    CompletionTraceEntry,
    ConversationSession,
    EvidenceProvenance,
    PromptSnapshot,
    WorkflowLedger,
    WorkflowLedgerItem,
    WorkflowTimelineEntry,
)

if TYPE_CHECKING:
    from holdfast.runtime.agent import bundled_agent
    from holdfast.runtime.peers import Peers
    from holdfast.runtime.project.agent import Agent, RuntimeHandle
    from holdfast.runtime.project.config import AgentConfig, ReasoningConfig

HOMES = {
    "agent": ("bundled_agent",),
    "peers": ("Peers",),
    "project.agent": ("Agent", "RuntimeHandle"),
    "project.config": ("AgentConfig", "ReasoningConfig"),
}

__all__ = [
    "Agent",
    "AgentConfig",
    "CompletionTraceEntry",
    "ConversationSession",
    "EvidenceProvenance",
    "Peers",
    "PromptSnapshot",
    "ReasoningConfig",
    "RuntimeHandle",
    "WorkflowLedger",
    "WorkflowLedgerItem",
    "WorkflowTimelineEntry",
    "bundled_agent",
]


def __getattr__(name: str) -> Any:
    for module, names in HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
