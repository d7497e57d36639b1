"""The durable session store.

from holdfast.store import NewEvent, open_store

store = await open_store("sqlite:///holdfast.db")
await store.append("s1", [NewEvent("greeting", {"text": "hello"})], expected_seq=0)
events = await store.read("s1")
await store.close()
"""

from holdfast.core import Appended, Event, Lease, NewEvent, Session, State, Task, TaskState
from holdfast.store.lifecycle.retention import Policy
from holdfast.store.sessions.sessions import Filter
from holdfast.store.store import Store, open_store

__all__ = [
    "Appended",
    "Event",
    "Filter",
    "Lease",
    "NewEvent",
    "Policy",
    "Session",
    "State",
    "Store",
    "Task",
    "TaskState",
    "open_store",
]
