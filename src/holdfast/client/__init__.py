"""The hook agent: how a program reports to a session service. It needs core, and the HTTP client when it connects.

What is named here is loaded when it is used: `holdfast hook`, which has milliseconds, takes only the spool's files.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_HOMES = {"HookAgent": "agent", "HookAgentBlocking": "blocking", "PastEvent": "resume", "ResumedSession": "resume"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'errors')}"), name)
