"""Tasks and what turns need around them: leases, texts, the outbox, and the servers that run them."""

from holdfast.store.tasks.outbox import Unposted
from holdfast.store.tasks.push_configs import StoredPushConfig
from holdfast.store.tasks.servers import Server
from holdfast.store.tasks.task_texts import TaskText
from holdfast.store.tasks.tasks import WAITING, Begun, Orphan, waiting

__all__ = ["WAITING", "Begun", "Orphan", "Server", "StoredPushConfig", "TaskText", "Unposted", "waiting"]
