"""The durable session store.

from holdfast.store import NewEvent, open_store

store = await open_store("sqlite:///holdfast.db")
await store.append("s1", [NewEvent("greeting", {"text": "hello"})], expected_seq=0)
events = await store.read("s1")
await store.close()

This is the front door. Beside it there are `store.portable` (archives and folders), `store.backup`, `store.tasks` and
`store.operators` (the types of those parts); everything else is the store's own.
"""

from holdfast.core import Appended, Event, Lease, NewEvent, Session, State, Task, TaskState
from holdfast.core.store_file import sqlite_path
from holdfast.store.attachments.attachments import MEDIA_TYPE, check_digest, check_media_type
from holdfast.store.feed.feed import FeedEvent
from holdfast.store.lanes.shares import ReadLength, reading_for
from holdfast.store.lifecycle.archives import DeletedSession
from holdfast.store.lifecycle.retention import DoomedSession, Policy
from holdfast.store.lifecycle.undeletion import UndeletedSession
from holdfast.store.log.log_reader import PAGE_BYTES, count_within
from holdfast.store.log.places import EventGlance, EventPlace, is_indexed
from holdfast.store.log.prepare import LAST_MS, MAX_EVENTS, check_key
from holdfast.store.log.projection import DAY_MS
from holdfast.store.log.verify import SessionVerdict
from holdfast.store.memory.memory_rows import Memory
from holdfast.store.new_files import NewFiles
from holdfast.store.sessions.children import AgentPatch, ChildrenPatch, GoalPatch, digest_of
from holdfast.store.sessions.family import Family, FamilyMember
from holdfast.store.sessions.open_work import OpenWork
from holdfast.store.sessions.resume import DEFAULT_TAIL, MAX_TAIL
from holdfast.store.sessions.sessions import MAX_PAGE, Filter
from holdfast.store.sessions.snapshot import SessionSnapshot, StoreSnapshot
from holdfast.store.sessions.state_document import EMPTY_STATE, StateDocument
from holdfast.store.sessions.state_versions import StateVersion
from holdfast.store.sessions.summaries import MOST_PAYLOAD, MOST_SUMMARIES, SessionSummary
from holdfast.store.sessions.usage import UsageRow
from holdfast.store.store import DEFAULT_TENANT, Store, open_store, shrink_store
from holdfast.store.text.search import MAX_HITS, Hit
from holdfast.store.transfer.imports import ImportResult
from holdfast.store.tuning import StoreTuning

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
    "MOST_PAYLOAD",
    "MOST_SUMMARIES",
    "PAGE_BYTES",
    "AgentPatch",
    "Appended",
    "ChildrenPatch",
    "DeletedSession",
    "DoomedSession",
    "Event",
    "EventGlance",
    "EventPlace",
    "Family",
    "FamilyMember",
    "FeedEvent",
    "Filter",
    "GoalPatch",
    "Hit",
    "ImportResult",
    "Lease",
    "Memory",
    "NewEvent",
    "NewFiles",
    "OpenWork",
    "Policy",
    "ReadLength",
    "Session",
    "SessionSnapshot",
    "SessionSummary",
    "SessionVerdict",
    "State",
    "StateDocument",
    "StateVersion",
    "Store",
    "StoreSnapshot",
    "StoreTuning",
    "Task",
    "TaskState",
    "UndeletedSession",
    "UsageRow",
    "check_digest",
    "check_key",
    "check_media_type",
    "count_within",
    "digest_of",
    "is_indexed",
    "open_store",
    "reading_for",
    "shrink_store",
    "sqlite_path",
]
