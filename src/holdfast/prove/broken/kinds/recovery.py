"""What is wrong with how work goes on that was cut by a kill, held up by a pause, or waits for its user."""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from holdfast.core import IdSource, TaskState
from holdfast.prove.broken.acts import ASK, do
from holdfast.prove.broken.agent import wants_approval
from holdfast.prove.broken.messages import UserMessage, UserTask, UserWords
from holdfast.prove.broken.runtime import Runtime

LEASE_SECONDS = 4.0
LOOK_EVERY_SECONDS = 0.2


class OrphansTasks(Runtime):
    """Stores tasks, and forgets that a stored task is not a running one."""

    def recover(self) -> None:
        """Nothing to do, it thinks."""


class RepeatsEffects(Runtime):
    """Runs a turn that was cut from its beginning, whatever it had done."""

    def recover(self) -> None:
        """Begin again."""
        for task in list(self.tasks.values()):
            if task.state.running:
                self.begin(task)


class ForgetsTheCutMessage(Runtime):
    """Fails a turn that was cut, and writes a message to the conversation when it has been answered."""

    def recover(self) -> None:
        """The task, and not what the user said."""
        for task in list(self.tasks.values()):
            if task.state.running:
                self.commit({"task": asdict(replace(task, state=TaskState.FAILED, text="Interrupted by a restart."))})


class AsksAgain(Runtime):
    """Takes a turn in which another agent was asked for one that may not have ended, and runs it again."""

    def recover(self) -> None:
        """Ask again, to be sure."""
        super().recover()
        for task in list(self.tasks.values()):
            if ASK.search(task.request.text):
                self._asked = asyncio.get_running_loop().create_task(do(task.request.text, self.desk(task)))


class _Watched(Runtime):
    """Looks at the clock, and sees when it stood still for longer than a lease."""

    def __init__(self, data: Path, new_id: IdSource) -> None:
        super().__init__(data, new_id)
        self._watching = asyncio.get_running_loop().create_task(self._watch())

    async def _watch(self) -> None:
        seen = time.monotonic()
        while True:
            await asyncio.sleep(LOOK_EVERY_SECONDS)
            before, seen = seen, time.monotonic()
            if seen - before > LEASE_SECONDS:
                for task_id in list(self._turns):
                    self.expired(self.tasks[task_id])

    def expired(self, task: UserTask) -> None:
        """The lease of a task that runs here was not renewed in time."""
        raise NotImplementedError


class RunsAgainAfterAPause(_Watched):
    """Takes work over whose lease has expired, though its old owner goes on."""

    def expired(self, task: UserTask) -> None:
        """Have another worker do it, beside the one that woke up."""
        self._other = asyncio.create_task(self._again(task))

    async def _again(self, task: UserTask) -> None:
        async for _ in self.think(task, [task.request]):
            pass


class GivesUpAfterAPause(_Watched):
    """Lets go of work whose lease has expired, and tells nobody."""

    def expired(self, task: UserTask) -> None:
        """Somebody else will see to it."""
        self._turns[task.task_id].cancel()


class ActsUnasked(Runtime):
    """Asks for approval of what it has done already."""

    async def think(self, task: UserTask, heard: Sequence[UserWords]) -> AsyncGenerator[str]:
        """What is to be done was done before the question."""
        if wants_approval(task.request):
            yield "Done."
            return
        async for piece in super().think(task, heard):
            yield piece

    def question(self, task: UserTask) -> str:
        """The question, once everything is done."""
        question = super().question(task)
        if question:
            self.act(task)
        return question

    def act(self, task: UserTask) -> None:
        """Do what the task asks for, and wait for nothing."""
        self._acting = asyncio.get_running_loop().create_task(do(task.request.text, self.desk(task)))


class UsesUpApprovals(Runtime):
    """Takes an approval for done when it comes; who waited for it ended with the process."""

    def __init__(self, data: Path, new_id: IdSource) -> None:
        super().__init__(data, new_id)
        self._from_before = set(self.tasks)

    async def think(self, task: UserTask, heard: Sequence[UserWords]) -> AsyncGenerator[str]:
        """Nobody is there any more to do it."""
        if task.approval and task.task_id in self._from_before:
            yield "Thank you."
            return
        async for piece in super().think(task, heard):
            yield piece


class ApprovesTwice(Runtime):
    """Does what was approved whenever an approval comes."""

    def accept(self, message: UserMessage) -> UserTask:
        """Every yes counts."""
        task = self.tasks.get(message.task_id or "")
        if task is not None and task.approval and task.state.terminal:
            again = replace(task, state=TaskState.WORKING)
            self.commit({"task": asdict(again)})
            self.begin(again)
            return again
        return super().accept(message)
