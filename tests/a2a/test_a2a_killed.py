"""kill -9 in every phase of a turn, in both wire versions: what was accepted and not begun runs, a task that was under
way ends and its message, delivered again, runs again, what was acknowledged is there, and the next turn works."""

import contextlib
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.a2a import dying_agent
from tests.a2a.dying_agent import PHASES
from tests.a2a.harness import SECONDS, Client, agent_process, exit_code, free_port, message, sending, words
from tests.support.processes import Process, holdfast
from tests.support.web import async_web_client

UNDER_WAY = {"working", "streaming", "answering"}


class Speaker:
    """One wire version, spoken the same way."""

    def __init__(self, client: Client, version: str | None) -> None:
        self.client = client
        self.version = version

    async def say(self, text: str, message_id: str) -> dict[str, Any]:
        """The task that a message ends in."""
        if self.version is None:
            return _plain(await self.client.send(text, message_id=message_id))
        answer = await self.client.call("SendMessage", sending(text, message_id=message_id), self.version)
        return _plain(answer["result"]["task"])

    async def start(self, text: str, message_id: str) -> str | None:
        """Stream a message to a process that dies: the id of its task, if it was told."""
        method = "message/stream" if self.version is None else "SendStreamingMessage"
        params = message(text, message_id=message_id) if self.version is None else sending(text, message_id=message_id)
        told = None
        with contextlib.suppress(httpx2.TransportError, StopAsyncIteration):
            async with self.client.stream(method, params, self.version) as stream:
                while True:
                    item = await stream.next()
                    told = told or item.get("id") or item.get("task", {}).get("id")
        return told

    async def ended(self, task_id: str) -> dict[str, Any]:
        """The task once it has ended."""
        return _plain(await self.client.ended(task_id))


def _plain(task: dict[str, Any]) -> dict[str, Any]:
    state = task["status"]["state"].removeprefix("TASK_STATE_").lower()
    return {"id": task["id"], "state": state, "text": words(task) if task.get("artifacts") else ""}


def process(data: Path, port: int, phase: str) -> AbstractAsyncContextManager[Process]:
    """The agent's process, once it answers."""
    return agent_process(holdfast(str(data), str(port), phase, module=dying_agent.__name__), port)


def cases() -> list[Any]:
    """Every phase in both versions; one of them quick, the others counted."""
    return [
        pytest.param(phase, version, marks=() if (phase, version) == ("streaming", "1.0") else pytest.mark.long)
        for phase in PHASES
        for version in ("1.0", None)
    ]


@pytest.mark.parametrize(("phase", "version"), cases())
async def test_killed_in(phase: str, version: str | None, tmp_path: Path) -> None:
    port = free_port()
    limits = httpx2.Limits(max_keepalive_connections=0)
    async with async_web_client(timeout=SECONDS, limits=limits) as http:
        speaker = Speaker(Client(f"http://127.0.0.1:{port}", http), version)
        async with process(tmp_path, port, phase) as child:
            assert (await speaker.say("hello", "m1"))["state"] == "completed"
            told = await speaker.start("die", "m2")
            assert await exit_code(child) == -9
        async with process(tmp_path, port, "never"):
            first = None if told is None else await speaker.ended(told)
            if first is not None:
                assert first["state"] == ("failed" if phase in UNDER_WAY else "completed")
            again = await speaker.say("die", "m2")
            if again["state"] == "failed":  # nobody was told of the task, and this was its end
                again = await speaker.say("die", "m2")
            assert (again["state"], again["text"]) == ("completed", "last words")
            if first is not None:
                assert (again["id"] == first["id"]) == (first["state"] == "completed")
            assert (await speaker.say("die", "m2")) == again
            tries = (tmp_path / "workspace" / "tries").read_text().splitlines()
            assert len(tries) == (2 if phase in UNDER_WAY else 1)
            then = await speaker.say("and now?", "m3")
            assert then["state"] == "completed"
            assert then["text"] == "hello | hello | die | last words | and now?"
