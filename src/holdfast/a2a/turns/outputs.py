"""What a handler puts out in one turn, from its first piece to the rest that the turn comes to.

Text is told as it comes and recorded at the end, as one artifact. Artifacts and statuses are recorded one by one, and
told once they are durable. A reply, a question back or a refusal ends the turn: the handler is not heard any further.
While a turn runs, its text is kept now and then, for those who ask elsewhere or after its process has died.
"""

import asyncio
import logging
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from holdfast.a2a.files.files import Files
from holdfast.a2a.handler import Handler, InputRequired, Output, Rejected, Reply, Status, Turn
from holdfast.a2a.protocol.wire import Artifact, Message, Part, TextPart, text_of
from holdfast.a2a.turns import records
from holdfast.a2a.turns.endings import (
    TurnEnding,
    agent_message,
    answer_ending,
    question_ending,
    rejection_ending,
    reply_ending,
)
from holdfast.a2a.turns.records import artifact_change, message_record
from holdfast.a2a.turns.task_updates import Channel
from holdfast.core import HoldfastError, IdSource, Lease, NewEvent, Task, TaskState, types
from holdfast.core.retry import until_written
from holdfast.store import Store
from holdfast.store.tasks import TaskText

OUTPUTS = "text, Artifact, Status, InputRequired, Rejected or Reply"

"""Between what is kept: with the time that keeping takes, what a kill leaves is a second old at most."""

log = logging.getLogger("holdfast.a2a")


class Outputs:
    """The outputs of one turn; its text is the artifact with this id."""

    def __init__(self, turn: Turn, channel: Channel, files: Files, artifact_id: str, ids: IdSource) -> None:
        self._turn = turn
        self._channel = channel
        self._files = files
        self._ids = ids
        self._artifact_id = artifact_id
        self._first = True

    async def collect(self, handler: Handler) -> TurnEnding:
        """Hear the handler out."""
        outputs: Any = handler(self._turn)
        async with aclosing(outputs):
            async for output in outputs:
                ending = await self._take(output)
                if ending is not None:
                    return ending
        return answer_ending(self._channel.task, self._channel.text, self._ids)

    async def _take(self, output: Output) -> TurnEnding | None:
        first, self._first = self._first, False
        task, text = self._channel.task, self._channel.text
        match output:
            case str():
                if output:
                    self._channel.say(self._artifact_id, output)
            case Status():
                said = agent_message(task, (TextPart(output.text),), self._ids)
                await self._record({"statusMessage": message_record(said)})
            case Artifact():
                await self._keep(output)
            case InputRequired():
                return question_ending(task, output.text, text, self._ids)
            case Rejected():
                return rejection_ending(task, output.text, text, self._ids)
            case Reply():
                return reply_ending(task, await self._taken(output.parts), text, first, self._ids)
            case _:
                raise TypeError(f"a handler yields {OUTPUTS}, not {output!r:.80}")
        return None

    async def _taken(self, parts: tuple[Part, ...]) -> tuple[Part, ...]:
        """The parts with their files kept by the session; ValueError if there are none."""
        if not parts:
            raise ValueError("an Artifact or a Reply has at least one part")
        taken = await self._files.take(parts)
        await self._files.attach(self._turn.session_id, taken, self._ids())
        return taken

    async def _keep(self, artifact: Artifact) -> None:
        named = artifact if artifact.artifact_id else replace(artifact, artifact_id=self._ids())
        kept = replace(named, parts=await self._taken(named.parts))
        said = agent_message(self._channel.task, kept.parts, self._ids)
        await self._record(artifact_change(self._channel.task, kept), said)

    async def _record(self, changes: dict[str, Any], *said: Message) -> None:
        task, turn = self._channel.task, self._turn
        messages = [NewEvent(types.MESSAGE, message_record(message)) for message in said]
        key = self._ids()
        self._channel.record(
            await until_written(
                lambda: turn.store.tasks.update(
                    task, TaskState.WORKING, changes, messages=messages, lease=turn.lease, idempotency_key=key
                )
            )
        )


async def keep_text(store: Store, channel: Channel, lease: Lease, every_seconds: float) -> None:
    """Keep what a turn has said, while it says more; for ever."""
    kept: Artifact | None = None
    while True:
        await asyncio.sleep(every_seconds)
        text = channel.text
        if text is None or text == kept:
            continue
        try:
            await store.task_texts.put(channel.task, TaskText(text.artifact_id, text_of(text.parts)), lease=lease)
            kept = text
        except HoldfastError as error:
            log.warning("what task %s has said so far is not kept: %s", channel.task.task_id, error)


async def text_so_far(store: Store, task: Task) -> Artifact | None:
    """What a running task was last kept to have said, unless that is among its artifacts by now."""
    kept = await store.task_texts.get(task.task_id) if task.state.running else None
    if kept is None or kept.artifact_id in {artifact.artifact_id for artifact in records.artifacts(task)}:
        return None
    return Artifact((TextPart(kept.text),), kept.artifact_id)
