"""Tasks of an agent, a page at a time, and the messages that each was sent."""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import replace

from holdfast.a2a import records, rpc
from holdfast.a2a.rpc import RpcError
from holdfast.a2a.wire import ListRequest, Message, TaskPage, TaskView
from holdfast.core import Task, types
from holdfast.core.errors import InvalidInput
from holdfast.core.ids import check_name
from holdfast.store import Store


class TaskLists:
    """What one agent's tasks are."""

    def __init__(self, store: Store, agent: str) -> None:
        self._store = store
        self._agent = agent

    async def page(self, request: ListRequest) -> TaskPage:
        """The tasks that fit, the last changed first."""
        found = await self._store.tasks.find(
            self._agent,
            context_id=request.context_id,
            state=request.state,
            changed_since=request.changed_since or 0,
            before=_place(request.page_token) if request.page_token else None,
            limit=request.page_size + 1,
        )
        tasks = found.tasks[: request.page_size]
        more = len(found.tasks) > len(tasks)
        views = tuple([await self._view(task, request) for task in tasks])
        return TaskPage(views, _token(tasks[-1]) if more else "", request.page_size, found.total)

    async def history(self, task: Task, length: int | None) -> tuple[Message, ...]:
        """The last `length` messages of a task, or all of them: what it was sent, and what it asked back."""
        span = records.span(task)
        if span is None or length == 0:
            return ()
        events = await self._store.read(task.session_id, after=span[0] - 1, before=span[1] + 1, types=(types.MESSAGE,))
        messages = [message for message in map(records.message_in, events) if message is not None]
        return tuple([message for message in messages if message.task_id == task.task_id][-(length or 0) :])

    async def _view(self, task: Task, request: ListRequest) -> TaskView:
        # A list is for finding tasks: it has messages only if they are asked for.
        view = records.view(task, await self.history(task, request.history_length or 0))
        return view if request.artifacts else replace(view, artifacts=())


def _token(task: Task) -> str:
    return urlsafe_b64encode(f"{task.updated_at}:{task.task_id}".encode()).decode()


def _place(token: str) -> tuple[int, str]:
    try:
        changed, _, task_id = urlsafe_b64decode(token.encode()).decode().partition(":")
        if not 0 <= int(changed) < 2**63:
            raise ValueError(changed)
        return int(changed), check_name(task_id, "a task id")
    except (ValueError, binascii.Error, InvalidInput):
        raise RpcError(rpc.INVALID_PARAMS, "Invalid params: the page token is not one of ours") from None
