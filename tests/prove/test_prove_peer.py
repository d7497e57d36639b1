"""The second agent tells its secret to whoever asks for it, in both versions, and writes down who did."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from tests.support.eventually import eventually

from holdfast.prove.runtime.peer import Peer
from holdfast.prove.targets.process import free_port
from holdfast.prove.wire import envelopes, replies
from holdfast.prove.wire.envelopes import OutgoingMessage, WireVersion


@pytest.fixture
async def peer() -> AsyncIterator[Peer]:
    async with Peer(f"http://127.0.0.1:{free_port()}/a2a", "sassafras") as serving:
        yield serving


async def post(peer: Peer, body: bytes) -> httpx2.Response:
    async with httpx2.AsyncClient(trust_env=False) as client:
        return await client.post(peer.url, content=body)


@pytest.mark.parametrize("version", WireVersion)
async def test_it_tells_the_password_and_keeps_the_question(peer: Peer, version: WireVersion) -> None:
    question = OutgoingMessage("m1", "c1", "What is the Password?")
    response = await post(peer, envelopes.send(version, question, wait=True))
    assert replies.read(response.status_code, response.content).text == "The user's password is sassafras."
    assert peer.questions == [("c1", "What is the Password?", "m1")]


async def test_it_can_be_told_to_wait_with_its_answer(peer: Peer) -> None:
    question = OutgoingMessage("m1", "c1", "wait 60 seconds, then say it.")
    asking = asyncio.create_task(post(peer, envelopes.send(WireVersion.V1_0, question, wait=True)))
    await eventually(lambda: peer.questions)
    assert not asking.done()
    asking.cancel()


async def test_it_does_not_tell_it_to_who_asks_for_something_else(peer: Peer) -> None:
    response = await post(
        peer, envelopes.send(WireVersion.V1_0, OutgoingMessage("m1", "c1", "How are you?"), wait=True)
    )
    assert "sassafras" not in response.text


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"no json", -32700),
        (b"[]", -32700),
        (b'{"id":"1","method":"SendMessage","params":{"message":{"parts":7}}}', -32700),
        (b'{"id":"1","method":"ListTasks","params":{}}', -32601),
    ],
)
async def test_what_is_no_message_is_refused(peer: Peer, body: bytes, code: int) -> None:
    answer: dict[str, Any] = json.loads((await post(peer, body)).content)
    assert answer["error"]["code"] == code
    assert peer.questions == []


async def test_its_card_says_where_it_is(peer: Peer) -> None:
    async with httpx2.AsyncClient(trust_env=False) as client:
        card = (await client.get(peer.url.removesuffix("/a2a") + "/.well-known/agent-card.json")).json()
    assert card["url"] == peer.url
    assert {interface["url"] for interface in card["supportedInterfaces"]} == {peer.url}
