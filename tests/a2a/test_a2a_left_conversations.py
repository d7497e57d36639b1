"""Conversations that were reset or deleted: what was said in them is never in an answer afterwards, on both engines."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.a2a.harness import Gate, message, running, tell, words

from holdfast.a2a import InputRequired, Turn
from holdfast.a2a.files.files import Files
from holdfast.a2a.handler import Output
from holdfast.a2a.protocol.wire import Message, Role, TextPart
from holdfast.a2a.turns.acceptance import Acceptance, PlacedMessage
from holdfast.core import TimeOrderedIds
from holdfast.store import Store, open_store

KEY = "agent:main:a2a:c"


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    async with await open_store(store_url) as opened:
        yield opened


async def ask_back(turn: Turn) -> AsyncIterator[Output]:
    """A handler that asks once, and then tells what it has heard."""
    if not turn.history:
        yield InputRequired("which colour?")
    else:
        async for piece in tell(turn):
            yield piece


async def test_the_answer_to_a_task_of_a_reset_conversation_is_refused(store: Store) -> None:
    async with running(store, ask_back) as client:
        asked = await client.send("paint it", message_id="m1")
        assert asked["status"]["state"] == "input-required"
        await store.keys.reset(KEY)
        body = await client.call("message/send", message("red", message_id="m2", taskId=asked["id"]))
        assert (body["error"]["code"], "reset" in body["error"]["message"]) == (-32004, True)
        assert (await client.send("what?", message_id="m3"))["status"]["message"]["parts"][0]["text"] == "which colour?"


async def test_a_task_goes_with_its_session(store: Store) -> None:
    async with running(store, ask_back) as client:
        asked = await client.send("paint it", message_id="m1")
        await store.deletion.delete(KEY)
        body = await client.call("message/send", message("red", message_id="m2", taskId=asked["id"]))
        assert body["error"]["code"] == -32001


async def test_a_message_delivered_again_after_a_deletion_begins_the_new_conversation(store: Store) -> None:
    async with running(store, tell) as client:
        first = await client.send("my name is Ada", message_id="m1")
        await store.deletion.delete(KEY)
        again = await client.send("my name is Ada", message_id="m1")
        assert again["id"] != first["id"]
        assert words(await client.send("and?", message_id="m2")).count("my name is Ada") == 2  # asked, and told back


async def test_a_turn_that_waits_while_its_session_is_deleted_does_not_hold_up_the_next(store: Store) -> None:
    gate = Gate()
    async with running(store, gate) as client:
        waiting = asyncio.create_task(client.call("message/send", message("first", message_id="m1")))
        await gate.seen(1)
        await store.deletion.delete(KEY)
        gate.let(2)
        assert words(await client.send("second", message_id="m2")) == "did second"
        await waiting
        assert gate.turns[1].history == ()


async def test_a_session_that_is_deleted_between_look_and_record_is_replaced(store: Store, tmp_path: Path) -> None:
    acceptance = Acceptance(store, Files(store, tmp_path), agent="main", owner="me", ids=TimeOrderedIds())
    await store.keys.open(KEY)
    offer = await acceptance.look(Message(Role.USER, "m", (TextPart("hi"),), "c"), None, None, None)
    assert isinstance(offer, PlacedMessage)
    await store.deletion.delete(KEY)
    accepted = await acceptance.accept(offer)
    assert accepted.task.session_id == (await store.keys.get(KEY)).session_id != KEY
