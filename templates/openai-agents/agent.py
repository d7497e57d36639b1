"""OpenAI Agents over A2A, with its own persistence: a session for each conversation, and one for what outlives them.

A `SQLiteSession` is a conversation of A2A. Holdfast has the tasks, the order of turns and the messages that come again;
what was said is in the SDK's sessions. So is what it was asked to remember, in one that two tools write to and read.
"""

import base64
import hashlib
import json
import os
from collections.abc import AsyncIterator
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import Any

from agents import Agent, Runner, SQLiteSession, function_tool, set_tracing_disabled

from holdfast.a2a import Attachment, Turn, data_folder, serve_from_environment

FOLDER = data_folder("openai-agents")
CONVERSATIONS, MEMORIES = FOLDER / "conversations.db", FOLDER / "memories.db"
WORKSPACE = Path(os.environ.get("WORKSPACE") or FOLDER.parent / "workspace").resolve()
memories = SQLiteSession("memories", MEMORIES)


@function_tool
async def remember(key: str, value: str) -> str:
    """Remember a fact under a key, for every conversation to come."""
    await memories.add_items([{"role": "user", "content": f"{key}: {value}"}])
    return f"Remembered: {key} is {value}."


@function_tool
async def recall(query: str) -> str:
    """Recall what was remembered, in this conversation or another: all of it, the newest last."""
    return "\n".join(str(item["content"]) for item in await memories.get_items()) or "Nothing is remembered."


def in_workspace(path: str) -> Path:
    """The path below the workspace; whatever leads out of it is refused, and the model is told so."""
    if not (found := (WORKSPACE / path).resolve()).is_relative_to(WORKSPACE):
        raise ValueError(f"{path} is not in the workspace")
    return found


@function_tool
def read_file(path: str) -> str:
    """Read a file of the workspace. What a skill is for, and how to use it, is in skills/NAME/SKILL.md."""
    return in_workspace(path).read_text()


@function_tool
def append_to_file(path: str, line: str) -> str:
    """Append a line to a file of the workspace."""
    with in_workspace(path).open("a") as file:
        file.write(f"{line}\n")
    return f"Appended to {path}."


set_tracing_disabled(True)
agent = Agent(
    name="assistant",
    model=os.environ.get("OPENAI_MODEL", "sim-1"),
    tools=[remember, recall, read_file, append_to_file],
)


async def shown(file: Attachment) -> list[dict[str, Any]]:
    """A file as the model sees it: its text, its bytes, or its name alone."""
    data = await file.read()
    if file.media_type.startswith("text/"):
        return [{"type": "input_text", "text": f"[File {file.name}]\n{data.decode(errors='replace')}"}]
    name = {"type": "input_text", "text": f"[attached file: {file.name} ({file.media_type}, {file.size} bytes)]"}
    url = f"data:{file.media_type};base64,{base64.b64encode(data).decode()}"
    if file.media_type.startswith("image/"):
        return [name, {"type": "input_image", "image_url": url, "detail": "auto"}]
    if file.media_type == "application/pdf":
        return [{"type": "input_file", "filename": file.name, "file_data": url}]
    return [name]


async def message(turn: Turn) -> dict[str, Any]:
    """The message as an item of a session: its text, if it has any, and its files."""
    words = [{"type": "input_text", "text": turn.text}] if turn.text else []
    return {"role": "user", "content": [*words, *[part for file in turn.attachments for part in await shown(file)]]}


async def handle(turn: Turn) -> AsyncIterator[str]:
    """The agent's answer as it comes; its past is the session's."""
    with closing(SQLiteSession(turn.context_id, CONVERSATIONS)) as session:
        kept = await begin(turn, session)
        if kept and kept[-1].get("role") == "assistant":
            yield "".join(part["text"] for part in kept[-1]["content"] if part["type"] == "output_text")
            return
        run = Runner.run_streamed(agent, [] if kept else [await message(turn)], session=session)
        try:
            async for event in run.stream_events():
                if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                    yield event.data.delta
        finally:
            run.cancel()


async def begin(turn: Turn, session: SQLiteSession) -> list[Any]:
    """What the session already has of this turn: something, if a process died in it; it is gone on with then."""
    place = FOLDER / "turns" / hashlib.sha256(turn.context_id.encode()).hexdigest()
    items, this = await session.get_items(), [turn.message_id, turn.message_seq]
    if place.exists():
        newest, before = json.loads(place.read_text())
        if newest == this:
            return items[before:]
    new = place.with_suffix(".new")
    new.write_text(json.dumps([this, len(items)]))
    new.replace(place)
    return []


if __name__ == "__main__":
    (FOLDER / "turns").mkdir(exist_ok=True)
    serve_from_environment(handle, name="openai-agents", version=version("openai-agents"), resume=True)
