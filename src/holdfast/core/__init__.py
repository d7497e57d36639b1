"""Nouns, errors, clock, ids, strict JSON and the hash rule: what every other layer speaks in."""

from holdfast.core.clock import Clock, SystemClock
from holdfast.core.errors import HoldfastError
from holdfast.core.ids import IdSource, TimeOrderedIds
from holdfast.core.nouns import (
    Appended,
    Event,
    KeyEntry,
    Lease,
    NewEvent,
    Route,
    Session,
    SessionPage,
    State,
    Task,
    TaskState,
)

__all__ = [
    "Appended",
    "Clock",
    "Event",
    "HoldfastError",
    "IdSource",
    "KeyEntry",
    "Lease",
    "NewEvent",
    "Route",
    "Session",
    "SessionPage",
    "State",
    "SystemClock",
    "Task",
    "TaskState",
    "TimeOrderedIds",
]
