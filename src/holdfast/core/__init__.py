"""Nouns, errors, clock, ids, strict JSON and the hash rule: what every other layer speaks in."""

from holdfast.core.clock import Clock, SystemClock
from holdfast.core.errors import HoldfastError
from holdfast.core.ids import IdSource, TimeOrderedIds
from holdfast.core.nouns import (
    Appended,
    Checkpoint,
    Effect,
    Event,
    Goal,
    KeyEntry,
    Lease,
    NewEvent,
    Resumed,
    Route,
    Session,
    SessionPage,
    Snapshot,
    State,
    SubAgent,
    Task,
    TaskState,
    Usage,
)

__all__ = [
    "Appended",
    "Checkpoint",
    "Clock",
    "Effect",
    "Event",
    "Goal",
    "HoldfastError",
    "IdSource",
    "KeyEntry",
    "Lease",
    "NewEvent",
    "Resumed",
    "Route",
    "Session",
    "SessionPage",
    "Snapshot",
    "State",
    "SubAgent",
    "SystemClock",
    "Task",
    "TaskState",
    "TimeOrderedIds",
    "Usage",
]
