"""What is wrong with how tasks are begun, followed and ended."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import asdict, replace

from holdfast.core import TaskState
from holdfast.prove.broken.messages import UserTask, UserWords
from holdfast.prove.broken.refusals import UNSUPPORTED, RpcRefusal
from holdfast.prove.broken.runtime import Runtime
from holdfast.prove.broken.wire import Version


class RunsTwice(Runtime):
    """Takes every delivery for a new message."""

    def accepted_before(self, context_id: str, message_id: str) -> UserTask | None:
        return None


class OneIdForAll(Runtime):
    """Knows a message by its id, whoever sent it and wherever."""

    def accepted_before(self, context_id: str, message_id: str) -> UserTask | None:
        """The first message with that id."""
        known = (task_id for (_, other), task_id in self._accepted.items() if other == message_id)
        task_id = next(known, None)
        return self.look(task_id) if task_id else None


class RacesDuplicates(Runtime):
    """Looks a message up among the tasks that have ended, so that one which is delivered twice at once runs twice."""

    def accepted_before(self, context_id: str, message_id: str) -> UserTask | None:
        """What runs has not been seen yet."""
        task = super().accepted_before(context_id, message_id)
        return None if task is None or task.state.running else task


class IgnoresCancel(Runtime):
    """Says that a task is canceled, and goes on with it."""

    async def cancel(self, task_id: str) -> UserTask:
        """The word, not the deed."""
        self.commit({"task": asdict(replace(self.look(task_id), state=TaskState.CANCELED))})
        return self.look(task_id)

    def finish(self, task: UserTask, state: TaskState, text: str, before: Sequence[UserWords] = ()) -> None:
        """What was done after all is not mentioned."""
        now = self.look(task.task_id).state
        super().finish(task, now if now.terminal else state, text, before)


class RefusesCancel(Runtime):
    """Has not come to writing that yet."""

    async def cancel(self, task_id: str) -> UserTask:
        """Not supported."""
        raise RpcRefusal(UNSUPPORTED, "cancel is not supported")


class LosesTheTail(Runtime):
    """Tells its news once: whoever subscribes again is told what there was until then, and the end."""

    async def subscribe(self, task_id: str) -> AsyncGenerator[UserTask | str]:
        """The beginning and the end."""
        yield self.look(task_id)
        yield await self.wait(task_id)


class TellsTwice(Runtime):
    """Takes the snapshot for a subscriber first and asks for the news from the beginning."""

    async def subscribe(self, task_id: str) -> AsyncGenerator[UserTask | str]:
        """What is in the snapshot comes again as news."""
        yield self.look(task_id)
        if live := self.live.get(task_id):
            async for piece in live.follow(0):
                yield piece
        yield await self.wait(task_id)


class EndsTheStreamEarly(Runtime):
    """Tells a subscriber how things stand, and hangs up."""

    async def subscribe(self, task_id: str) -> AsyncGenerator[UserTask | str]:
        """No news."""
        yield self.look(task_id)


class DiesWithTheConnection(Runtime):
    """Works inside the request: when the client hangs up, the work ends, and nobody writes that down."""

    def hung_up(self, task_id: str) -> None:
        """Nobody listens, nobody works."""
        if turn := self._turns.get(task_id):
            turn.cancel()


class OneWire(Runtime):
    """Speaks the version of the protocol that it was first spoken to in."""

    _first: Version | None = None

    def speaks(self, version: Version) -> bool:
        """The first, and no other."""
        self._first = self._first or version
        return version == self._first
