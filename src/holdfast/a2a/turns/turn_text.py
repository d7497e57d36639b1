"""The text of a running turn, as it is kept for those who ask elsewhere, or after its process died."""

import asyncio
import logging

from holdfast.a2a.protocol.wire import Artifact, TextPart, text_of
from holdfast.a2a.turns import records
from holdfast.a2a.turns.task_updates import Channel
from holdfast.core import HoldfastError, Lease, Task
from holdfast.store import Store
from holdfast.store.tasks import TaskText

KEEP_SECONDS = 0.9
"""Between what is kept: with the time that keeping takes, what a kill leaves is a second old at most."""

log = logging.getLogger("holdfast.a2a")


async def keep_text(store: Store, channel: Channel, lease: Lease) -> None:
    """Keep what a turn has said, while it says more; for ever."""
    kept: Artifact | None = None
    while True:
        await asyncio.sleep(KEEP_SECONDS)
        text = channel.text
        if text is None or text == kept:
            continue
        try:
            await store.task_texts.put(channel.task, TaskText(text.artifact_id, text_of(text.parts)), lease=lease)
            kept = text
        except HoldfastError as error:
            log.warning("what task %s has said so far is not kept: %s", channel.task.task_id, error)


async def kept_text(store: Store, task: Task) -> Artifact | None:
    """What a running task was last kept to have said, unless that is among its artifacts by now."""
    kept = await store.task_texts.get(task.task_id) if task.state.running else None
    if kept is None or kept.artifact_id in {artifact.artifact_id for artifact in records.artifacts(task)}:
        return None
    return Artifact((TextPart(kept.text),), kept.artifact_id)
