"""What a running turn has said so far, for whoever asks elsewhere, or after its process died.

A row of the task that is replaced, and not an event: what the turn has said in the end is in the log. It goes when its
task rests, and when the archive of its session is purged: a turn that a deletion cut off may be undeleted with it.
"""

from dataclasses import dataclass

from holdfast.core import Lease, Task
from holdfast.store.engine import Tx
from holdfast.store.log.append import check_lease
from holdfast.store.log.log_reader import existing_head
from holdfast.store.part import Part
from holdfast.store.tasks.tasks import get as get_task

PUT = """
    INSERT INTO task_texts (tenant, task_id, session_no, artifact_id, text) VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (tenant, task_id) DO UPDATE SET artifact_id = excluded.artifact_id, text = excluded.text"""
GET = """
    SELECT t.artifact_id, t.text FROM task_texts t JOIN sessions s ON s.session_no = t.session_no
    WHERE t.tenant = ?1 AND t.task_id = ?2 AND s.life = 'live'"""
DROP_OF_SESSION = "DELETE FROM task_texts WHERE session_no = ?1"


@dataclass(frozen=True, slots=True)
class TaskText:
    """The text of an artifact that is not whole yet."""

    artifact_id: str
    text: str


class TaskTexts(Part):
    """`store.task_texts`."""

    __slots__ = ()

    async def put(self, task: Task, said: TaskText, *, lease: Lease) -> None:
        """Keep what was said so far instead of what was kept before; nothing happens if the task rests by now."""
        text = said.text.encode("utf-8", "replace")

        def write(tx: Tx) -> None:
            head = existing_head(tx, self.tenant, task.session_id)
            check_lease(tx, head, lease)
            if get_task(tx, self.tenant, task.task_id).state.running:
                tx.run(PUT, self.tenant, task.task_id, head.session_no, said.artifact_id, text)

        await self.write(task.session_id, write)

    async def get(self, task_id: str) -> TaskText | None:
        """What a task was kept to have said, if it runs and has said anything."""
        row = await self.workers.read(lambda tx: tx.one(GET, self.tenant, task_id))
        return None if row is None else TaskText(row[0], bytes(row[1]).decode())


def drop_of_session(tx: Tx, session_no: int) -> None:
    """Forget all of a session."""
    tx.run(DROP_OF_SESSION, session_no)
