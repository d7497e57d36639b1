"""Pydantic AI over A2A, with the persistence that its documentation recommends.

Pydantic AI has no database of its own: it says which messages a run has added (`new_messages`), how they become JSON
(`ModelMessagesTypeAdapter`), and leaves it to its users to keep them. Here each turn is one row of a SQLite file, kept
after each of its steps. What outlives conversations is in the notebook of its harness (`Memory`, `SqliteMemoryStore`).
"""

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from importlib.metadata import version
from pathlib import Path

from pydantic_ai import (
    Agent,
    BinaryContent,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    ModelSettings,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai_harness import Memory
from pydantic_ai_harness.memory import SqliteMemoryStore

from holdfast.a2a import Attachment, Turn, data_folder, serve_from_environment

FOLDER = data_folder("pydantic-ai")
CONVERSATIONS, MEMORIES = FOLDER / "conversations.db", FOLDER / "memories.db"
WORKSPACE = Path(os.environ.get("WORKSPACE") or FOLDER.parent / "workspace").resolve()
PATIENCE = 60.0
"""Seconds for which a turn waits for others to write: SQLite has one writer at a time."""
SHOWN = ("image/", "application/pdf")
"""What the model is shown as it is; of other files that are not text it learns that they came."""

TABLE = """
CREATE TABLE IF NOT EXISTS turns (
  number INTEGER PRIMARY KEY,
  conversation_id TEXT NOT NULL,
  message_id TEXT NOT NULL,
  message_seq INTEGER NOT NULL,
  messages BLOB NOT NULL,
  UNIQUE (conversation_id, message_id, message_seq)
)"""
KEEP = """
INSERT INTO turns (conversation_id, message_id, message_seq, messages) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (conversation_id, message_id, message_seq) DO UPDATE SET messages = excluded.messages"""
TURNS = """
SELECT message_id = ?2 AND message_seq = ?3, messages FROM turns WHERE conversation_id = ?1 ORDER BY number"""


def in_workspace(path: str) -> Path:
    """The path below the workspace; whatever leads out of it is refused, and the model is told so."""
    if not (found := (WORKSPACE / path).resolve()).is_relative_to(WORKSPACE):
        raise ValueError(f"{path} is not in the workspace")
    return found


def read_file(path: str) -> str:
    """Read a file of the workspace. What a skill is for, and how to use it, is in skills/NAME/SKILL.md."""
    try:
        return in_workspace(path).read_text()
    except (OSError, ValueError) as error:
        return f"{path} cannot be read: {error}"


def append_to_file(path: str, line: str) -> str:
    """Append a line to a file of the workspace."""
    try:
        with in_workspace(path).open("a") as file:
            file.write(f"{line}\n")
    except (OSError, ValueError) as error:
        return f"{path} cannot be written: {error}"
    return f"Appended to {path}."


agent = Agent(
    OpenAIChatModel(os.environ.get("OPENAI_MODEL", "sim-1"), settings=ModelSettings(timeout=120)),
    tools=[read_file, append_to_file],
    capabilities=[Memory(SqliteMemoryStore(database=MEMORIES))],
)


@contextmanager
def database() -> Iterator[sqlite3.Connection]:
    """A connection whose changes are on the disk once it is left, or not made."""
    with closing(sqlite3.connect(CONVERSATIONS, timeout=PATIENCE)) as opened:
        opened.execute("PRAGMA synchronous = EXTRA")
        with opened:
            yield opened


def keep(turn: Turn, messages: list[ModelMessage]) -> None:
    """Keep what was said in a turn, in the place of what was kept of it before."""
    kept = ModelMessagesTypeAdapter.dump_json(messages)
    with database() as opened:
        opened.execute(KEEP, (turn.context_id, turn.message_id, turn.message_seq, kept))


def said(turn: Turn) -> tuple[list[ModelMessage], list[ModelMessage]]:
    """What was said in the other turns of the conversation, oldest first; and in this one, if a process died in it."""
    with database() as opened:
        rows = opened.execute(TURNS, (turn.context_id, turn.message_id, turn.message_seq)).fetchall()
    past: list[ModelMessage] = []
    now: list[ModelMessage] = []
    for this, raw in rows:
        (now if this else past).extend(ModelMessagesTypeAdapter.validate_json(raw))
    return past, now


async def shown(file: Attachment) -> list[UserContent]:
    """A file as the model sees it: its text, its bytes after its name, or its name alone."""
    data = await file.read()
    if file.media_type.startswith("text/"):
        return [f"[File {file.name}]\n{data.decode(errors='replace')}"]
    name = f"[attached file: {file.name} ({file.media_type}, {file.size} bytes)]"
    return [name, BinaryContent(data, media_type=file.media_type)] if file.media_type.startswith(SHOWN) else [name]


async def content(turn: Turn) -> list[UserContent]:
    """The message as content of a prompt: its text, if it has any, and its files."""
    files = [part for file in turn.attachments for part in await shown(file)]
    return [turn.text, *files] if turn.text else files


async def handle(turn: Turn) -> AsyncIterator[str]:
    """The agent's answer as it comes; its past is what Pydantic AI said in earlier runs."""
    past, now = await asyncio.to_thread(said, turn)
    if not now:
        # The message is kept before it is answered, so a turn that is canceled leaves it behind.
        now = [ModelRequest([UserPromptPart(await content(turn))])]
        await asyncio.to_thread(keep, turn, now)
    if isinstance(now[-1], ModelResponse):
        yield now[-1].text or ""
        return
    # Without a prompt it goes on from the last request: the message, or what the tools said before a process died.
    async with agent.iter(message_history=[*past, *now], conversation_id=turn.context_id) as run:
        async for node in run:
            if Agent.is_model_request_node(node):
                if new := run.new_messages():
                    await asyncio.to_thread(keep, turn, [*now, *new, node.request])
                async with node.stream(run.ctx) as events:
                    async for event in events:
                        match event:
                            case PartStartEvent(part=TextPart(content=text)) if text:
                                yield text
                            case PartDeltaEvent(delta=TextPartDelta(content_delta=text)) if text:
                                yield text
        await asyncio.to_thread(keep, turn, [*now, *run.new_messages()])


if __name__ == "__main__":
    with database() as first:
        first.execute(TABLE)
    serve_from_environment(handle, name="pydantic-ai", version=version("pydantic-ai-slim"), resume=True)
