"""Pydantic AI over A2A, with the persistence that its documentation recommends.

Pydantic AI has no database of its own: it says which messages a run has added (`new_messages`), how they become JSON
(`ModelMessagesTypeAdapter`), and leaves it to its users to keep them. Here each turn is one row of a SQLite file. What
outlives conversations is in the notebook of its harness (`Memory`, `SqliteMemoryStore`).
"""

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from importlib.metadata import version

from pydantic_ai import (
    Agent,
    AgentRunResultEvent,
    BinaryContent,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
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
PATIENCE = 60.0
"""Seconds for which a turn waits for others to write: SQLite has one writer at a time."""
SHOWN = ("image/", "application/pdf")
"""What the model is shown as it is; of other files that are not text it learns that they came."""

TABLE = """
CREATE TABLE IF NOT EXISTS turns (
  number INTEGER PRIMARY KEY,
  conversation_id TEXT NOT NULL,
  message_id TEXT NOT NULL,
  messages BLOB NOT NULL,
  UNIQUE (conversation_id, message_id)
)"""
KEEP = """
INSERT INTO turns (conversation_id, message_id, messages) VALUES (?1, ?2, ?3)
ON CONFLICT (conversation_id, message_id) DO UPDATE SET messages = excluded.messages"""
PAST = "SELECT messages FROM turns WHERE conversation_id = ?1 AND message_id <> ?2 ORDER BY number"

agent = Agent(
    OpenAIChatModel(os.environ.get("OPENAI_MODEL", "sim-1"), settings=ModelSettings(timeout=120)),
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
    with database() as opened:
        opened.execute(KEEP, (turn.context_id, turn.message_id, ModelMessagesTypeAdapter.dump_json(messages)))


def past(turn: Turn) -> list[ModelMessage]:
    """What was said in the other turns of the conversation, oldest first."""
    with database() as opened:
        rows = opened.execute(PAST, (turn.context_id, turn.message_id)).fetchall()
    return [message for (raw,) in rows for message in ModelMessagesTypeAdapter.validate_json(raw)]


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
    prompt = await content(turn)
    # The message is kept before it is answered, so a turn that is canceled leaves it behind. A turn that a dead process
    # left is begun again with the same id: its row is written again, and the message is there once.
    await asyncio.to_thread(keep, turn, [ModelRequest([UserPromptPart(prompt)])])
    history = await asyncio.to_thread(past, turn)
    async with agent.run_stream_events(prompt, message_history=history, conversation_id=turn.context_id) as events:
        async for event in events:
            match event:
                case PartStartEvent(part=TextPart(content=text)) | PartDeltaEvent(delta=TextPartDelta(text)) if text:
                    yield text
                case AgentRunResultEvent(result=result):
                    await asyncio.to_thread(keep, turn, result.new_messages())


if __name__ == "__main__":
    with database() as first:
        first.execute(TABLE)
    serve_from_environment(handle, name="pydantic-ai", version=version("pydantic-ai-slim"), resume=True)
