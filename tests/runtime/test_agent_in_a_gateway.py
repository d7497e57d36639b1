"""The bundled agent in a real gateway process: its model, whom it may ask, and kill -9 in the middle of a tool."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
from tests.a2a import harness
from tests.a2a.harness import Client, Gate, words
from tests.gateway import process
from tests.support.scripted_server import endpoint, events

from holdfast.store import Store


@asynccontextmanager
async def gateway(data: Path, *arguments: str) -> AsyncIterator[tuple[Client, process.Running]]:
    """A gateway process, and a client of its agent."""
    with process.running(data, *arguments) as running:
        async with httpx2.AsyncClient(trust_env=False, verify=False, timeout=harness.SECONDS) as http:
            yield Client(running.url, http), running


async def test_a_tool_that_ran_when_the_gateway_was_killed_is_not_run_again(store: Store, tmp_path: Path) -> None:
    gate = Gate()
    async with harness.running(store, gate, agent="peer") as peer:
        allowed = ("--allow-agent", peer.url)
        async with gateway(tmp_path / "data", *allowed) as (client, running):
            task = await client.send(f"Ask the agent at {peer.url}/a2a: hello", wait=False)
            await gate.seen(1)
            running.process.kill()
        async with gateway(tmp_path / "data", *allowed) as (client, _):
            ended = await client.ended(task["id"])
            assert ended["status"]["state"] == "completed"
            assert "it may have run, and was not run again" in words(ended)
        assert len(gate.turns) == 1
        gate.let(1)


async def test_the_model_may_speak_messages(tmp_path: Path) -> None:
    answer = events(
        {"type": "message_start", "message": {"usage": {"input_tokens": 5}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Bonjour."}},
        {"type": "message_stop"},
    )
    with endpoint(answer) as model:
        flags = ("--model-api", "anthropic", "--model-url", model.origin, "--model", "c-1")
        async with gateway(tmp_path / "data", *flags) as (client, _):
            assert words(await client.send("Hello")) == "Bonjour."
    ((path, _, sent),) = model.requests
    assert (path, sent["model"], sent["messages"][-1]["content"][0]["text"]) == ("/v1/messages", "c-1", "Hello")
