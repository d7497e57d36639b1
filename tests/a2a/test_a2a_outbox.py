"""News are in the store until they were posted: a server that is killed or stopped after it has recorded them, and
before it has posted them, leaves them to the next."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.a2a import dying_agent
from tests.a2a.harness import SECONDS, Client, Conducted, agent_process, free_port, running, sending, tell
from tests.a2a.webhooks import Hook, listening
from tests.support.eventually import eventually

from holdfast.a2a.push.push import MOST_TAKEN
from holdfast.a2a.push.url_guard import UrlGuard
from holdfast.core import NewEvent, TaskState, types
from holdfast.store import Store
from holdfast.store.tasks.push_configs import StoredPushConfig


@pytest.fixture
async def hook() -> AsyncIterator[Hook]:
    async with listening() as made:
        yield made


def pushing(hook: Hook, text: str, message_id: str = "m") -> dict[str, Any]:
    """The params of a message whose news are posted."""
    config = {"url": f"http://127.0.0.1:{hook.port}/hook"}
    return sending(text, message_id=message_id) | {"configuration": {"taskPushNotificationConfig": config}}


def states(hook: Hook) -> list[str]:
    """The states that came, in order."""
    updates = [posted.body["statusUpdate"] for posted in hook.posted if "statusUpdate" in posted.body]
    return [update["status"]["state"].removeprefix("TASK_STATE_").lower() for update in updates]


def texts(hook: Hook) -> list[str]:
    """The texts of the artifacts that came."""
    updates = [posted.body["artifactUpdate"] for posted in hook.posted if "artifactUpdate" in posted.body]
    return [update["artifact"]["parts"][0]["text"] for update in updates]


async def emptied(store: Store) -> None:
    async def is_empty() -> bool:
        return not await store.outbox.waiting()

    await eventually(is_empty)


async def recorded(store: Store, hook: Hook, owner: str = "dead") -> None:
    """A task with a place for its news whose answer was recorded by a process that then died."""
    entry = await store.keys.resolve("agent:main:a2a:c", session_id="s")
    said = NewEvent(types.MESSAGE, {"role": "user", "taskId": "t", "parts": [{"text": "hi"}]})
    task = (await store.tasks.begin(entry.session_id, "t", "c", said, owner=owner)).task
    await store.push_configs.put(StoredPushConfig("t", "t", f"http://127.0.0.1:{hook.port}/hook"))
    artifact = {"artifact-000000": {"artifactId": "a", "parts": [{"text": "hello"}]}}
    await store.tasks.update(task, TaskState.COMPLETED, artifact)


async def test_what_a_killed_server_recorded_is_posted_by_the_next(store: Store, hook: Hook) -> None:
    await recorded(store, hook)
    async with running(store, tell, guard=UrlGuard(["127.0.0.1"])):
        await hook.came(2)
        await emptied(store)
    assert (texts(hook), states(hook)) == (["hello"], ["completed"])


async def test_news_of_a_server_that_lives_are_left_to_it(store: Store, hook: Hook) -> None:
    await store.tasks.beat("elsewhere", 60_000)
    await recorded(store, hook, owner="elsewhere")
    async with running(store, tell, guard=UrlGuard(["127.0.0.1"])) as client:
        await client.send("one", "another")
    assert hook.posted == []
    assert [item.task_id for item in await store.outbox.waiting()] == ["t"]


async def test_a_place_that_takes_nothing_is_given_up_and_said(
    store: Store, hook: Hook, caplog: pytest.LogCaptureFixture
) -> None:
    await recorded(store, hook)
    hook.answers = ["404 No"] * 9
    posts: list[bool] = []
    async with running(store, tell, guard=UrlGuard(["127.0.0.1"]), posted=posts.append):
        await hook.came(2)
        await emptied(store)
    assert "404" in caplog.text
    assert posts == [False, False], "an artifact and the end"


async def test_a_server_that_dies_each_time_it_posts_is_not_asked_for_ever(store: Store, hook: Hook) -> None:
    await recorded(store, hook)
    for number in range(MOST_TAKEN + 1):
        [item] = await store.outbox.left()
        await store.outbox.take(item, f"dead {number}")
    posts: list[bool] = []
    async with running(store, tell, guard=UrlGuard(["127.0.0.1"]), posted=posts.append):
        await emptied(store)
    assert hook.posted == []
    assert posts == [False], "that it was given up is counted"


async def test_what_is_posted_is_no_longer_in_the_store(store: Store, hook: Hook, tmp_path: Path) -> None:
    agent = Conducted()
    async with running(store, agent, guard=UrlGuard(["127.0.0.1"]), workspace=tmp_path) as client:
        hook.hold = asyncio.Event()
        agent.put("hello", None)
        sent = await client.call("SendMessage", pushing(hook, "one"), "1.0")
        assert sent["result"]["task"]["status"]["state"] == "TASK_STATE_COMPLETED", "no turn waits for it"
        assert len(await store.outbox.waiting()) == 1
        hook.hold.set()
        await emptied(store)
    assert states(hook)[-1] == "completed"


async def test_a_stopped_server_leaves_what_it_has_not_posted(
    store: Store, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.a2a.turns.turns.SECONDS_TO_POST", 0.01)
    hook.hold = asyncio.Event()
    async with running(store, tell, guard=UrlGuard(["127.0.0.1"])) as client:
        await client.call("SendMessage", pushing(hook, "one"), "1.0")
        await hook.came(1)
    hook.hold.set()
    hook.posted.clear()
    async with running(store, tell, guard=UrlGuard(["127.0.0.1"])):
        await emptied(store)
    assert (texts(hook), states(hook)) == (["one"], ["completed"])


async def test_the_place_of_a_redelivered_message_is_kept(store: Store, hook: Hook) -> None:
    """Its first delivery may have ended between the message and its place."""
    async with running(store, tell, guard=UrlGuard(["127.0.0.1"])) as client:
        first = await client.call("SendMessage", sending("one"), "1.0")
        again = await client.call("SendMessage", pushing(hook, "one"), "1.0")
        task_id = first["result"]["task"]["id"]
        assert again["result"]["task"]["id"] == task_id
        assert len(await store.push_configs.list(task_id)) == 1
        await hook.came(2)
        await emptied(store)
        await client.call("SendMessage", pushing(hook, "one"), "1.0")
        await emptied(store)
    assert (texts(hook), states(hook)) == (["one"], ["completed"]), "told how it stands, once"


async def test_killed_right_after_the_answer_was_recorded(tmp_path: Path, hook: Hook) -> None:
    port = free_port()
    program = (sys.executable, dying_agent.__file__, str(tmp_path), str(port))
    limits = httpx2.Limits(max_keepalive_connections=0)
    async with httpx2.AsyncClient(trust_env=False, timeout=SECONDS, limits=limits) as http:
        client = Client(f"http://127.0.0.1:{port}", http)
        async with agent_process(*program, "answered", port=port) as child:
            with pytest.raises(httpx2.TransportError):
                await client.call("SendMessage", pushing(hook, "die"), "1.0")
            assert await child.wait() == -signal.SIGKILL
        async with agent_process(*program, "never", port=port) as child:
            await hook.wait_for(lambda: "completed" in states(hook))
            os.kill(child.pid, signal.SIGTERM)
            assert await child.wait() == 0
    assert "last words" in texts(hook)
