"""smolagents over A2A: the steps of its memory are kept as they come, and given back to the next run.

smolagents keeps nothing on a disk. Its users keep `agent.memory.steps` and call `run(…, reset=False)`, which goes on
from them. Here each step is a row of a SQLite file, as the JSON of its `dict()`, and is made a step again by hand. For
what outlives conversations smolagents has nothing either: here two tools keep notes in the same file.
"""

import base64
import json
import os
import sqlite3
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Any

from anyio import to_thread
from PIL import Image
from pydantic_core import from_json
from rich.console import Console
from smolagents import ActionStep, FinalAnswerStep, LogLevel, OpenAIModel, TaskStep, ToolCallingAgent, tool, utils
from smolagents.memory import ToolCall
from smolagents.models import ChatMessageStreamDelta, agglomerate_stream_deltas
from smolagents.monitoring import AgentLogger, Timing, TokenUsage

from holdfast.a2a import Attachment, Turn, data_folder, serve_from_environment

FOLDER = data_folder("smolagents")
FILE = FOLDER / "smolagents.db"
WORKSPACE = Path(os.environ.get("WORKSPACE") or FOLDER.parent / "workspace").resolve()
PATIENCE = 60.0
"""Seconds for which a turn waits for others to write: SQLite has one writer at a time."""

TABLES = """
CREATE TABLE IF NOT EXISTS steps (
  number INTEGER PRIMARY KEY,
  conversation_id TEXT NOT NULL,
  message_id TEXT NOT NULL,
  message_seq INTEGER NOT NULL,
  step TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS steps_by_conversation ON steps (conversation_id, number);
CREATE TABLE IF NOT EXISTS notes (number INTEGER PRIMARY KEY, fact TEXT NOT NULL);"""
KEEP = "INSERT INTO steps (conversation_id, message_id, message_seq, step) VALUES (?1, ?2, ?3, ?4)"
KEPT = "SELECT message_id = ?2 AND message_seq = ?3, step FROM steps WHERE conversation_id = ?1 ORDER BY number"

silence = AgentLogger(LogLevel.OFF)
model = OpenAIModel(os.environ.get("OPENAI_MODEL", "sim-1"), client_kwargs={"timeout": 120})

Step = TaskStep | ActionStep


@contextmanager
def database() -> Iterator[sqlite3.Connection]:
    """A connection whose changes are on the disk once it is left, or not made."""
    with closing(sqlite3.connect(FILE, timeout=PATIENCE)) as opened:
        opened.execute("PRAGMA synchronous = EXTRA")
        with opened:
            yield opened


@tool
def remember(fact: str) -> str:
    """Remember a fact, for every conversation to come.

    Args:
        fact: What to remember, in a sentence.
    """
    with database() as opened:
        opened.execute("INSERT INTO notes (fact) VALUES (?1)", (fact,))
    return f"Remembered: {fact}"


@tool
def recall(query: str) -> str:
    """Recall what was remembered, in this conversation or another: all of it, the newest last.

    Args:
        query: What it is to be about.
    """
    with database() as opened:
        return "\n".join(fact for (fact,) in opened.execute("SELECT fact FROM notes ORDER BY number")) or "Nothing."


def in_workspace(path: str) -> Path:
    """The path below the workspace; whatever leads out of it is refused, and the model is told so."""
    if not (found := (WORKSPACE / path).resolve()).is_relative_to(WORKSPACE):
        raise ValueError(f"{path} is not in the workspace")
    return found


@tool
def read_file(path: str) -> str:
    """Read a file of the workspace. What a skill is for, and how to use it, is in skills/NAME/SKILL.md.

    Args:
        path: The file, below the workspace.
    """
    return in_workspace(path).read_text()


@tool
def append_to_file(path: str, line: str) -> str:
    """Append a line to a file of the workspace.

    Args:
        path: The file, below the workspace.
        line: The line.
    """
    with in_workspace(path).open("a") as file:
        file.write(f"{line}\n")
    return f"Appended to {path}."


TOOLS = [remember, recall, read_file, append_to_file]


def keep(turn: Turn, steps: Sequence[Step]) -> None:
    """Keep the next steps of a turn."""
    rows = [(turn.context_id, turn.message_id, turn.message_seq, json.dumps(document(step))) for step in steps]
    with database() as opened:
        opened.executemany(KEEP, rows)


def document(step: Step) -> dict[str, Any]:
    """A step as JSON, without the prompt and the raw answer, of which the model is not told again.

    `dict()` has the bare pixels of pictures, without a size, so they are kept as PNG; and once, since each step of a
    run has those of its task.
    """
    if isinstance(step, TaskStep):
        return {"task": step.task, "pictures": [utils.encode_image_base64(each) for each in step.task_images or ()]}
    left_out = {"model_input_messages", "model_output_message", "observations_images", "action_output"}
    return {name: value for name, value in step.dict().items() if name not in left_out}


def steps_of(turn: Turn) -> tuple[list[Step], list[Step]]:
    """The steps of the conversation: those of other turns, oldest first, and those that this one has already."""
    with database() as opened:
        rows = opened.execute(KEPT, (turn.context_id, turn.message_id, turn.message_seq)).fetchall()
    steps: tuple[list[Step], list[Step]] = ([], [])
    pictures: list[Image.Image] | None = None
    for is_of_this, text in rows:
        kept = json.loads(text)
        if "task" in kept:
            pictures = [Image.open(BytesIO(base64.b64decode(png))).copy() for png in kept["pictures"]] or None
            steps[is_of_this].append(TaskStep(kept["task"], pictures))
        else:
            steps[is_of_this].append(action(kept, pictures))
    return steps


def action(kept: dict[str, Any], pictures: list[Image.Image] | None) -> ActionStep:
    """The step that was kept."""
    time, used, error = kept.pop("timing"), kept.pop("token_usage"), kept.pop("error")
    calls = [ToolCall(id=call["id"], **call["function"]) for call in kept.pop("tool_calls")]
    return ActionStep(
        **kept,
        timing=Timing(time["start_time"], time["end_time"]),
        token_usage=TokenUsage(used["input_tokens"], used["output_tokens"]) if used else None,
        error=getattr(utils, error["type"])(error["message"], silence) if error else None,
        tool_calls=calls or None,
        observations_images=pictures,
    )


async def shown(file: Attachment) -> tuple[str, list[Image.Image]]:
    """A file as the model sees it: its text, its name with its picture, or its name alone."""
    data = await file.read()
    if file.media_type.startswith("text/"):
        return f"[File {file.name}]\n{data.decode(errors='replace')}", []
    name = f"[attached file: {file.name} ({file.media_type}, {file.size} bytes)]"
    if file.media_type.startswith("image/"):
        try:
            # smolagents sends PNG, which not every picture can be as it is.
            return name, [Image.open(BytesIO(data)).convert("RGBA")]
        except (Image.UnidentifiedImageError, Image.DecompressionBombError, OSError, SyntaxError):
            return f"{name}, which cannot be shown", []
    return name, []


async def handle(turn: Turn) -> AsyncIterator[str]:
    """The agent's answer; its past is the steps of its earlier runs."""
    before, this = await to_thread.run_sync(steps_of, turn)
    match this[-1:]:
        case [ActionStep(is_final_answer=True, observations=str(answered))]:
            yield answered
            return
    files = [await shown(file) for file in turn.attachments]
    task = "\n".join([*([turn.text] if turn.text else []), *[words for words, _ in files]])
    # Each agent has a console of its own, since a console shows one stream at a time: here none is shown.
    quiet = AgentLogger(LogLevel.OFF, Console(quiet=True))
    agent = ToolCallingAgent(TOOLS, model, stream_outputs=True, logger=quiet)
    agent.memory.steps = [*before]
    run = agent.run(task, stream=True, reset=False, images=[one for _, pictures in files for one in pictures] or None)
    # The message is kept before it is answered, and each step before the next one: a turn that a dead process left goes
    # on with those, and the message is there once.
    if this:
        agent.memory.steps = [*before, *this]
    known, said, event = len(before) + len(this), "", None
    deltas: list[ChatMessageStreamDelta] = []
    # A step is taken when it is asked for, so a turn that is canceled takes no more.
    while not isinstance(event, FinalAnswerStep):
        if new := agent.memory.steps[known:]:
            await to_thread.run_sync(keep, turn, new)
            known += len(new)
        event = await to_thread.run_sync(next, run, abandon_on_cancel=True)
        deltas = [*deltas, event] if isinstance(event, ChatMessageStreamDelta) else []
        if (words := last_word(deltas)).startswith(said) and words != said:
            yield words[len(said) :]
            said = words
    answer = str(event.output)
    yield answer[len(said) :] if answer.startswith(said) else f"\n\n{answer}"


def last_word(deltas: list[ChatMessageStreamDelta]) -> str:
    """What the model has given so far to the tool that takes its last word."""
    match agglomerate_stream_deltas(deltas).tool_calls:
        case [call] if call.function.name == "final_answer" and call.function.arguments:
            with suppress(ValueError):
                match from_json(call.function.arguments, allow_partial="trailing-strings"):
                    case {"answer": str(answer)}:
                        return answer
    return ""


if __name__ == "__main__":
    with database() as first:
        first.executescript(TABLES)
    serve_from_environment(handle, name="smolagents", version=version("smolagents"), resume=True)
