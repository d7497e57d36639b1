"""Push notifications: where clients want the news of a task to be posted, and the posting.

No turn waits for it: news are put into a box for each place, and posted from there one after the other, with a few
tries each. A place that does not take them costs its own news only. That a place has yet to be told is in the store,
written with the change: what a process leaves that dies or stops, another posts, as the task then stands. So every
place hears of every task's rest at least once, unless it is given up, which is said and counted.

The URL is checked at every try. When it is set it is checked as well, so that whoever asks for what can never be is
told; that a name has no address then is no reason.
"""

import asyncio
import contextlib
import logging
import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from holdfast.a2a.files.files import Files, item_with_files, task_with_files
from holdfast.a2a.protocol import rpc
from holdfast.a2a.protocol.rpc import RpcError
from holdfast.a2a.protocol.versions import WIRES
from holdfast.a2a.protocol.wire import News, PushConfig, PushRequest, TaskView
from holdfast.a2a.push.push_sender import PushSender
from holdfast.a2a.push.url_guard import NoAddress, UrlGuard
from holdfast.a2a.turns import records
from holdfast.a2a.turns.task_updates import changes
from holdfast.core import HoldfastError, Task, TaskState, strict_json
from holdfast.core.errors import NotFound, SessionGone
from holdfast.core.retry import PASSING, until_written
from holdfast.store import Store
from holdfast.store.tasks import PendingPost, StoredPushConfig

MOST_WAITING = 1_000
"""News of one task that wait for one place, or to be looked at; beyond that the oldest are dropped."""
MOST_TAKEN = 20
"""How often news are taken from a process that died or stood still; they are posted once more then, and given up if
that was a death, too."""
MAX_SECRET = 4_096

VISIBLE = re.compile(r"[!-~](?:[ -~]*[!-~])?\Z")
SCHEME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}\Z")

PostObserver = Callable[[bool], None]
"""Hears of every piece of news that was posted, or given up: whether it was taken."""

log = logging.getLogger("holdfast.a2a")


class TaskPushConfigs:
    """Where the news of one tenant's tasks are posted; that a task is the agent's is the caller's business."""

    def __init__(self, store: Store, guard: UrlGuard) -> None:
        self._store = store
        self._guard = guard

    async def check(self, config: PushConfig) -> None:
        """RpcError or RefusedUrl if news cannot be posted there, as far as that can be told now."""
        _check_headers(config)
        with contextlib.suppress(NoAddress):
            await self._guard.check(config.url, self._store.tenant)

    async def keep(self, task_id: str, config: PushConfig, poster: str) -> bool:
        """Have the news of a task posted, also those that there are already; False if the place is known."""
        kept = await self._store.push_configs.list(task_id)
        named = replace(config, config_id=config.config_id or task_id)
        if named in map(_config, kept):
            return False
        await self.set(task_id, named, poster=poster)
        return True

    async def set(self, task_id: str, config: PushConfig, *, poster: str | None = None) -> PushConfig:
        """Have news posted from now on, and with a `poster` those that there are; the configuration with its id, which
        is the task's own if it was given none."""
        await self.check(config)
        stored = StoredPushConfig(
            task_id,
            config.config_id or task_id,
            config.url,
            config.token,
            config.scheme,
            config.credentials,
            config.version,
        )
        await self._store.push_configs.put(stored, poster=poster)
        return _config(stored)

    async def get(self, request: PushRequest) -> PushConfig:
        """One of a task, without an id that of the task's own id, or the oldest; TASK_NOT_FOUND if there is none."""
        found = await self._store.push_configs.list(request.task_id)
        wanted = request.config_id or request.task_id
        chosen = next((config for config in found if config.config_id == wanted), None)
        if chosen is None and request.config_id is None:
            chosen = next(iter(found), None)
        if chosen is None:
            said = "Task not found: it has no such push notification config"
            raise RpcError(rpc.TASK_NOT_FOUND, said, taskId=request.task_id)
        return _config(chosen)

    async def list(self, request: PushRequest) -> "list[PushConfig]":
        """All of a task, the oldest first."""
        return [_config(stored) for stored in await self._store.push_configs.list(request.task_id)]

    async def delete(self, request: PushRequest) -> None:
        """Have nothing posted there any more; nothing happens if nothing was."""
        await self._store.push_configs.delete(request.task_id, request.config_id or request.task_id)


@dataclass(slots=True)
class _Outbox:
    """What waits to be posted to one place, and who posts it."""

    waiting: "deque[tuple[TaskView, News]]"
    version: int = 0
    """Of the task, with the newest of them."""
    work: "asyncio.Task[None] | None" = None


class Push:
    """Posts the news of one tenant's tasks; with `files`, what is posted has the bytes of the files in it. `owner` is
    this process as the store knows it, and `posted` hears of every post; of `most_waiting` news for one place the
    oldest are dropped."""

    def __init__(
        self,
        store: Store,
        guard: UrlGuard,
        *,
        files: Files | None = None,
        sender: PushSender | None = None,
        owner: str = "",
        posted: PostObserver | None = None,
        most_waiting: int = MOST_WAITING,
    ) -> None:
        self._store = store
        self._files = files
        self._most_waiting = most_waiting
        self._sender = sender or PushSender(guard)
        self._owner = owner
        self._posted = posted or (lambda _taken: None)
        self._boxes: dict[tuple[str, str | None], _Outbox] = {}
        self._broken: dict[tuple[str, str | None], int] = {}
        """What could not be posted for a reason that does not pass, in which version of its task: left to others."""
        self._closed = False

    def notify(self, task: TaskView, news: News, version: int = 0) -> None:
        """Have news posted to wherever they are wanted; `task` is how it stands with them, in which version. Waits for
        nothing."""
        self._put((task.task_id, None), task, news, version)

    async def post_left(self, task_id: str) -> None:
        """Have posted how a task stands, wherever a dead process was to post it, or this one has lost sight of it."""
        for item in await self._store.outbox.left_of_task(task_id, self._owner):
            if item.poster != self._owner or not self._has_box(item):
                await self._take(item)

    def _has_box(self, item: PendingPost) -> bool:
        """Whether what is to be posted waits here, or was found to be what cannot be posted from here."""
        name = (item.task_id, item.config_id)
        return name in self._boxes or (item.task_id, None) in self._boxes or self._broken.get(name) == item.version

    async def _take(self, item: PendingPost) -> None:
        # The task is read first: what is taken is put into its box in one go.
        try:
            task = await self._store.tasks.get(item.task_id)
        except (NotFound, SessionGone):
            return
        if self._closed or not await self._store.outbox.take(item, self._owner):
            return
        if item.tries > MOST_TAKEN:
            log.warning("news of task %s are given up: %d servers died with them", item.task_id, item.tries)
            self._posted(False)
            await self._store.outbox.settle(item.task_id, item.config_id, item.version)
            return
        found = changes(_unknown(task), task)
        for news in found:
            self._put((item.task_id, item.config_id), records.view(task), news, task.version)
        if not found:
            await self._store.outbox.settle(item.task_id, item.config_id, item.version)

    async def close(self, grace_seconds: float = 0) -> None:
        """Give what waits the grace, then leave it: the store knows that it was not posted."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace_seconds):
                while work := self._work():
                    await asyncio.wait(work)
        self._closed = True
        left = self._work()
        for each in left:
            each.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        if left:
            log.warning("the server stops: the last news of some tasks are left for another to post (%d)", len(left))

    def _work(self) -> "set[asyncio.Task[None]]":
        return {box.work for box in self._boxes.values() if box.work is not None}

    def _put(self, name: tuple[str, str | None], task: TaskView, news: News, version: int) -> None:
        """Let news wait in an outbox; one without a configuration's id is where they wait to be looked at."""
        if self._closed:
            return
        box = self._boxes.setdefault(name, _Outbox(deque(maxlen=self._most_waiting)))
        if len(box.waiting) == self._most_waiting:
            log.warning("task %s has more news than can be posted: the oldest are dropped", task.task_id)
        box.waiting.append((task, news))
        box.version = max(box.version, version)
        if box.work is None:
            box.work = asyncio.create_task(self._empty(name, box))

    async def _empty(self, name: tuple[str, str | None], box: _Outbox) -> None:
        task_id, config_id = name
        try:
            while box.waiting:
                if config_id is None:
                    await self._sort(task_id, box)
                else:
                    await self._post(task_id, config_id, box)
            if config_id is not None and box.version:
                await self._settle(task_id, config_id, box)
            self._broken.pop(name, None)
        except PASSING as error:
            log.warning("news of task %s are not posted yet: %s", task_id, error)
        except HoldfastError as error:
            self._broken[name] = box.version
            log.warning("news of task %s are not posted: %s", task_id, error)
        except Exception:
            self._broken[name] = box.version
            log.exception("news of task %s are not posted: a defect of ours", task_id)
        finally:
            if self._boxes.get(name) is box:
                del self._boxes[name]

    async def _sort(self, task_id: str, box: _Outbox) -> None:
        """Hand what waits to be looked at to every place that wants it; what comes meanwhile may be wanted at more."""
        found, version = list(box.waiting), box.version
        box.waiting.clear()
        configs = await until_written(lambda: self._store.push_configs.list(task_id))
        for item in found:
            for config in configs:
                self._put((task_id, config.config_id), *item, version)

    async def _post(self, task_id: str, config_id: str, box: _Outbox) -> None:
        """Post the oldest that waits; if that does not succeed, only the newest of the others is still tried."""
        try:
            config = await until_written(lambda: self._store.push_configs.get(task_id, config_id))
        except NotFound:
            box.waiting.clear()
            return
        task, news = box.waiting.popleft()
        if self._files is not None:
            task, news = await task_with_files(self._files, task), await item_with_files(self._files, news)
        body = strict_json.encode(WIRES[config.version].push_document(news, task))
        taken = await self._sender.post(config, body, self._store.tenant)
        self._posted(taken)
        if not taken:
            while len(box.waiting) > 1:
                box.waiting.popleft()

    async def _settle(self, task_id: str, config_id: str, box: _Outbox) -> None:
        """Say that a place has all that there was for it; once more if news came meanwhile."""
        settled = 0
        while settled < box.version:
            settled = box.version
            await until_written(lambda version=settled: self._store.outbox.settle(task_id, config_id, version))  # type: ignore[misc]
            while box.waiting:
                await self._post(task_id, config_id, box)


def _unknown(task: Task) -> Task:
    """A task as those know it who know nothing of it."""
    return replace(task, state=TaskState.SUBMITTED, document={}, version=0)


def _config(stored: StoredPushConfig) -> PushConfig:
    return PushConfig(
        stored.url, stored.config_id, stored.token, stored.scheme, stored.credentials, version=stored.version
    )


def _check_headers(config: PushConfig) -> None:
    """RpcError if what is to be sent as a header could be more than one."""
    for what, text, shape in (
        ("token", config.token, VISIBLE),
        ("scheme", config.scheme, SCHEME),
        ("credentials", config.credentials, VISIBLE),
    ):
        if text is not None and (len(text) > MAX_SECRET or not shape.match(text)):
            raise rpc.invalid_params(f"the {what} of a push config must be plain ASCII")
