"""Tasks and what turns need around them: leases, texts, the outbox, and the servers that run them."""

from holdfast.store.tasks.outbox import PendingPost
from holdfast.store.tasks.push_configs import StoredPushConfig
from holdfast.store.tasks.servers import LiveServer
from holdfast.store.tasks.task_pages import KeyedTask, KeyedTasks, cursor_of, place_of
from holdfast.store.tasks.task_texts import TaskText
from holdfast.store.tasks.tasks import WAITING, Orphan, TaskStart, waiting

__all__ = [
    "WAITING",
    "KeyedTask",
    "KeyedTasks",
    "LiveServer",
    "Orphan",
    "PendingPost",
    "StoredPushConfig",
    "TaskStart",
    "TaskText",
    "cursor_of",
    "place_of",
    "waiting",
]
