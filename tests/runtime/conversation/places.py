"""A place for conversations, the same to a test whatever the storage is."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.models import Message, Role
from holdfast.runtime import ConversationSession
from holdfast.runtime.conversation import (
    EvidenceProvenance,
    PromptSnapshot,
    WorkflowLedger,
    WorkflowLedgerItem,
    WorkflowTimelineEntry,
)


@dataclass(frozen=True, slots=True)
class Place:
    """A project's folder, and the storage of its conversations."""

    root: Path
    url: str | None = None

    def settings(self) -> dict[str, Any]:
        """What both making and loading a conversation want to know."""
        return {
            "project_root": self.root,
            "system_message_factory": lambda: Message(Role.SYSTEM, "You are kind."),
            "few_shot_factory": lambda: [Message(Role.USER, "1+1?"), Message(Role.ASSISTANT, "2")],
            "storage": "file" if self.url is None else "store",
            "store_url": self.url,
        }

    def new(self, **fields: Any) -> ConversationSession:
        """A new conversation."""
        return ConversationSession(**self.settings(), **fields)

    def load(self, session_id: str | None = None) -> ConversationSession | None:
        """The conversation of this id, or the current one."""
        return ConversationSession.load(**self.settings(), session_id=session_id)

    def again(self, session: ConversationSession) -> ConversationSession:
        """The same conversation, as whoever loads it now finds it."""
        found = self.load(session.session_id)
        assert found is not None
        return found


def user(text: str) -> Message:
    return Message(Role.USER, text)


def assistant(text: str) -> Message:
    return Message(Role.ASSISTANT, text)


def entry(kind: str = "route", code: str = "c", summary: str = "s", **more: Any) -> WorkflowTimelineEntry:
    """A step of the workflow."""
    return WorkflowTimelineEntry("2026-01-01T00:00:00Z", kind, "execute", code, summary, **more)


def snapshot(content: str, timestamp: str = "2026-01-01T00:00:00Z") -> PromptSnapshot:
    return PromptSnapshot(timestamp, "execute", "workspace-write", "task", "native", ["a"], content)


def ledger() -> WorkflowLedger:
    return WorkflowLedger(
        assumptions=[WorkflowLedgerItem("it is Python", "open", "plan", evidence=["pyproject.toml"])],
        acceptance_anchors=[WorkflowLedgerItem("tests pass", "active", "plan", updated_phase="verify")],
        decision_boundaries=[WorkflowLedgerItem("no deletion", "tracked", "clarify")],
    )


def provenance() -> EvidenceProvenance:
    return EvidenceProvenance("file", "a.py", "it is there", status="supports", subject="a.py", detail="12 lines")
