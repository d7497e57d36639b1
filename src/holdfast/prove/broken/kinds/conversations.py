"""What is wrong with how conversations are kept."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import asdict, replace
from typing import Any

from holdfast.prove.broken.agent import stated
from holdfast.prove.broken.messages import UserMessage, UserTask, UserWords
from holdfast.prove.broken.runtime import KEPT_WHOLE, Entry, Runtime

OVERLAP_SECONDS = 0.5
ID_LENGTH = 36
MESSAGE_LENGTH = 1_000
MOST_CONVERSATIONS = 100


class TaskKeyed(Runtime):
    """Every message without a task id starts a task, so every turn is a first turn."""

    def history_key(self, task: UserTask) -> str:
        return task.task_id


class SharedHistory(Runtime):
    """One agent object serves everybody: it hears what others said, and then what was said in this conversation."""

    def heard_before(self, task: UserTask) -> list[UserWords]:
        """Everybody's."""
        own = self.history_key(task)
        others = [said for key, history in self.histories.items() if key != own for said in history]
        return [*others, *self.histories[own]]


class FollowsElsewhere(Runtime):
    """Takes a message that names only a task for the beginning of another conversation."""

    def place(self, message: UserMessage) -> str:
        """The context that the message names, and no other."""
        return message.context_id or self.new_id()


class Overwrites(Runtime):
    """Load the history, think, save the history: without a lock, the last one to save wins."""

    def turn_lock(self, task: UserTask) -> AbstractAsyncContextManager[Any]:
        return nullcontext()

    async def think(self, task: UserTask, heard: Sequence[UserWords]) -> AsyncGenerator[str]:
        """Slow at the beginning of a conversation, so that two turns overlap for certain."""
        await asyncio.sleep(OVERLAP_SECONDS if len(heard) <= 2 else 0)
        async for piece in super().think(task, heard):
            yield piece

    def remember(self, key: str, before: Sequence[UserWords], request: UserWords) -> Entry:
        """The whole history as this turn knew it."""
        return {"key": key, "all_said": [asdict(said) for said in (*before, request)]}


class ForgetsAtCompaction(Runtime):
    """Cuts a long history off."""

    def compact(self, history: Sequence[UserWords]) -> list[UserWords]:
        """The newest, whatever the others said."""
        return list(history[-KEPT_WHOLE:])


class IdsInAnyCase(Runtime):
    """Keeps conversations in a table whose keys are compared without regard to case."""

    def history_key(self, task: UserTask) -> str:
        """In small letters."""
        return task.context_id.casefold()


class IdsCutShort(Runtime):
    """Keeps conversations in a table whose keys have room for a UUID."""

    def history_key(self, task: UserTask) -> str:
        """What there is room for."""
        return task.context_id[:ID_LENGTH]


class ForgetsTheMiddle(Runtime):
    """Keeps the beginning of a long history and its end."""

    def compact(self, history: Sequence[UserWords]) -> list[UserWords]:
        """The first few and the newest."""
        return [*history[:KEPT_WHOLE], *history[-KEPT_WHOLE:]]


class CutsLongMessages(Runtime):
    """Has a column for messages that is as long as anybody will need."""

    def hear(self, said: UserWords) -> UserWords:
        """The beginning."""
        return replace(said, text=said.text[:MESSAGE_LENGTH])


class BelievesTheFirst(Runtime):
    """Learns a thing once: what is stated anew is not written to the conversation."""

    def remember(self, key: str, before: Sequence[UserWords], request: UserWords) -> Entry:
        """Nothing, if all that it states is known."""
        known = {thing for said in before for thing in stated(said)}
        told = stated(request)
        return {} if told and told <= known else super().remember(key, before, request)


class SkipsRepeats(Runtime):
    """Takes a message that says what was said before in its conversation for the same message."""

    def accept(self, message: UserMessage) -> UserTask:
        """The task of the first that said so."""
        for task in self.tasks.values():
            if task.context_id == message.context_id and task.request == message.said and task.state.terminal:
                return task
        return super().accept(message)


class EvictsTheOldest(Runtime):
    """Keeps the newest conversations in memory, and never reads the others again."""

    def history_key(self, task: UserTask) -> str:
        """Whoever is new drives out who was there first."""
        if task.context_id not in self.histories and len(self.histories) >= MOST_CONVERSATIONS:
            del self.histories[next(iter(self.histories))]
        return task.context_id
