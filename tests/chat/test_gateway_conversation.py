"""A chat on a gateway: the conversation is the one that A2A has, and goes on after the gateway was killed."""

import asyncio
import re
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.cli.command import run
from tests.gateway.process import PATIENCE, Running, running
from tests.support.eventually import eventually

from holdfast.chat.commands import CommandCall, parse
from holdfast.chat.conversation import ChatStatus, ChatTurnEvent, OnlyInProject, Words
from holdfast.chat.gateway_conversation import GatewayConversation
from holdfast.cli.options import Location
from holdfast.cli.service import GatewayClient, serving
from holdfast.core.errors import HoldfastError, StoreUnavailable


@pytest.fixture(scope="module", params=["store", "file"])
def gateway(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("gateway"), "--agent-storage", request.param) as started:
        yield started


@pytest.fixture
async def calls(gateway: Running) -> AsyncIterator[GatewayClient]:
    async with serving(Location(Path(), None, gateway.url, None)) as client:
        yield client


@pytest.fixture
def conversation(calls: GatewayClient) -> GatewayConversation:
    return GatewayConversation(calls, f"agent:main:a2a:{uuid.uuid4()}")


async def do(conversation: GatewayConversation, line: str) -> str:
    found = parse(line)
    if isinstance(found, CommandCall):
        return "\n".join(await found.command.run(conversation, found.argument))
    return (await conversation.say(found, lambda event: None)).text


def over_a2a(url: str, context: str, text: str) -> str:
    message = {"role": "ROLE_USER", "messageId": str(uuid.uuid4()), "contextId": context, "parts": [{"text": text}]}
    call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
    done = httpx2.post(f"{url}/a2a", json=call, headers={"A2A-Version": "1.0"}, trust_env=False, timeout=PATIENCE)
    return str(done.json()["result"]["task"]["artifacts"][0]["parts"][0]["text"])


async def test_a_chat_goes_on_over_a2a_and_back(gateway: Running, conversation: GatewayConversation) -> None:
    heard: list[ChatTurnEvent] = []
    answer = await conversation.say("My name is Ada.", heard.append)
    assert "".join(each.text for each in heard if isinstance(each, Words)) == answer.text
    assert len(heard) > 1
    context = conversation.name.removeprefix("agent:main:a2a:")
    assert "Ada" in await asyncio.to_thread(over_a2a, gateway.url, context, "What is my name?")
    await asyncio.to_thread(over_a2a, gateway.url, context, "My dog is called Rex.")
    assert [each.text for each in await conversation.sayings()][-2] == "My dog is called Rex."


async def test_the_commands_work_there_too(
    conversation: GatewayConversation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    first = conversation.name
    await do(conversation, "My name is Ada.")
    assert first in await do(conversation, "/sessions")
    await do(conversation, "My name is Grace.")
    assert "taken back: My name is Grace." in await do(conversation, "/undo")
    assert "Ada" in await do(conversation, "What is my name?")
    assert "summed up" in await do(conversation, "/compact")
    assert "Ada" in await do(conversation, "What is my name?")
    await do(conversation, "/fork")
    assert conversation.name != first
    await do(conversation, "My name is Grace.")
    await do(conversation, f"/resume {first}")
    assert "Ada" in await do(conversation, "What is my name?")
    await do(conversation, f"/export {tmp_path}/said.md")
    assert "My name is Ada." in (tmp_path / "said.md").read_text()
    await do(conversation, "/new")
    assert "Ada" not in await do(conversation, "What is my name?")
    await do(conversation, "/undo")
    assert [each.text for each in await conversation.sayings()] == []


async def test_a_conversation_that_is_a_copy_or_was_begun_anew_is_listed_and_resumed(
    conversation: GatewayConversation, calls: GatewayClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    first = conversation.name
    await do(conversation, "My name is Ada.")
    await do(conversation, "/fork")
    copy = conversation.name
    await do(conversation, "My name is Bea.")
    await do(conversation, "My name is Eve.")
    await do(conversation, "/undo")
    later = GatewayConversation(calls, first)
    assert re.search(rf"→ +{first} .*My name is Ada", await do(later, "/sessions"))
    assert f"this is {copy}" in await do(later, "/resume last")
    assert "Bea" in await do(later, "What is my name?")
    await do(later, "/new")
    await do(later, "My dog is called Rex.")
    listed = await do(later, "/sessions")
    assert re.search(rf"→ +{copy} .*My dog is called Rex", listed)
    assert listed.count(copy) == 1


async def test_usage_counts_this_conversation_and_no_other(
    conversation: GatewayConversation, calls: GatewayClient
) -> None:
    other = GatewayConversation(calls, f"agent:main:a2a:{uuid.uuid4()}")
    await do(other, "My dog is called Rex.")
    await do(other, "What is my dog called?")
    with pytest.raises(HoldfastError):
        await do(conversation, "/usage")
    await do(conversation, "My name is Ada.")
    shown = dict(line.rsplit(maxsplit=1) for line in (await do(conversation, "/usage")).splitlines())
    assert shown["calls of the model"] == "1"
    assert int(shown["input tokens"].replace(",", "")) > 0
    before = await do(conversation, "/usage")
    await do(other, "Hello.")
    assert await do(conversation, "/usage") == before


@pytest.mark.parametrize("line", ["/tools", "/mode", "/mode allow", "/settle", "/settle 1 ran"])
async def test_what_needs_the_local_loop_says_so(conversation: GatewayConversation, line: str) -> None:
    with pytest.raises(OnlyInProject) as refused:
        await do(conversation, line)
    assert "without --key" in str(refused.value.hint)


async def test_a_turn_that_is_stopped_is_stopped_at_the_gateway(conversation: GatewayConversation) -> None:
    heard: list[ChatTurnEvent] = []
    turn = asyncio.ensure_future(conversation.say("Slowly count to 4000.", heard.append))
    await eventually(lambda: heard)
    turn.cancel()
    await asyncio.wait({turn})
    assert turn.cancelled()
    assert "Ada" in await do(conversation, "My name is Ada.")
    said = [each.text for each in await conversation.sayings() if each.speaker == "agent"]
    assert all("4000" not in text for text in said)
    first = heard[0]
    assert isinstance(first, Words)
    assert said[0].startswith(first.text)


class Flaky:
    """A connection that breaks, or ends as if all were said, so often in the middle of an answer."""

    def __init__(self, calls: GatewayClient, *, breaks: bool, times: int = 1) -> None:
        self.name = calls.name
        self._calls = calls
        self._breaks = breaks
        self._times = times
        self.asked: list[Any] = []

    async def call(self, *args: Any, **options: Any) -> Any:
        return await self._calls.call(*args, **options)

    async def lines(self, method: str, path: str, *, body: Any = None, **query: Any) -> AsyncIterator[bytes]:
        self.asked.append(body)
        texts = 0
        async for line in self._calls.lines(method, path, body=body, **query):
            yield line
            texts += b'"text"' in line
            if len(self.asked) <= self._times and (texts == 5 or len(self.asked) > 1):
                if self._breaks:
                    raise StoreUnavailable("the connection broke")
                return


@pytest.mark.parametrize(
    ("breaks", "why"), [(True, "the connection broke"), (False, "the answer ended too early")], ids=["breaks", "ends"]
)
async def test_a_broken_connection_never_makes_a_second_turn(calls: GatewayClient, breaks: bool, why: str) -> None:
    flaky = Flaky(calls, breaks=breaks)
    conversation = GatewayConversation(flaky, f"agent:main:a2a:{uuid.uuid4()}")
    heard: list[ChatTurnEvent] = []
    answer = await conversation.say("Count to 40.", heard.append)
    assert len(flaky.asked) == 2
    assert "".join(each.text for each in heard if isinstance(each, Words)) == answer.text
    assert [each.text for each in heard if isinstance(each, ChatStatus)] == [f"{why}; asking again for the same turn"]
    assert len(await conversation.sayings()) == 2


async def test_a_connection_that_breaks_again_and_again_is_told_of_once(calls: GatewayClient) -> None:
    flaky = Flaky(calls, breaks=True, times=4)
    conversation = GatewayConversation(flaky, f"agent:main:a2a:{uuid.uuid4()}")
    heard: list[ChatTurnEvent] = []
    await conversation.say("Count to 40.", heard.append)
    assert len(flaky.asked) == 5
    told = [each.text for each in heard if isinstance(each, ChatStatus)]
    assert told == ["the connection broke; asking again for the same turn"]


def test_the_command_talks_to_a_gateway_by_its_url(gateway: Running) -> None:
    key = f"agent:main:a2a:{uuid.uuid4()}"
    done = run("chat", "--key", key, "--url", gateway.url, "--print", "My name is Ada.")
    assert (done.exit_code, done.stdout) == (0, "Nice to meet you, Ada.\n")
    again = run("chat", "--key", key, "--url", gateway.url, "--print", "What is my name?", "--json")
    assert '"text":"Your name is Ada."' in again.stdout


def test_without_a_gateway_the_command_says_so(tmp_path: Path) -> None:
    done = run("chat", "--key", "agent:main:a2a:x", "--data", str(tmp_path), "--print", "Hello.")
    assert done.exit_code == 2
    assert "hint: " in done.stderr
