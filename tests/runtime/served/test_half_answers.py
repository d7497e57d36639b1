"""A half answer that was cut is kept on a gateway as well, and the next turn knows that it is half."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.a2a.harness import Client, running, words
from tests.support.eventually import eventually

from holdfast.core import types
from holdfast.models import CompletionResponse, Message, Tool
from holdfast.models.errors import ModelUnreachable
from holdfast.runtime import bundled_agent
from holdfast.runtime.served.conversation_files import ConversationFiles
from holdfast.store import Store

HALF = "The capital of France, as everybody knows, is"


class BreakingBackend:
    """A model that says half of its first answer, and then waits or is lost; later it answers."""

    model = "breaking"
    supports_native_tools = True

    def __init__(self, *, is_lost: bool) -> None:
        self.asked: list[list[str]] = []
        self._is_lost = is_lost

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[Tool] = (), **options: Any
    ) -> CompletionResponse:
        raise NotImplementedError

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[Tool] = (), **options: Any
    ) -> AsyncIterator[str | CompletionResponse]:
        self.asked.append([message.text for message in messages[1:]])
        if len(self.asked) == 1:
            yield HALF
            if self._is_lost:
                raise ModelUnreachable("it is gone")
            await asyncio.Event().wait()
        yield CompletionResponse("Paris.")


@pytest.fixture(params=["store", "file"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> ConversationFiles | None:
    """Where the agent keeps its conversations beside the store, if anywhere."""
    return ConversationFiles(tmp_path / "conversations") if request.param == "file" else None


async def test_what_was_said_before_a_cancel_is_known_to_the_next_turn(
    store: Store, workspace: Path, files: ConversationFiles | None
) -> None:
    backend = BreakingBackend(is_lost=False)
    async with running(store, bundled_agent(backend, files=files), workspace=workspace) as client:
        task = await client.send("What is the capital of France?", wait=False)

        async def has_said() -> bool:
            return HALF in str(await client.get(task["id"]))

        await eventually(has_said)
        await client.call("tasks/cancel", {"id": task["id"]})
        await goes_on(client, backend)
    assert await messages_of(store) == ["What is the capital of France?", HALF, "Go on.", "Paris."]


async def test_what_a_lost_model_said_is_known_to_the_next_turn(
    store: Store, workspace: Path, files: ConversationFiles | None
) -> None:
    backend = BreakingBackend(is_lost=True)
    async with running(store, bundled_agent(backend, files=files), workspace=workspace) as client:
        task = await client.ended((await client.send("What is the capital of France?"))["id"])
        assert task["status"]["state"] == "failed"
        assert words(task) == HALF
        await goes_on(client, backend)


async def goes_on(client: Client, backend: BreakingBackend) -> None:
    """The next turn is asked with the half answer, which says that it is one."""
    assert words(await client.send("Go on.", message_id="m2")) == "Paris."
    assert backend.asked[1] == ["What is the capital of France?", f"{HALF}\n\n[INTERRUPTED]", "Go on."]


async def messages_of(store: Store) -> list[str]:
    """What the log of the one session has, as it was said."""
    (session,) = (await store.sessions.list()).sessions
    events = await store.read(session.session_id, types=[types.MESSAGE])
    return [event.value()["parts"][0]["text"] for event in events]
