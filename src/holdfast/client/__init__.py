"""The hook agent: how a program reports to a session service. It needs core, and the HTTP client when it connects."""

from holdfast.client.agent import HookAgent
from holdfast.client.blocking import HookAgentBlocking
from holdfast.client.errors import (
    AgentClosed,
    EntriesRefused,
    NotDelivered,
    ServiceAway,
    ServiceRefused,
    SpoolFull,
    SpoolUnavailable,
)
from holdfast.client.resume import PastEvent, ResumedSession

__all__ = [
    "AgentClosed",
    "EntriesRefused",
    "HookAgent",
    "HookAgentBlocking",
    "NotDelivered",
    "PastEvent",
    "ResumedSession",
    "ServiceAway",
    "ServiceRefused",
    "SpoolFull",
    "SpoolUnavailable",
]
