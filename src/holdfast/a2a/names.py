"""The names of things: which session key a conversation has, and what makes two deliveries one message."""

import hashlib
import json

from holdfast.a2a import records
from holdfast.a2a.wire import Message


def session_key(agent: str, context_id: str) -> str:
    """The stable name of a conversation; a context that is one of the agent's keys itself is that key."""
    return context_id if context_id.startswith(f"agent:{agent}:") else _prefix(agent) + context_id


def context_of(agent: str, key: str) -> str:
    """The context whose conversation has this key."""
    return key.removeprefix(_prefix(agent))


def delivery_key(message: Message) -> str:
    """What two deliveries of one message have in common, and no other message has."""
    canonical = json.dumps(records.message_record(message), sort_keys=True)
    return "a2a:" + hashlib.sha256(canonical.encode()).hexdigest()


def task_prefix(message: Message) -> str:
    """How the ids of tasks begin that a message with a key of its own began."""
    return delivery_key(message).removeprefix("a2a:")[:24] + "-"


def _prefix(agent: str) -> str:
    return f"agent:{agent}:a2a:"
