"""Tasks of an agent, a page at a time, and the messages that each was sent."""

from dataclasses import replace

from holdfast.a2a.protocol import rpc
from holdfast.a2a.protocol.wire import ListRequest, Message, TaskPage, TaskView
from holdfast.a2a.turns import records
from holdfast.core import Task, types
from holdfast.core.errors import InvalidInput
from holdfast.store import PAGE_BYTES, Store
from holdfast.store.tasks import cursor_of, place_of


class TaskLists:
    """What one agent's tasks are."""

    def __init__(self, store: Store, agent: str) -> None:
        self._store = store
        self._agent = agent

    async def page(self, request: ListRequest) -> TaskPage:
        """The tasks that fit, the last changed first; fewer than asked for rather than a large page."""
        found = await self._store.tasks.find(
            self._agent,
            context_id=request.context_id,
            state=request.state,
            changed_since=request.changed_since or 0,
            before=_place(request.page_token) if request.page_token else None,
            limit=request.page_size,
        )
        views: list[TaskView] = []
        left = PAGE_BYTES
        for task in found.tasks:
            view, size = await self._view(task, request)
            left -= size
            if left < 0 and views:
                break
            views.append(view)
        more = found.more or len(views) < len(found.tasks)
        token = cursor_of(found.tasks[len(views) - 1]) if more else ""
        return TaskPage(tuple(views), token, request.page_size, found.total)

    async def history(self, task: Task, length: int | None) -> tuple[Message, ...]:
        """The last `length` messages of a task, or all of them: what it was sent, and what it asked back."""
        return tuple([message for message, _ in await self._messages(task, length)])

    async def _messages(self, task: Task, length: int | None) -> list[tuple[Message, int]]:
        """The same, each with its size."""
        span = records.span(task)
        if span is None or length == 0:
            return []
        events = await self._store.read(task.session_id, after=span[0] - 1, before=span[1] + 1, types=(types.MESSAGE,))
        found = [(records.message_in(event), len(event.payload)) for event in events]
        return [(message, size) for message, size in found if message and message.task_id == task.task_id][
            -(length or 0) :
        ]

    async def _view(self, task: Task, request: ListRequest) -> tuple[TaskView, int]:
        """A task of a list, and the size of the messages that it is shown with."""
        # A list is for finding tasks: it has messages only if they are asked for.
        messages = await self._messages(task, request.history_length or 0)
        view = records.view(task, tuple([message for message, _ in messages]))
        return view if request.artifacts else replace(view, artifacts=()), sum(size for _, size in messages)


def _place(token: str) -> tuple[int, str]:
    try:
        return place_of(token)
    except InvalidInput:
        raise rpc.invalid_params("the page token is not one of ours") from None
