"""Google ADK over A2A, with its own persistence: sessions in a database, and the state of a user, which outlives them.

A session of ADK's is a conversation of A2A, an invocation is a turn. Holdfast has the tasks, the order of turns and the
messages that come again; what was said is in ADK's events, and what it was asked to remember in its `user:` state.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import aclosing
from importlib.metadata import version
from pathlib import Path
from typing import Any

from anthropic import AsyncAnthropic
from google.adk.agents import LlmAgent, RunConfig
from google.adk.agents.run_config import StreamingMode
from google.adk.apps import App, ResumabilityConfig
from google.adk.events import Event
from google.adk.models.anthropic_llm import AnthropicLlm
from google.adk.runners import Runner
from google.adk.sessions import DatabaseSessionService
from google.adk.tools import BaseTool, ToolContext
from google.genai.types import Blob, Content, Part

from holdfast.a2a import Attachment, Turn, data_folder, serve_from_environment

FOLDER = data_folder("google-adk")
SESSIONS = FOLDER / "sessions.db"
WORKSPACE = Path(os.environ.get("WORKSPACE") or FOLDER.parent / "workspace").resolve()
PATIENCE = 60.0
"""Seconds for which a turn waits for others to write: SQLite has one writer at a time."""
USER = "user"
OF_THE_USER = "user:"
SHOWN = ("image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf")
"""What the model is shown as it is; of other files that are not text it learns that they came."""


def remember(key: str, value: str, tool_context: ToolContext) -> str:
    """Remember a fact under a key, for every conversation to come."""
    tool_context.state[OF_THE_USER + key] = value
    return f"Remembered: {key} is {value}."


def recall(query: str, tool_context: ToolContext) -> str:
    """Recall what was remembered, in this conversation or another: all of it."""
    state = tool_context.state.to_dict()
    found = [f"{key.removeprefix(OF_THE_USER)}: {state[key]}" for key in state if key.startswith(OF_THE_USER)]
    return "\n".join(found) or "Nothing is remembered."


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


def tell(tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, error: Exception) -> dict[str, Any] | None:
    """What the model is told of a tool that failed, where ADK would end the turn."""
    return {"error": str(error)} if isinstance(error, OSError | ValueError) else None


agent = LlmAgent(
    name="assistant",
    model=AnthropicLlm(model=os.environ.get("ANTHROPIC_MODEL", "sim-1"), client=AsyncAnthropic(timeout=120)),
    instruction="You are a helpful assistant.",
    tools=[remember, recall, read_file, append_to_file],
    on_tool_error_callback=tell,
)
app = App(name="holdfast", root_agent=agent, resumability_config=ResumabilityConfig(is_resumable=True))
sessions = DatabaseSessionService(f"sqlite+aiosqlite:///{SESSIONS}", connect_args={"timeout": PATIENCE})
runner = Runner(app=app, session_service=sessions, auto_create_session=True)


async def shown(file: Attachment) -> list[Part]:
    """A file as the model sees it: its text, its bytes after its name, or its name alone."""
    data = await file.read()
    if file.media_type.startswith("text/"):
        return [Part(text=f"[File {file.name}]\n{data.decode(errors='replace')}")]
    name = Part(text=f"[attached file: {file.name} ({file.media_type}, {file.size} bytes)]")
    if file.media_type not in SHOWN:
        return [name]
    return [name, Part(inline_data=Blob(data=data, mime_type=file.media_type, display_name=file.name))]


async def message(turn: Turn) -> Content:
    """The message as ADK has it: its text, if it has any, and its files."""
    files = [part for file in turn.attachments for part in await shown(file)]
    words = [Part(text=turn.text)] if turn.text or not files else []
    return Content(role="user", parts=[*words, *files])


def said(event: Event) -> str:
    """The agent's words in an event."""
    parts = event.content.parts if event.content else None
    return "".join(part.text for part in parts or () if part.text and not part.thought)


async def past(turn: Turn, invocation: str) -> list[Event]:
    """What the agent has said and done in an invocation before its process died, oldest first."""
    session = await sessions.get_session(app_name=app.name, user_id=USER, session_id=turn.context_id)
    events = session.events if session else []
    return [event for event in events if event.invocation_id == invocation and event.author != USER]


async def handle(turn: Turn) -> AsyncIterator[str]:
    """The agent's answer as it comes; its past is the session's."""
    # ADK takes an invocation up again that is named to it, and does not hear its message twice. An id that comes again
    # with other words is another message.
    invocation = f"{turn.message_seq}-{turn.message_id}"
    before = await past(turn, invocation) if turn.interrupted else []
    for event in before:
        if words := said(event):
            yield words
    if any(event.is_final_response() and said(event) for event in before):
        return
    run = runner.run_async(
        user_id=USER,
        session_id=turn.context_id,
        invocation_id=invocation,
        new_message=await message(turn),
        run_config=RunConfig(streaming_mode=StreamingMode.SSE),
    )
    async with aclosing(run) as events:
        async for event in events:
            if event.partial and (words := said(event)):
                yield words


async def make_tables() -> None:
    """Have ADK make its tables before turns come at once; in a file of their own, because it takes no half of them."""
    new = SESSIONS.with_suffix(".new")
    new.unlink(missing_ok=True)
    async with DatabaseSessionService(f"sqlite+aiosqlite:///{new}") as first:
        await first.prepare_tables()
    new.replace(SESSIONS)


if __name__ == "__main__":
    if not SESSIONS.exists():
        asyncio.run(make_tables())
    serve_from_environment(handle, name="google-adk", version=version("google-adk"), resume=True)
