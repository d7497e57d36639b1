"""What is wrong with how tasks are begun, followed and ended."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import asdict, replace

from holdfast.core import TaskState
from holdfast.prove.broken.messages import UserTask, UserWords
from holdfast.prove.broken.runtime import Runtime
from holdfast.prove.broken.wire import Version


class RunsTwice(Runtime):
    """Takes every delivery for a new message."""

    def accepted_before(self, context_id: str, message_id: str) -> UserTask | None:
        return None


class OrphansTasks(Runtime):
    """Stores tasks, and forgets that a stored task is not a running one."""

    def recover(self) -> None:
        """Nothing to do, it thinks."""


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


class LosesTheTail(Runtime):
    """Tells its news once: whoever subscribes again is told what there was until then, and the end."""

    async def subscribe(self, task_id: str) -> AsyncGenerator[UserTask | str]:
        """The beginning and the end."""
        yield self.look(task_id)
        yield await self.wait(task_id)


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
