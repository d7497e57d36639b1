"""The durable session store.

from holdfast.store import NewEvent, open_store

store = await open_store("sqlite:///holdfast.db")
await store.append("s1", [NewEvent("greeting", {"text": "hello"})], expected_seq=0)
events = await store.read("s1")
await store.close()

This is the front door. Beside it there are `store.portable` (archives and folders), `store.backup`, `store.tasks` and
`store.operators` (the types of those parts) and `store.lock`; everything else is the store's own.
"""

from holdfast.core import Appended, Event, Lease, NewEvent, Session, State, Task, TaskState
from holdfast.store.attachments.attachments import MEDIA_TYPE, check_media_type
from holdfast.store.feed.feed import FeedEvent
from holdfast.store.lanes.shares import ReadLength, reading_for
from holdfast.store.lifecycle.archives import Archived
from holdfast.store.lifecycle.retention import Doomed, Policy
from holdfast.store.log.prepare import LAST_MS, MAX_EVENTS, check_key
from holdfast.store.log.projection import DAY_MS
from holdfast.store.log.reading import PAGE_BYTES, count_within
from holdfast.store.log.verify import Verified
from holdfast.store.memory.memory_rows import Memory
from holdfast.store.new_files import NewFiles
from holdfast.store.sessions.children import AgentPatch, ChildrenPatch, GoalPatch, digest_of
from holdfast.store.sessions.resume import DEFAULT_TAIL, MAX_TAIL
from holdfast.store.sessions.sessions import MAX_PAGE, Filter
from holdfast.store.sessions.snapshot import SessionSnapshot, StoreSnapshot
from holdfast.store.sessions.state_document import EMPTY_STATE, StateDocument
from holdfast.store.store import DEFAULT_TENANT, Store, open_store, shrink_store
from holdfast.store.text.search import MAX_HITS, Hit
from holdfast.store.transfer.imports import Imported
from holdfast.store.urls import sqlite_path

__all__ = [
    "DAY_MS",
    "DEFAULT_TAIL",
    "DEFAULT_TENANT",
    "EMPTY_STATE",
    "LAST_MS",
    "MAX_EVENTS",
    "MAX_HITS",
    "MAX_PAGE",
    "MAX_TAIL",
    "MEDIA_TYPE",
    "PAGE_BYTES",
    "AgentPatch",
    "Appended",
    "Archived",
    "ChildrenPatch",
    "Doomed",
    "Event",
    "FeedEvent",
    "Filter",
    "GoalPatch",
    "Hit",
    "Imported",
    "Lease",
    "Memory",
    "NewEvent",
    "NewFiles",
    "Policy",
    "ReadLength",
    "Session",
    "SessionSnapshot",
    "State",
    "StateDocument",
    "Store",
    "StoreSnapshot",
    "Task",
    "TaskState",
    "Verified",
    "check_key",
    "check_media_type",
    "count_within",
    "digest_of",
    "open_store",
    "reading_for",
    "shrink_store",
    "sqlite_path",
]
