"""An agent on the official A2A SDK as its tutorials write one: `python sdk_memory.py DATA PORT`.

The SDK's tasks are in its InMemoryTaskStore, and the executor keeps a history per context in a dictionary: load it, ask
the model, put it back. That looks right, and `holdfast prove` shows what is wrong with it:

    mkdir -p data/workspace
    holdfast prove --command "python examples/targets/sdk_memory.py ./data {port}" --workspace ./data/workspace

Needs `a2a-sdk[http-server]` and `uvicorn`. The model is a few lines that answer from what they are given to read.
"""

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

import uvicorn
from a2a.helpers.proto_helpers import new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types.a2a_pb2 import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Message
from starlette.applications import Starlette

MODEL_SECONDS = 0.1
WORD_SECONDS = 0.05


class Facts(Protocol):
    """Where the memory tool keeps what it is told; a dictionary is one."""

    def __setitem__(self, name: str, value: str) -> None: ...

    def get(self, name: str, otherwise: str) -> str: ...


class Agent:
    """The model and its tools: memory and files of a workspace. At a pace of 0 it answers at once."""

    def __init__(self, workspace: Path, pace: float = 1.0, memory: Facts | None = None) -> None:
        self._workspace = workspace
        self._pace = pace
        self._memory: Facts = {} if memory is None else memory
        workspace.mkdir(parents=True, exist_ok=True)

    async def answer(self, heard: list[str]) -> AsyncIterator[str]:
        """The answer to the last of the things heard; a slow one comes word by word."""
        await asyncio.sleep(MODEL_SECONDS * self._pace)
        request = heard[-1]
        if thought := re.search(r"think for (\d+(?:\.\d+)?) seconds?", request, re.I):
            await asyncio.sleep(float(thought[1]) * self._pace)
        words = self._words(heard)
        for word in re.findall(r"\S+\s*", words) if "slowly" in request else [words]:
            yield word
            await asyncio.sleep(WORD_SECONDS * self._pace)

    def _words(self, heard: list[str]) -> str:
        request = heard[-1]
        if wanted := re.search(r"append the line (\S+) to the file ([\w.-]+\w)", request, re.I):
            with (self._workspace / wanted[2]).open("a") as file:
                file.write(wanted[1] + "\n")
            return f"Appended to {wanted[2]}."
        if skill := re.search(r"use the skill ([\w-]+)", request, re.I):
            return self._words([(self._workspace / "skills" / skill[1] / "SKILL.md").read_text()])
        if told := re.search(r"remember: my ([\w ]+?) is (\w+)", request, re.I):
            self._memory[told[1]] = told[2]
            return f"I will remember your {told[1]}."
        if asked := re.search(r"recall my ([\w ]+)", request, re.I):
            return f"Your {asked[1]} is {self._memory.get(asked[1], 'not known to me')}."
        if counted := re.search(r"count (?:slowly )?to (\d+)", request, re.I):
            return " ".join(str(number) for number in range(1, int(counted[1]) + 1))
        if asked := re.search(r"what(?:'s| is) the ([\w ]+?) in ([\w.-]+\w)", request, re.I):
            return _last(rf"{asked[1]} is (\w+)", _files(asked[2], heard), f"The {asked[1]} is")
        if asked := re.search(r"what(?:'s| is) my ([\w ]+)", request, re.I):
            return _last(rf"my {asked[1]} is (\w+|«[^»]*»)", _kept(asked[1], heard), f"Your {asked[1]} is")
        if wanted := re.search(r"then say (\w+)", request, re.I):
            return wanted[1]
        return f"You said: {request}"


def _files(name: str, heard: list[str]) -> list[str]:
    """What was read of the files of this name."""
    return [file for said in heard for file in said.split("[attached file: ")[1:] if file.startswith(f"{name}]")]


def _kept(thing: str, heard: list[str]) -> list[str]:
    """What was said since this was to be forgotten, if it was."""
    forgotten = [place for place, said in enumerate(heard) if f"forget my {thing}".lower() in said.lower()]
    return heard[forgotten[-1] :] if forgotten else heard


def _last(pattern: str, heard: list[str], start: str) -> str:
    found = [value for said in heard for value in re.findall(pattern, said, re.I)]
    return f"{start} {found[-1]}." if found else "I do not know."


class Executor(AgentExecutor):
    """Runs a turn: the history of its context, what is said now, and the answer."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._histories: dict[str, list[str]] = {}

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Load the history, ask the model, put the history back."""
        assert context.message is not None
        assert context.context_id is not None
        if context.current_task is None:
            await event_queue.enqueue_event(new_task_from_user_message(context.message))
        updater = TaskUpdater(event_queue, context.message.task_id, context.context_id)
        await updater.start_work()
        heard = [*self._histories.get(context.context_id, []), read(context.message)]
        async for number, word in _numbered(self._agent.answer(heard)):
            await updater.add_artifact([new_text_part(word)], artifact_id="answer", append=number > 0)
        self._histories[context.context_id] = heard
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """The SDK has stopped `execute`; what is left is to say so."""
        assert context.task_id is not None
        assert context.context_id is not None
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def read(message: Message) -> str:
    """The words of a message and of the files in it, as a model reads them."""
    read = []
    for part in message.parts:
        if part.HasField("text"):
            read.append(part.text)
        elif part.HasField("raw"):
            read.append(f"[attached file: {part.filename}]\n{part.raw.decode(errors='replace')}")
        elif part.HasField("url"):
            read.append(f"[attached file: {part.filename} at {part.url}]")
    return "\n".join(read)


async def _numbered(words: AsyncIterator[str]) -> AsyncIterator[tuple[int, str]]:
    number = 0
    async for word in words:
        yield number, word
        number += 1


def card(url: str) -> AgentCard:
    """Both versions of the protocol on one address."""
    return AgentCard(
        name="tutorial",
        description="An agent on the official A2A SDK.",
        version="1",
        supported_interfaces=[
            AgentInterface(url=f"{url}/a2a", protocol_binding="JSONRPC", protocol_version=version)
            for version in ("1.0", "0.3")
        ],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="chat", name="chat", description="Talks.", tags=["chat"])],
    )


def listen(handler: DefaultRequestHandler, own: AgentCard, port: int) -> None:
    """Serve what a handler does, under this card, on loopback until a signal comes."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await handler.aclose()

    routes = [*create_agent_card_routes(own), *create_jsonrpc_routes(handler, "/a2a", enable_v0_3_compat=True)]
    app = Starlette(routes=routes, lifespan=lifespan)
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", timeout_graceful_shutdown=2)


if __name__ == "__main__":
    data, port = Path(sys.argv[1]), int(sys.argv[2])
    own = card(f"http://127.0.0.1:{port}")
    listen(DefaultRequestHandler(Executor(Agent(data / "workspace")), InMemoryTaskStore(), own), own, port)
