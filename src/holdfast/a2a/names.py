"""The names of things: which session key a conversation has, and what makes two deliveries one message."""

import hashlib
import json
from dataclasses import replace
from typing import Any

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
    return "a2a:" + _digest(records.message_record(replace(message, envelope=None)))


def key_after(key: str, task_id: str) -> str:
    """The key of a message that is to run once more, because the task that it had was interrupted."""
    return "a2a:" + _digest([key, task_id])


def first_message_digest(agent: str, caller: str | None, message: Message) -> str:
    """What two deliveries of one caller's message to an agent have in common, if it names no context."""
    return _digest([agent, caller, delivery_key(message)])


def task_prefix(message: Message) -> str:
    """How the ids of tasks begin that a message with a key of its own began."""
    return delivery_key(message).removeprefix("a2a:")[:24] + "-"


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _prefix(agent: str) -> str:
    return f"agent:{agent}:a2a:"
