"""The names of things: which session key a conversation has, and what makes two deliveries one message."""

import hashlib
import json
from dataclasses import replace
from typing import Any

from holdfast.a2a.protocol.wire import Message
from holdfast.a2a.turns import records


def session_key(agent: str, context_id: str) -> str:
    """The stable name of a context's conversation, whatever the context is: one is never read as a key."""
    return f"{agent_prefix(agent)}a2a:{context_id}"


def context_of(agent: str, key: str) -> str:
    """The context whose conversation has this key; a key that is no context's stands for itself."""
    return key.removeprefix(session_key(agent, ""))


def agent_prefix(agent: str) -> str:
    """How the keys of an agent begin."""
    return f"agent:{agent}:"


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
