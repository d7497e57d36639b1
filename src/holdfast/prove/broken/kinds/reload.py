"""What is wrong with what a start makes of the log: each is fine until the process ends."""

import re
from dataclasses import replace

from holdfast.core import TaskState
from holdfast.prove.broken.messages import UserTask, UserWords
from holdfast.prove.broken.runtime import Runtime

NEWEST = 3


class _Reloads(Runtime):
    """Gets wrong what it reads at a start."""

    def recover(self) -> None:
        """The log has been read: spoil it."""
        self.spoil()
        super().recover()

    def spoil(self) -> None:
        """Change each history."""
        for key, history in list(self.histories.items()):
            self.histories[key] = self.spoiled(history)

    def spoiled(self, history: list[UserWords]) -> list[UserWords]:
        """A history as it is read."""
        return history


class ReadsBackwards(_Reloads):
    """Reads the newest first, and forgets to turn them round."""

    def spoiled(self, history: list[UserWords]) -> list[UserWords]:
        return history[::-1]


class ReadsOnePage(_Reloads):
    """Reads the newest page of a conversation, and no other."""

    def spoiled(self, history: list[UserWords]) -> list[UserWords]:
        return history[-NEWEST:]


class ReadsOneLine(_Reloads):
    """Keeps a message on one line, and reads it up to the first line break."""

    def spoiled(self, history: list[UserWords]) -> list[UserWords]:
        return [replace(said, text=said.text.partition("\n")[0]) for said in history]


class ReadsAscii(_Reloads):
    """Reads its files in an encoding that has no other letters."""

    def spoiled(self, history: list[UserWords]) -> list[UserWords]:
        return [replace(said, text=re.sub(r"[^\x00-\x7f]", "?", said.text)) for said in history]


class LeavesFilesBehind(_Reloads):
    """Reads the words of a conversation again, and not the files."""

    def spoiled(self, history: list[UserWords]) -> list[UserWords]:
        return [replace(said, files=()) for said in history]


class MergesAtStart(_Reloads):
    """Reads all conversations into one list, which everybody hears from then on."""

    _all: list[UserWords]

    def spoil(self) -> None:
        """Everybody's."""
        self._all = [said for history in self.histories.values() for said in history]

    def heard_before(self, task: UserTask) -> list[UserWords]:
        """What was read at the start, and then this conversation."""
        return [*self._all, *super().heard_before(task)]


class OldMemories(_Reloads):
    """Replays the changes of its memory and lets the oldest win."""

    def spoil(self) -> None:
        """The first that was written counts."""
        for entry in reversed(self.log.entries):
            self.memory |= entry.get("memory", {})


class KnowsMessagesInRam(_Reloads):
    """Knows in memory only which messages it has accepted."""

    def spoil(self) -> None:
        """A start knows of none."""
        self._accepted.clear()


class KnowsTasksInRam(_Reloads):
    """Knows in memory only which tasks have ended."""

    def spoil(self) -> None:
        """A start knows of none that has ended."""
        self.tasks = {name: task for name, task in self.tasks.items() if not task.state.terminal}

    def accepted_before(self, context_id: str, message_id: str) -> UserTask | None:
        """One whose task is not known any more ran all the same."""
        task_id = self._accepted.get((context_id, message_id))
        if task_id is None or task_id in self.tasks:
            return super().accepted_before(context_id, message_id)
        return UserTask(task_id, context_id, message_id, UserWords(""), TaskState.COMPLETED, "Done before.")


class RevivesCanceled(_Reloads):
    """Goes on with every task that is not completed."""

    def spoil(self) -> None:
        """What was canceled is submitted again."""
        for task in list(self.tasks.values()):
            if task.state is TaskState.CANCELED:
                self.tasks[task.task_id] = replace(task, state=TaskState.SUBMITTED)


class FailsWhatHadEnded(_Reloads):
    """Takes every task that it finds at a start for one that was cut."""

    def spoil(self) -> None:
        """Completed or not, nobody works on it."""
        for task in list(self.tasks.values()):
            if task.state is TaskState.COMPLETED:
                self.tasks[task.task_id] = replace(task, state=TaskState.FAILED)


class EmptiesAnswers(_Reloads):
    """Keeps the state of a task, and its answer only as long as the process lives."""

    def spoil(self) -> None:
        """States without words."""
        for task in list(self.tasks.values()):
            if task.state.terminal:
                self.tasks[task.task_id] = replace(task, text="")


class ForgetsReports(_Reloads):
    """Keeps what the user said, and not what it answered: what other agents reported is lost."""

    def spoiled(self, history: list[UserWords]) -> list[UserWords]:
        return [replace(said, reply="") for said in history]


class ForgetsQuestions(_Reloads):
    """Takes a task that waits for its user for one that nobody works on, and fails it."""

    def spoil(self) -> None:
        """Nobody is at work on it."""
        for task in list(self.tasks.values()):
            if task.state is TaskState.INPUT_REQUIRED:
                self.tasks[task.task_id] = replace(task, state=TaskState.FAILED, text="Interrupted by a restart.")
