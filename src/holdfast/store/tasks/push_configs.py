"""Push configurations: where the news of a task are posted, and what is shown there to be let in.

They are rows and not events, because they hold credentials: no log, feed or archive has them, and they go when their
session is deleted. A task has a few at most.
"""

from dataclasses import dataclass, field

from holdfast.core.errors import NotFound, TooLarge
from holdfast.core.ids import check_name, check_together
from holdfast.store.engine import Row, Tx
from holdfast.store.lanes.shares import ReadLength
from holdfast.store.log.log_reader import existing_head
from holdfast.store.part import Part
from holdfast.store.tasks.outbox import drop, note_place, push_lock
from holdfast.store.tasks.tasks import get as get_task

MAX_CONFIGS = 10

COLUMNS = "task_id, config_id, url, token, scheme, credentials, version"
PUT = """
    INSERT INTO push_configs
      (tenant, task_id, config_id, session_no, url, token, scheme, credentials, version, created_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
    ON CONFLICT (tenant, task_id, config_id) DO UPDATE
    SET url = excluded.url, token = excluded.token, scheme = excluded.scheme, credentials = excluded.credentials,
        version = excluded.version"""
OTHERS = "SELECT count(*) FROM push_configs WHERE tenant = ?1 AND task_id = ?2 AND config_id <> ?3"
GET = f"SELECT {COLUMNS} FROM push_configs WHERE tenant = ?1 AND task_id = ?2 AND config_id = ?3"
LIST = f"SELECT {COLUMNS} FROM push_configs WHERE tenant = ?1 AND task_id = ?2 ORDER BY created_at, config_id"
DELETE = "DELETE FROM push_configs WHERE tenant = ?1 AND task_id = ?2 AND config_id = ?3"
DROP_OF_SESSION = "DELETE FROM push_configs WHERE session_no = ?1"
COUNT_OF_SESSION = "SELECT count(*) FROM push_configs WHERE session_no = ?1"


@dataclass(frozen=True, slots=True)
class StoredPushConfig:
    """Where one task's news are posted, in which version of the wire."""

    task_id: str
    config_id: str
    url: str
    token: str | None = field(default=None, repr=False)
    scheme: str | None = None
    credentials: str | None = field(default=None, repr=False)
    version: str = "1.0"


class StoredPushConfigs(Part):
    """`store.push_configs`."""

    __slots__ = ()

    async def put(self, config: StoredPushConfig, *, poster: str | None = None) -> None:
        """Keep it, instead of the task's one with the same id; NotFound without the task, TooLarge beyond ten. With
        `poster`, what has happened in the task already is noted in the outbox, for this poster to tell."""
        check_name(config.task_id, "a task id")
        check_name(config.config_id, "the id of a push configuration")
        check_together("the ids of a task and its push configuration", config.task_id, config.config_id)
        session_id = (
            await self.workers.read(lambda tx: get_task(tx, self.tenant, config.task_id), ReadLength.PAGE)
        ).session_id

        def write(tx: Tx) -> None:
            get_task(tx, self.tenant, config.task_id)
            session_no = existing_head(tx, self.tenant, session_id).session_no
            others = tx.one(OTHERS, self.tenant, config.task_id, config.config_id)
            if others is not None and others[0] >= MAX_CONFIGS:
                raise TooLarge(f"a task has at most {MAX_CONFIGS} push configurations", limit=MAX_CONFIGS)
            shown = (config.url, config.token, config.scheme, config.credentials, config.version)
            tx.run(PUT, self.tenant, config.task_id, config.config_id, session_no, *shown, tx.now())
            if poster is not None:
                note_place(tx, self.tenant, config.task_id, config.config_id, poster)

        await self.write(session_id, write)

    async def get(self, task_id: str, config_id: str) -> StoredPushConfig:
        """The one with this id, or NotFound."""
        row = await self.workers.read(lambda tx: tx.one(GET, self.tenant, task_id, config_id), ReadLength.LOOK)
        if row is None:
            raise NotFound(f"task {task_id!r} has no push configuration {config_id!r}", task_id=task_id)
        return _config(row)

    async def list(self, task_id: str) -> "list[StoredPushConfig]":
        """All of a task, the oldest first."""
        return [_config(row) for row in await self.workers.read(lambda tx: tx.all(LIST, self.tenant, task_id))]

    async def delete(self, task_id: str, config_id: str) -> None:
        """Forget one; nothing happens if it is not there."""

        def write(tx: Tx) -> None:
            tx.run(DELETE, self.tenant, task_id, config_id)
            drop(tx, self.tenant, task_id, config_id)

        await self.workers.write(write, (push_lock(self.tenant, task_id),), makes_room=True)


def count_of_session(tx: Tx, session_no: int) -> int:
    """How many a session's tasks have."""
    row = tx.one(COUNT_OF_SESSION, session_no)
    assert row is not None
    return int(row[0])


def drop_of_session(tx: Tx, session_no: int) -> None:
    """Forget all of a session."""
    tx.run(DROP_OF_SESSION, session_no)


def _config(row: Row) -> StoredPushConfig:
    return StoredPushConfig(*row)
