"""AutoGen over A2A, with the persistence that its documentation recommends.

AutoGen keeps nothing by itself: an agent gives its state (`save_state`) and takes it back (`load_state`), as JSON that
its users keep. Here a conversation is one file. What outlives conversations is in a `ListMemory`, which AutoGen tells
the model before each answer; that is one more file, of what `dump_component` gives.
"""

import asyncio
import hashlib
import json
import os
from collections.abc import AsyncIterator
from importlib.metadata import version
from io import BytesIO
from pathlib import Path

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.messages import ModelClientStreamingChunkEvent, ToolCallExecutionEvent
from autogen_core import CancellationToken, Image
from autogen_core.memory import ListMemory, MemoryContent, MemoryMimeType
from autogen_core.models import AssistantMessage, ModelFamily, ModelInfo, UserMessage
from autogen_ext.models.openai import OpenAIChatCompletionClient
from PIL import Image as Picture
from PIL import UnidentifiedImageError

from holdfast.a2a import Attachment, Turn, data_folder, serve_from_environment

FOLDER = data_folder("autogen")
CONVERSATIONS, MEMORIES = FOLDER / "conversations", FOLDER / "memories.json"
WORKSPACE = Path(os.environ.get("WORKSPACE") or FOLDER.parent / "workspace").resolve()
MOST_TOOL_CALLS = 20

model = OpenAIChatCompletionClient(
    model=os.environ.get("OPENAI_MODEL", "sim-1"),
    timeout=120,
    # What ListMemory tells comes as one more system message with every turn.
    model_info=ModelInfo(
        vision=True,
        function_calling=True,
        json_output=True,
        structured_output=True,
        family=ModelFamily.UNKNOWN,
        multiple_system_messages=True,
    ),
)
memory = ListMemory.load_component(json.loads(MEMORIES.read_text())) if MEMORIES.exists() else ListMemory("memories")
one_at_a_time = asyncio.Lock()


def keep(file: Path, text: str) -> None:
    """Have the text in the file, and on the disk, or what was there before.

    Not in a thread: that would go on writing for a turn that is canceled, beside the next one.
    """
    new = file.with_suffix(".new")
    with new.open("w") as written:
        written.write(text)
        written.flush()
        os.fsync(written.fileno())
    new.replace(file)
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


async def remember(fact: str) -> str:
    """Remember a fact, for every conversation to come."""
    async with one_at_a_time:
        await memory.add(MemoryContent(content=fact, mime_type=MemoryMimeType.TEXT))
        keep(MEMORIES, memory.dump_component().model_dump_json())
    return f"Remembered: {fact}"


def in_workspace(path: str) -> Path:
    """The path below the workspace; whatever leads out of it is refused, and the model is told so."""
    if not (found := (WORKSPACE / path).resolve()).is_relative_to(WORKSPACE):
        raise ValueError(f"{path} is not in the workspace")
    return found


def read_file(path: str) -> str:
    """Read a file of the workspace. What a skill is for, and how to use it, is in skills/NAME/SKILL.md."""
    return in_workspace(path).read_text()


def append_to_file(path: str, line: str) -> str:
    """Append a line to a file of the workspace."""
    with in_workspace(path).open("a") as file:
        file.write(f"{line}\n")
    return f"Appended to {path}."


async def shown(file: Attachment) -> list[str | Image]:
    """A file as the model sees it: its text, its picture after its name, or its name alone."""
    data = await file.read()
    if file.media_type.startswith("text/"):
        return [f"[File {file.name}]\n{data.decode(errors='replace')}"]
    name = f"[attached file: {file.name} ({file.media_type}, {file.size} bytes)]"
    if file.media_type.startswith("image/"):
        try:
            return [name, Image.from_pil(Picture.open(BytesIO(data)))]
        except (UnidentifiedImageError, OSError):
            return [f"{name}, which cannot be shown"]
    return [name]


async def message(turn: Turn) -> UserMessage:
    """The message as AutoGen has it in a context: its text, if it has any, and its files."""
    files = [part for file in turn.attachments for part in await shown(file)]
    return UserMessage(content=[*([turn.text] if turn.text else []), *files] if files else turn.text, source="user")


async def handle(turn: Turn) -> AsyncIterator[str]:
    """The agent's answer as it comes; its past is the state that AutoGen gave in earlier turns."""
    agent = AssistantAgent(
        "assistant",
        model,
        system_message="You are a helpful assistant.",
        tools=[remember, read_file, append_to_file],
        memory=[memory],
        max_tool_iterations=MOST_TOOL_CALLS,
        model_client_stream=True,
    )
    file = CONVERSATIONS / f"{hashlib.sha256(turn.context_id.encode()).hexdigest()}.json"

    async def keep_state() -> None:
        keep(file, json.dumps({"message": this, "state": await agent.save_state()}))

    # An id that comes again with other words is another message.
    this, newest = [turn.message_id, turn.message_seq], None
    if file.exists():
        kept = json.loads(await asyncio.to_thread(file.read_text))
        newest = kept["message"]
        await agent.load_state(kept["state"])
    # The message is kept before it is answered, and so is what a tool has done: a turn that a dead process left goes on
    # with that, and the message is there once.
    if newest != this:
        await agent.model_context.add_message(await message(turn))
        await keep_state()
    match (await agent.model_context.get_messages())[-1]:
        case AssistantMessage(content=str(answered)):
            yield answered
            return
    cancellation = CancellationToken()
    try:
        async for event in agent.run_stream(cancellation_token=cancellation):
            match event:
                case ModelClientStreamingChunkEvent(content=text):
                    yield text
                case ToolCallExecutionEvent():
                    await keep_state()
        await keep_state()
    finally:
        cancellation.cancel()


if __name__ == "__main__":
    CONVERSATIONS.mkdir(exist_ok=True)
    serve_from_environment(handle, name="autogen", version=version("autogen-agentchat"), resume=True)
