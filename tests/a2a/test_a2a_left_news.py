"""News that nobody was about to post: a place that was kept too late, a row that lost its box, a post that was taken
from tests.support.eventually import eventually
from a server that lives. Each is posted in the end, whatever came between."""

import asyncio
import threading
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.a2a.harness import QUICK, SECONDS, Conducted, tell
from tests.a2a.test_a2a_outbox import emptied, recorded, states
from tests.support.eventually import eventually
from tests.support.scripted_server import ScriptedServer

from holdfast.a2a.handler import Handler, InputRequired
from holdfast.a2a.protocol.wire import Message, PushConfig, Role, SendRequest, TaskRequest, TaskView, TextPart
from holdfast.a2a.push.push import MOST_TAKEN, Push, TaskPushConfigs
from holdfast.a2a.push.push_sender import PushSender
from holdfast.a2a.push.url_guard import UrlGuard
from holdfast.a2a.turns import records
from holdfast.a2a.turns.agent_services import AgentServices
from holdfast.a2a.turns.task_updates import changes
from holdfast.a2a.turns.timing import TurnTiming
from holdfast.a2a.turns.turns import Turns
from holdfast.core import NewEvent, TaskState, types
from holdfast.core.errors import InvalidInput, OutcomeUnknown, StoreUnavailable
from holdfast.store import Store
from holdfast.store.tasks.push_configs import StoredPushConfigs
from holdfast.store.tasks.tasks import Tasks


def guard() -> UrlGuard:
    return UrlGuard(["127.0.0.1"])


def server(store: Store, handler: Handler, folder: Path, timing: TurnTiming = QUICK) -> AgentServices:
    """A server without its web part."""
    options: dict[str, Any] = {"agent": "main", "workspace": folder, "resume": True, "reply_seconds": 0}
    return AgentServices(store, handler, guard=guard(), timing=timing, **options)


def place(hook: ScriptedServer) -> PushConfig:
    return PushConfig(f"http://127.0.0.1:{hook.port}/hook")


def request(push: PushConfig | None, *, wait: bool = False) -> SendRequest:
    return SendRequest(Message(Role.USER, "m", (TextPart("hi"),), "c"), wait=wait, push=push)


async def completed(hook: ScriptedServer) -> None:
    await hook.wait_for(lambda: "completed" in states(hook))


async def test_a_task_that_ended_elsewhere_before_its_place_was_kept(
    store: Store, hook: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, other = server(store, tell, tmp_path), server(store, tell, tmp_path)
    await other.start(alone=True)
    begin, lost = Tasks.begin, False

    async def answer_lost(self: Tasks, *args: Any, **more: Any) -> Any:
        nonlocal lost
        begun = await begin(self, *args, **more)
        if lost:
            return begun
        lost = True

        async def rests() -> bool:
            return not (await store.tasks.get(begun.task.task_id)).state.running

        await eventually(rests)
        raise OutcomeUnknown("the answer to the commit was lost")

    monkeypatch.setattr(Tasks, "begin", answer_lost)
    await slow.turns_of(store).send(request(place(hook)))
    await completed(hook)
    await emptied(store)
    await slow.stop(0)
    await other.stop(0)


@pytest.mark.parametrize("cut", [0, 1])
async def test_a_place_that_was_cut_off_while_it_was_kept_is_told_at_the_next_delivery(
    store: Store, hook: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut: int
) -> None:
    ours = server(store, tell, tmp_path)
    turns = ours.turns_of(store)
    await turns.send(request(None, wait=True))
    workers: Any = store.outbox.workers
    write, left = workers.write, cut

    def cut_off(*args: Any, **more: Any) -> Awaitable[Any]:
        nonlocal left
        left -= 1
        if left == -1:
            raise StoreUnavailable("cut")
        result: Awaitable[Any] = write(*args, **more)
        return result

    monkeypatch.setattr(workers, "write", cut_off)
    with suppress(StoreUnavailable):
        await turns.send(request(place(hook)))
    await turns.send(request(place(hook)))
    await completed(hook)
    await ours.stop(0)


async def test_a_server_that_lives_keeps_its_news_however_often_a_message_is_delivered(
    store: Store, hook: ScriptedServer
) -> None:
    await recorded(store, hook, owner="one")
    for name in ("one", "two"):
        await store.tasks.beat(name, 60_000)
    hook.hold = threading.Event()
    servers = [Push(store, guard(), owner=name) for name in ("one", "two")]
    for push in servers * (MOST_TAKEN + 3):
        await push.post_left("t")
    [item] = await store.outbox.waiting()
    assert (item.poster, item.tries) == ("one", 0)
    hook.hold.set()
    await emptied(store)
    for push in servers:
        await push.close(SECONDS)
    assert states(hook) == ["completed"]


async def test_a_last_post_is_made_and_then_settled(store: Store, hook: ScriptedServer) -> None:
    await recorded(store, hook)
    for number in range(MOST_TAKEN):
        [item] = await store.outbox.left()
        await store.outbox.take(item, f"dead {number}")
    push = Push(store, guard(), owner="me")
    await push.post_left("t")
    await completed(hook)
    await emptied(store)
    await push.close()


async def test_news_that_lost_their_box_are_found_again(
    store: Store, hook: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await recorded(store, hook)
    get, away = Tasks.get, 2

    async def away_twice(self: Tasks, task_id: str) -> Any:
        nonlocal away
        away -= 1
        if away >= 0:
            raise StoreUnavailable("cut")
        return await get(self, task_id)

    monkeypatch.setattr(Tasks, "get", away_twice)
    ours = server(store, tell, tmp_path)
    await ours.start(alone=True)
    await completed(hook)
    await emptied(store)
    await ours.stop(0)


async def test_news_are_not_taken_before_their_task_was_read(
    store: Store, hook: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await recorded(store, hook)
    found = await store.outbox.waiting()

    async def away(self: Tasks, task_id: str) -> Any:
        raise StoreUnavailable("cut")

    monkeypatch.setattr(Tasks, "get", away)
    push = Push(store, guard(), owner="me")
    with pytest.raises(StoreUnavailable):
        await push.post_left("t")
    assert await store.outbox.waiting() == found
    await push.close()


async def test_news_that_are_ours_and_wait_nowhere_are_posted_without_a_try(
    store: Store, hook: ScriptedServer, tmp_path: Path
) -> None:
    ours = server(store, tell, tmp_path)
    await ours.start(alone=True)
    await recorded(store, hook, owner=ours.owner)
    await completed(hook)
    await emptied(store)
    await ours.stop(0)


async def test_news_that_can_never_be_posted_from_here_are_left_to_others(
    store: Store, hook: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await recorded(store, hook, owner="me")
    tried: list[bytes] = []

    async def broken(self: PushSender, config: Any, body: bytes, tenant: str) -> bool:
        tried.append(body)
        raise InvalidInput("never")

    monkeypatch.setattr(PushSender, "post", broken)
    push = Push(store, guard(), owner="me")
    for _ in range(3):
        await push.post_left("t")
        while push._work():
            await asyncio.wait(push._work())
    assert len(tried) == 1
    assert len(await store.outbox.waiting()) == 1
    await push.close()


async def test_a_place_that_comes_while_others_are_read_is_told_what_comes_after(
    store: Store, hook: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = NewEvent(types.MESSAGE, {"role": "user", "taskId": "t", "parts": [{"text": "hi"}]})
    task = (await store.tasks.begin("s", "t", "c", said, owner="me")).task
    push, configs = Push(store, guard(), owner="me"), TaskPushConfigs(store, guard())
    read, seen, go = StoredPushConfigs.list, asyncio.Event(), asyncio.Event()

    async def slow(self: StoredPushConfigs, task_id: str) -> Any:
        found = await read(self, task_id)
        seen.set()
        await go.wait()
        return found

    monkeypatch.setattr(StoredPushConfigs, "list", slow)
    for state in (TaskState.WORKING, TaskState.COMPLETED):
        before, task = task, await store.tasks.update(task, state)
        for item in changes(before, task):
            push.notify(records.view(task), item, task.version)
        await seen.wait()
        if state is TaskState.WORKING:
            await configs.set("t", place(hook))
    go.set()
    await completed(hook)
    await emptied(store)
    await push.close()


async def test_a_task_that_asks_back_while_it_is_canceled_is_told_as_canceled(
    store: Store, hook: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Conducted()
    # Told by the cancel itself, not found later.
    ours = server(store, agent, tmp_path, replace(QUICK, round_seconds=60.0))
    await ours.start(alone=True)
    turns = ours.turns_of(store)
    view = await turns.send(request(place(hook)))
    assert isinstance(view, TaskView)
    text, asked = Turns._text, False

    async def asks(self: Turns, task: Any) -> Any:
        nonlocal asked
        if not asked:
            asked = True
            agent.put(InputRequired("which?"))
            await hook.wait_for(lambda: "input_required" in states(hook))
            await emptied(store)
        return await text(self, task)

    monkeypatch.setattr(Turns, "_text", asks)
    assert (await turns.cancel(TaskRequest(view.task_id))).state is TaskState.CANCELED
    await hook.wait_for(lambda: "canceled" in states(hook))
    await emptied(store)
    await ours.stop(0)
