"""The official client holds conversations with us: in version 1.0, and in 0.3 against the cards that offer it."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from a2a.client import Client, ClientConfig, ClientFactory
from a2a.client.card_resolver import parse_agent_card
from a2a.types import a2a_pb2 as a2a
from a2a.utils.errors import TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError
from google.protobuf.json_format import MessageToDict
from tests.a2a.harness import Conducted, Gate, running, tell

from holdfast.a2a import Handler, Turn
from holdfast.a2a.handler import InputRequired, Output, Reply, Status
from holdfast.a2a.protocol.wire import Artifact, DataPart
from holdfast.a2a.push.url_guard import UrlGuard
from holdfast.store import Store

HOOK = "https://hooks.example/"


@dataclass(frozen=True)
class Mode:
    """How the official client comes to speak a version: by the card that it reads."""

    form: str
    speaks: str
    sees: Callable[[dict[str, Any]], dict[str, Any]] = dict


def as_an_old_client_sees_it(card: dict[str, Any]) -> dict[str, Any]:
    """Of a card in both versions, what 0.3 has a name for."""
    return {name: value for name, value in card.items() if name != "supportedInterfaces"}


NEW = Mode("1.0", "1.0")
OLD = Mode("0.3", "0.3")
NEW_OF_BOTH = Mode("both", "1.0")
OLD_OF_BOTH = Mode("both", "0.3", as_an_old_client_sees_it)
Speaking = Callable[..., AbstractAsyncContextManager[Client]]


async def public(host: str, port: int) -> list[str]:
    """Every name is a public address: nobody is asked."""
    return ["1.1.1.1"]


@pytest.fixture(params=[NEW, OLD], ids=lambda mode: mode.speaks)
def mode(request: pytest.FixtureRequest) -> Mode:
    """A version; a test may ask for others."""
    found: Mode = request.param
    return found


@pytest.fixture
def speaking(mode: Mode, store: Store, tmp_path: Path) -> Speaking:
    """The official client in one mode, talking to a handler's server."""
    spoken: set[str] = set()

    async def note(request: httpx.Request) -> None:
        if request.method == "POST":
            spoken.add(request.headers["A2A-Version"])

    @asynccontextmanager
    async def speak(handler: Handler, asks_for_token: bool = False, **config: Any) -> AsyncIterator[Client]:
        options: dict[str, Any] = {
            "url": None,
            "workspace": tmp_path,
            "card": mode.form,
            "guard": UrlGuard(resolve=public),
            "asks_for_token": asks_for_token,
        }
        async with (
            running(store, handler, **options) as server,
            httpx.AsyncClient(trust_env=False, verify=False, timeout=20, event_hooks={"request": [note]}) as http,
        ):
            card = mode.sees((await http.get(server.url + "/.well-known/agent-card.json")).json())
            yield ClientFactory(ClientConfig(httpx_client=http, **config)).create(parse_agent_card(card))
        assert spoken == {mode.speaks}

    return speak


def saying(text: str, message_id: str = "m", **members: Any) -> a2a.SendMessageRequest:
    """A message in words."""
    members.setdefault("parts", [a2a.Part(text=text)])
    return a2a.SendMessageRequest(message=a2a.Message(message_id=message_id, role=a2a.ROLE_USER, **members))


async def answers(client: Client, request: a2a.SendMessageRequest) -> list[a2a.StreamResponse]:
    """All that comes back."""
    return [answer async for answer in client.send_message(request)]


def words(task: a2a.Task) -> str:
    """The text of a task's artifacts."""
    return "".join(part.text for artifact in task.artifacts for part in artifact.parts)


def streamed_words(items: list[a2a.StreamResponse]) -> str:
    """The text of all pieces of artifacts."""
    updates = [item.artifact_update for item in items if item.HasField("artifact_update")]
    return "".join(part.text for update in updates for part in update.artifact.parts)


@pytest.mark.parametrize(
    "mode", [NEW, OLD, NEW_OF_BOTH, OLD_OF_BOTH], ids=lambda mode: f"card {mode.form}, {mode.speaks}"
)
async def test_a_conversation_of_two_turns(speaking: Speaking) -> None:
    async with speaking(tell, streaming=False) as client:
        [first] = await answers(client, saying("my name is Ada", "m1"))
        assert first.task.status.state == a2a.TASK_STATE_COMPLETED
        [second] = await answers(client, saying("my name?", "m2", context_id=first.task.context_id))
        [third] = await answers(client, saying("and now?", "m3", context_id=first.task.context_id))
        got = await client.get_task(a2a.GetTaskRequest(id=second.task.id))
    assert words(second.task) == "user:my name is Ada | agent:my name is Ada | my name?"
    assert words(third.task).startswith(words(second.task).rpartition(" | ")[0])
    assert second.task.context_id == first.task.context_id
    assert got == second.task
    assert [message.message_id for message in got.history] == ["m2"]


async def test_streaming(speaking: Speaking) -> None:
    async def talk(turn: Turn) -> AsyncIterator[Output]:
        yield Status("thinking")
        yield "one\u2028"
        yield "two"
        yield Artifact((DataPart({"n": 1}),), name="numbers")

    async with speaking(talk) as client:
        items = await answers(client, saying("go"))
        task = await client.get_task(a2a.GetTaskRequest(id=items[0].task.id))
    assert items[0].task.status.state == a2a.TASK_STATE_SUBMITTED
    assert streamed_words(items) == "one\u2028two" == words(task)
    updates = [item.status_update.status for item in items if item.HasField("status_update")]
    assert "thinking" in [part.text for status in updates for part in status.message.parts]
    assert updates[-1].state == a2a.TASK_STATE_COMPLETED
    assert "numbers" in [artifact.name for artifact in task.artifacts]


async def test_files_go_in_and_come_out(speaking: Speaking) -> None:
    read: list[tuple[str, str, bytes]] = []

    async def look(turn: Turn) -> AsyncIterator[Output]:
        for file in turn.attachments:
            read.append((file.name, file.media_type, await file.read()))
        yield "seen"

    raw = a2a.Part(raw=b"\0\1\2", filename="a.bin", media_type="application/x")
    away = a2a.Part(url="https://files.example/b.txt", filename="b.txt", media_type="text/plain")
    async with speaking(look, streaming=False) as client:
        [answer] = await answers(client, saying("", parts=[raw, away]))
    assert read == [("a.bin", "application/x", b"\0\1\2")]
    [said] = answer.task.history
    assert list(said.parts) == [raw, away]


async def test_a_plain_reply_and_a_question_back(speaking: Speaking) -> None:
    async def answer(turn: Turn) -> AsyncIterator[Output]:
        if turn.text == "reply":
            yield Reply.of("just words")
        elif turn.text == "ask":
            yield InputRequired("which one?")
        else:
            yield f"took {turn.text}"

    async with speaking(answer, streaming=False) as client:
        [plain] = await answers(client, saying("reply", "m1"))
        assert [part.text for part in plain.message.parts] == ["just words"]
        [asked] = await answers(client, saying("ask", "m2", context_id="c"))
        assert asked.task.status.state == a2a.TASK_STATE_INPUT_REQUIRED
        assert [part.text for part in asked.task.status.message.parts] == ["which one?"]
        [taken] = await answers(client, saying("that one", "m3", task_id=asked.task.id))
    assert taken.task.id == asked.task.id
    assert taken.task.context_id == "c"
    assert words(taken.task) == "took that one"


async def test_cancel(speaking: Speaking) -> None:
    gate = Gate()
    async with speaking(gate, streaming=False, polling=True) as client:
        [begun] = await answers(client, saying("go"))
        await gate.seen(1)
        canceled = await client.cancel_task(a2a.CancelTaskRequest(id=begun.task.id))
        assert canceled.status.state == a2a.TASK_STATE_CANCELED
        with pytest.raises(TaskNotCancelableError):
            await client.cancel_task(a2a.CancelTaskRequest(id=begun.task.id))
        with pytest.raises(TaskNotFoundError):
            await client.cancel_task(a2a.CancelTaskRequest(id="nope"))
    assert gate.interrupted == ["go"]


async def test_resubscribe(speaking: Speaking) -> None:
    agent = Conducted()
    async with speaking(agent) as client:
        stream = client.send_message(saying("go"))
        task_id = (await anext(stream)).task.id
        agent.put("one ")
        while not (await anext(stream)).HasField("artifact_update"):
            pass
        await stream.aclose()  # type: ignore[attr-defined]
        again = client.subscribe(a2a.SubscribeToTaskRequest(id=task_id))
        first = await anext(again)
        assert first.task.id == task_id
        agent.put("two", None)
        rest = [item async for item in again]
        assert words(first.task) + streamed_words(rest) == "one two"
        assert rest[-1].status_update.status.state == a2a.TASK_STATE_COMPLETED
        with pytest.raises(UnsupportedOperationError):
            await anext(client.subscribe(a2a.SubscribeToTaskRequest(id=task_id)))


async def test_the_extended_card(speaking: Speaking) -> None:
    async with speaking(tell, asks_for_token=True) as client:
        card = await client.get_extended_agent_card(a2a.GetExtendedAgentCardRequest())
    assert card.name == "holdfast"
    assert card.capabilities.streaming
    assert card.capabilities.push_notifications
    assert card.supported_interfaces


async def test_push_configs(speaking: Speaking) -> None:
    async with speaking(tell, streaming=False) as client:
        [answer] = await answers(client, saying("hi"))
        task_id = answer.task.id
        auth = a2a.AuthenticationInfo(scheme="Bearer", credentials="abc")
        wanted = [
            a2a.TaskPushNotificationConfig(task_id=task_id, id="p1", url=HOOK + "1", token="t", authentication=auth),
            a2a.TaskPushNotificationConfig(task_id=task_id, id="p2", url=HOOK + "2"),
        ]
        for config in wanted:
            assert await client.create_task_push_notification_config(config) == config
        own = await client.create_task_push_notification_config(
            a2a.TaskPushNotificationConfig(task_id=task_id, url=HOOK + "own")
        )
        assert own.id == task_id
        asked = a2a.ListTaskPushNotificationConfigsRequest(task_id=task_id)
        listed = await client.list_task_push_notification_configs(asked)
        assert sorted(listed.configs, key=lambda config: config.url) == [*wanted, own]
        which = a2a.GetTaskPushNotificationConfigRequest(task_id=task_id, id="p1")
        assert await client.get_task_push_notification_config(which) == wanted[0]
        await client.delete_task_push_notification_config(
            a2a.DeleteTaskPushNotificationConfigRequest(task_id=task_id, id="p1")
        )
        with pytest.raises(TaskNotFoundError):
            await client.get_task_push_notification_config(which)
        assert len((await client.list_task_push_notification_configs(asked)).configs) == 2


async def test_a_push_config_comes_with_a_message(speaking: Speaking) -> None:
    async with speaking(tell, streaming=False) as client:
        request = saying("hi")
        request.configuration.task_push_notification_config.url = HOOK + "inline"
        [answer] = await answers(client, request)
        asked = a2a.ListTaskPushNotificationConfigsRequest(task_id=answer.task.id)
        [config] = (await client.list_task_push_notification_configs(asked)).configs
    assert (config.url, config.id) == (HOOK + "inline", answer.task.id)


async def test_lists_of_tasks(store: Store, tmp_path: Path) -> None:
    """Version 1.0 only: 0.3 has no such method."""
    async with (
        running(store, tell, url=None, workspace=tmp_path) as server,
        httpx.AsyncClient(trust_env=False, verify=False, timeout=20) as http,
    ):
        client = await ClientFactory(ClientConfig(httpx_client=http, streaming=False)).create_from_url(server.url)
        for number in range(5):
            await answers(client, saying(f"number {number}", f"m{number}", context_id=f"c{number % 2}"))
        page = await client.list_tasks(a2a.ListTasksRequest(context_id="c0", page_size=2))
        assert (len(page.tasks), page.page_size, page.total_size) == (2, 2, 3)
        assert not any(task.artifacts or task.history for task in page.tasks)
        more = await client.list_tasks(
            a2a.ListTasksRequest(context_id="c0", page_size=2, page_token=page.next_page_token)
        )
        assert (len(more.tasks), more.next_page_token) == (1, "")
        assert len({task.id for task in [*page.tasks, *more.tasks]}) == 3
        whole = await client.list_tasks(
            a2a.ListTasksRequest(status=a2a.TASK_STATE_COMPLETED, include_artifacts=True, history_length=1)
        )
        assert len(whole.tasks) == whole.total_size == 5
        assert whole.page_size == 50
        assert all(words(task) and len(task.history) == 1 for task in whole.tasks)
        for state in (a2a.TASK_STATE_FAILED, a2a.TASK_STATE_AUTH_REQUIRED):
            none = await client.list_tasks(a2a.ListTasksRequest(status=state))
            assert (len(none.tasks), none.total_size) == (0, 0)
        newest = a2a.ListTasksRequest()
        newest.status_timestamp_after.CopyFrom(whole.tasks[0].status.timestamp)
        assert MessageToDict((await client.list_tasks(newest)).tasks[0])["id"] == whole.tasks[0].id
