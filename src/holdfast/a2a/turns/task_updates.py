"""The news of a task, for those who follow it.

A turn that runs in this process tells its news through a channel, text as it comes; what is recorded is told only once
it is durable. A turn that runs elsewhere is followed through the session's log: the same news, but for text, which is
there when it is whole. Whoever follows is a place in the channel, not a queue, so nobody holds up a turn.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TypeVar

from holdfast.a2a.protocol.wire import Artifact, ArtifactUpdate, News, StatusUpdate, TextPart
from holdfast.a2a.turns import records
from holdfast.core import Event, Task, TaskState, types
from holdfast.core.errors import Closing
from holdfast.core.event_bodies import TaskUpdated, read
from holdfast.core.race import first_of, is_set_within
from holdfast.store import Store

Told = TypeVar("Told")


class Channel:
    """What one turn of this process has told so far, from its acceptance to its end."""

    def __init__(self, task: Task) -> None:
        self.task = self.first = task
        """As it stands, and as it stood when the turn was accepted."""
        self.ended = False
        self.recorded: list[tuple[Task, News]] = []
        """Every change that was recorded, with the task as it then was."""
        self._news: list[News] = []
        self._told = asyncio.Event()
        self._shown = asyncio.Event()
        self._text: list[str] = []
        self._artifact_id = ""

    @property
    def text(self) -> Artifact | None:
        """The text that has come so far and is not recorded yet."""
        return self._artifact("".join(self._text)) if self._text and not self.ended else None

    async def show(self, seconds: float) -> None:
        """Wait until the turn has something to show beyond being at work, or is over, but no longer than so."""
        await is_set_within(self._shown, seconds)

    def say(self, artifact_id: str, piece: str) -> None:
        """A piece of the answer."""
        self._artifact_id = artifact_id
        append = bool(self._text)
        self._text.append(piece)
        self._tell(self._piece(piece, append=append))

    def record(self, task: Task) -> None:
        """The task as it was just recorded: what is new in it, and the end if it has come to rest."""
        if self.ended:
            return
        news = changes(self.task, task)
        self.recorded += [(task, item) for item in news]
        self.task = task
        self.ended = not task.state.running
        for item in news:
            self._tell(self._last_piece() if self._is_said(item) else item)
        self._wake()

    def close(self) -> None:
        """No more news, whatever became of the task."""
        self.ended = True
        self._shown.set()
        self._wake()

    @property
    def place(self) -> int:
        """After all that was told so far."""
        return len(self._news)

    def follow(self, place: int) -> AsyncGenerator[News]:
        """The news from a place on, until the end."""
        return self._follow(self._news, place)

    def records(self) -> AsyncGenerator[tuple[Task, News]]:
        """Every change that is recorded, from the first, until the end."""
        return self._follow(self.recorded, 0)

    async def _follow(self, told: list[Told], place: int) -> AsyncGenerator[Told]:
        while True:
            bell = self._told
            while place < len(told):
                yield told[place]
                place += 1
            if self.ended:
                return
            await bell.wait()

    def _tell(self, item: News) -> None:
        self._news.append(item)
        if self.ended or not isinstance(item, StatusUpdate) or item.message is not None:
            self._shown.set()
        self._wake()

    def _wake(self) -> None:
        self._told.set()
        self._told = asyncio.Event()

    def _is_said(self, item: News) -> bool:
        """Whether an item is the text that was told as it came."""
        return isinstance(item, ArtifactUpdate) and bool(self._text) and item.artifact.artifact_id == self._artifact_id

    def _last_piece(self) -> ArtifactUpdate:
        """That the text is whole, said by a piece without words: nobody knows of a piece with some that it is the
        last."""
        self._text.clear()
        return self._piece("", append=True, last_chunk=True)

    def _piece(self, text: str, *, append: bool, last_chunk: bool = False) -> ArtifactUpdate:
        return ArtifactUpdate(self.task.task_id, self.task.context_id, self._artifact(text), append, last_chunk)

    def _artifact(self, text: str) -> Artifact:
        return Artifact((TextPart(text),), self._artifact_id)


async def from_the_log(store: Store, task: Task, stopping: asyncio.Event) -> AsyncGenerator[Task]:
    """A task as it stands now, and then each time that its session's log says that it has changed; Closing if this
    process stops."""
    head = (await store.newest(task.session_id, limit=1, types=(types.TASK_UPDATED,)))[-1].seq
    async with aclosing(store.feed.session(task.session_id, after=head)) as feed:
        while True:
            yield await store.tasks.get(task.task_id)
            while not _is_about(await _next(feed, stopping), task):
                pass


def changes(before: Task, after: Task) -> list[News]:
    """What a follower who knew a task before has to be told of it now."""
    if after.version <= before.version:
        return []
    place = (after.task_id, after.context_id)
    known = {artifact.artifact_id: artifact for artifact in records.artifacts(before)}
    news: list[News] = [
        ArtifactUpdate(*place, artifact, last_chunk=True)
        for artifact in records.artifacts(after)
        if known.get(artifact.artifact_id) != artifact
    ]
    final = after.state.terminal or after.state is TaskState.INPUT_REQUIRED
    view = records.view(after)
    if final or after.state is not before.state or view.message != records.view(before).message:
        news.append(StatusUpdate(*place, after.state, after.updated_at, view.message, final))
    return news


async def _next(feed: AsyncGenerator[Event], stopping: asyncio.Event) -> Event:
    """The next event of a feed that has no end; Closing if this process stops first."""
    event, _ = await first_of(anext(feed), stopping.wait())
    if event is None:
        raise Closing("the server stops")
    found: Event = event.result()
    return found


def _is_about(event: Event, task: Task) -> bool:
    if event.type != TaskUpdated.TYPE or event.erased is not None:
        return False
    return read(event, TaskUpdated).task_id == task.task_id
