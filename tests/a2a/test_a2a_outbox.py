"""News are in the store until they were posted: a server that is killed or stopped after it has recorded them, and
before it has posted them, leaves them to the next."""

import os
import signal
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.a2a import dying_agent
from tests.a2a.harness import (
    QUICK,
    SECONDS,
    Client,
    Conducted,
    agent_process,
    exit_code,
    free_port,
    running,
    sending,
    tell,
)
from tests.support.eventually import eventually
from tests.support.processes import holdfast
from tests.support.scripted_server import Answer, ScriptedServer
from tests.support.web import async_web_client

from holdfast.a2a.push.push import MOST_TAKEN
from holdfast.a2a.push.url_guard import UrlGuard
from holdfast.core import NewEvent, TaskState, types
from holdfast.store import Store
from holdfast.store.tasks.push_configs import StoredPushConfig


def pushing(hook: ScriptedServer, text: str, message_id: str = "m") -> dict[str, Any]:
    """The params of a message whose news are posted."""
    config = {"url": f"http://127.0.0.1:{hook.port}/hook"}
    return sending(text, message_id=message_id) | {"configuration": {"taskPushNotificationConfig": config}}


def states(hook: ScriptedServer) -> list[str]:
    """The states that came, in order."""
    updates = [posted.body["statusUpdate"] for posted in hook.requests if "statusUpdate" in posted.body]
    return [update["status"]["state"].removeprefix("TASK_STATE_").lower() for update in updates]


def texts(hook: ScriptedServer) -> list[str]:
    """The texts of the artifacts that came."""
    updates = [posted.body["artifactUpdate"] for posted in hook.requests if "artifactUpdate" in posted.body]
    return [update["artifact"]["parts"][0]["text"] for update in updates]


async def emptied(store: Store) -> None:
    async def is_empty() -> bool:
        return not await store.outbox.waiting()

    await eventually(is_empty)


async def recorded(store: Store, hook: ScriptedServer, owner: str = "dead") -> None:
    """A task with a place for its news whose answer was recorded by a process that then died."""
    entry = await store.keys.resolve("agent:main:a2a:c", session_id="s")
    said = NewEvent(types.MESSAGE, {"role": "user", "taskId": "t", "parts": [{"text": "hi"}]})
    task = (await store.tasks.begin(entry.session_id, "t", "c", said, owner=owner)).task
    await store.push_configs.put(StoredPushConfig("t", "t", f"http://127.0.0.1:{hook.port}/hook"))
    artifact = {"artifact-000000": {"artifactId": "a", "parts": [{"text": "hello"}]}}
    await store.tasks.update(task, TaskState.COMPLETED, artifact)


async def test_what_a_killed_server_recorded_is_posted_by_the_next(store: Store, hook: ScriptedServer) -> None:
    await recorded(store, hook)
    async with running(store, tell, guard=UrlGuard(["127.0.0.1"])):
        await hook.came(2)
        await emptied(store)
    assert (texts(hook), states(hook)) == (["hello"], ["completed"])


async def test_news_of_a_server_that_lives_are_left_to_it(store: Store, hook: ScriptedServer) -> None:
    await store.tasks.beat("elsewhere", 60_000)
    await recorded(store, hook, owner="elsewhere")
    async with running(store, tell, guard=UrlGuard(["127.0.0.1"])) as client:
        await client.send("one", "another")
    assert hook.requests == []
    assert [item.task_id for item in await store.outbox.waiting()] == ["t"]


async def test_a_place_that_takes_nothing_is_given_up_and_said(
    store: Store, hook: ScriptedServer, caplog: pytest.LogCaptureFixture
) -> None:
    await recorded(store, hook)
    hook.answers = [Answer(status=404)] * 9
    posts: list[bool] = []
    async with running(store, tell, guard=UrlGuard(["127.0.0.1"]), posted=posts.append):
        await hook.came(2)
        await emptied(store)
    assert "404" in caplog.text
    assert posts == [False, False], "an artifact and the end"


async def test_a_server_that_dies_each_time_it_posts_is_not_asked_for_ever(store: Store, hook: ScriptedServer) -> None:
    await recorded(store, hook)
    for number in range(MOST_TAKEN + 1):
        [item] = await store.outbox.left()
        await store.outbox.take(item, f"dead {number}")
    posts: list[bool] = []
    async with running(store, tell, guard=UrlGuard(["127.0.0.1"]), posted=posts.append):
        await emptied(store)
    assert hook.requests == []
    assert posts == [False], "that it was given up is counted"


async def test_what_is_posted_is_no_longer_in_the_store(store: Store, hook: ScriptedServer, tmp_path: Path) -> None:
    agent = Conducted()
    async with running(store, agent, guard=UrlGuard(["127.0.0.1"]), workspace=tmp_path) as client:
        hook.hold = threading.Event()
        agent.put("hello", None)
        sent = await client.call("SendMessage", pushing(hook, "one"), "1.0")
        assert sent["result"]["task"]["status"]["state"] == "TASK_STATE_COMPLETED", "no turn waits for it"
        assert len(await store.outbox.waiting()) == 1
        hook.hold.set()
        await emptied(store)
    assert states(hook)[-1] == "completed"


async def test_a_stopped_server_leaves_what_it_has_not_posted(store: Store, hook: ScriptedServer) -> None:
    hook.hold = threading.Event()
    timing = replace(QUICK, post_seconds=0.01)
    async with running(store, tell, guard=UrlGuard(["127.0.0.1"]), timing=timing) as client:
        await client.call("SendMessage", pushing(hook, "one"), "1.0")
        await hook.came(1)
    hook.hold.set()
    hook.requests.clear()
    async with running(store, tell, guard=UrlGuard(["127.0.0.1"])):
        await emptied(store)
    assert (texts(hook), states(hook)) == (["one"], ["completed"])


async def test_the_place_of_a_redelivered_message_is_kept(store: Store, hook: ScriptedServer) -> None:
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


async def test_killed_right_after_the_answer_was_recorded(tmp_path: Path, hook: ScriptedServer) -> None:
    port = free_port()
    words = (str(tmp_path), str(port))
    limits = httpx2.Limits(max_keepalive_connections=0)
    async with async_web_client(timeout=SECONDS, limits=limits) as http:
        client = Client(f"http://127.0.0.1:{port}", http)
        async with agent_process(holdfast(*words, "answered", module=dying_agent.__name__), port) as child:
            with pytest.raises(httpx2.TransportError):
                await client.call("SendMessage", pushing(hook, "die"), "1.0")
            assert await exit_code(child) == -signal.SIGKILL
        async with agent_process(holdfast(*words, "never", module=dying_agent.__name__), port) as child:
            await hook.wait_for(lambda: "completed" in states(hook))
            os.kill(child.pid, signal.SIGTERM)
            assert await exit_code(child) == 0
    assert "last words" in texts(hook)
