"""Hermes Agent over A2A, with its own persistence: a session for each conversation, its memory for what outlives them.

Hermes runs in this process, as its documentation shows for Python programs. Holdfast has the tasks, the order of turns
and the messages that come again; what was said is in Hermes' state.db, and what it was asked to remember in its USER.md
and MEMORY.md.
"""

import asyncio
import base64
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

from holdfast.a2a import Attachment, Turn, data_folder, serve_from_environment

FOLDER = data_folder("hermes")
WORKSPACE = Path(os.environ.get("WORKSPACE") or FOLDER.parent / "workspace").resolve()
MODEL = os.environ.get("OPENAI_MODEL", "sim-1")
BASE_URL = os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:18080/v1")
API_KEY = os.environ.get("OPENAI_API_KEY") or "none"
CONFIG = {
    "model": {
        "provider": "custom",
        "default": MODEL,
        "base_url": BASE_URL,
        "api_key": API_KEY,
        "context_length": 200_000,
        "supports_vision": True,
    },
    "agent": {"image_input_mode": "native"},
    # A scanner of commands, which it would download.
    "security": {"tirith_enabled": False},
    "skills": {"external_dirs": [str(WORKSPACE / "skills")]},
}
TOOLSETS = ["file", "terminal", "memory", "session_search", "skills"]
MOST_AT_ONCE = 32
STOP_SECONDS = 3.0

# Hermes reads its folder and its settings when it is imported; JSON is YAML. It has a package `agent`, which is what
# this file would be.
os.environ |= {"HERMES_HOME": str(FOLDER), "TMPDIR": str(FOLDER / "tmp")}
(FOLDER / "tmp").mkdir(exist_ok=True)
(FOLDER / "config.yaml").write_text(json.dumps(CONFIG))
sys.path.remove(str(Path(__file__).parent))

from agent.replay_cleanup import sanitize_replay_history  # noqa: E402
from hermes_state import SessionDB  # noqa: E402
from run_agent import AIAgent  # noqa: E402

os.environ["TERMINAL_CWD"] = str(WORKSPACE)

GO_ON = "[System note: The previous turn was cut off. Go on with it: what has a result is done, and is not done again.]"

sessions = SessionDB()
threads = ThreadPoolExecutor(MOST_AT_ONCE, "turn")


async def shown(file: Attachment) -> list[dict[str, Any]]:
    """A file as Hermes has it from its messengers: a text as it is, a picture and its place, of others their place."""
    data = await file.read()
    if file.media_type.startswith("text/"):
        return [{"type": "text", "text": f"[File {file.name}]\n{data.decode(errors='replace')}"}]
    place = WORKSPACE / "inbox" / file.digest[:16] / (Path(file.name).name or "file")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)
    if file.media_type.startswith("image/"):
        url = f"data:{file.media_type};base64,{base64.b64encode(data).decode()}"
        words = f"[Image attached at: {place}]"
        return [{"type": "text", "text": words}, {"type": "image_url", "image_url": {"url": url}}]
    name = f"[attached file: {file.name} ({file.media_type}, {file.size} bytes)]"
    return [{"type": "text", "text": f"{name}\nIt is at {place}"}]


async def message(turn: Turn) -> str | list[dict[str, Any]]:
    """The message as Hermes takes it: its words and texts, with parts only if there are pictures."""
    parts = [{"type": "text", "text": turn.text}] if turn.text else []
    parts += [part for file in turn.attachments for part in await shown(file)]
    if all(part["type"] == "text" for part in parts):
        return "\n\n".join(part["text"] for part in parts)
    return parts


def begin(turn: Turn) -> tuple[str, list[dict[str, Any]]]:
    """The session that the conversation goes on in, and what it already has of this turn: something, if a process died
    in it."""
    session = sessions.resolve_resume_session_id(turn.context_id)
    kept = sessions.get_messages(session)
    this, mark = [turn.message_id, turn.message_seq], f"a2a:{turn.context_id}"
    newest, before = json.loads(sessions.get_meta(mark) or "[null, 0]")
    if newest == this:
        return session, [row for row in kept if row["id"] > before]
    sessions.set_meta(mark, json.dumps([this, kept[-1]["id"] if kept else 0]))
    return session, []


async def handle(turn: Turn) -> AsyncIterator[str]:
    """Hermes' answer as it comes; its past is what Hermes has in the session."""
    os.environ.pop("A2A_TOKEN", None)  # Not for the commands that Hermes runs.
    loop = asyncio.get_running_loop()
    pieces: asyncio.Queue[str | None] = asyncio.Queue()

    def say(piece: str | None) -> None:
        if piece:
            loop.call_soon_threadsafe(pieces.put_nowait, piece)

    said: Any = await message(turn)
    session, kept = await loop.run_in_executor(threads, begin, turn)
    match kept:
        case [*_, {"role": "assistant", "content": str(answered), "tool_calls": None}]:
            yield answered
            return
        case [{"id": first, "role": "user"}]:
            # Nothing was done yet: it is as if the message had not come.
            await loop.run_in_executor(threads, sessions.rewind_to_message, session, first)
        case [_, *_]:
            said = GO_ON
    agent = await loop.run_in_executor(threads, hermes, session, say)
    work = threads.submit(answer, agent, said)
    run = asyncio.wrap_future(work)
    run.add_done_callback(lambda _: pieces.put_nowait(None))
    begun = False
    try:
        while piece := await pieces.get():
            # Behind what tools have done, it begins with empty lines.
            if words := piece if begun else piece.lstrip():
                begun = True
                yield words
    finally:
        # Hermes interrupts the thread: that is not to be another turn's by now.
        if not work.cancel() and not work.done():
            agent.interrupt()
        await asyncio.wait([run], timeout=STOP_SECONDS)
    result = run.result()
    if result.get("failed"):
        raise RuntimeError(f"Hermes failed: {result.get('error')}")
    if not begun:
        yield result["final_response"]


def hermes(session: str, say: Callable[[str | None], None]) -> AIAgent:
    """An agent for one turn of a session."""
    return AIAgent(
        base_url=BASE_URL,
        api_key=API_KEY,
        provider="custom",
        model=MODEL,
        enabled_toolsets=TOOLSETS,
        session_id=session,
        session_db=sessions,
        platform="api_server",
        quiet_mode=True,
        stream_delta_callback=say,
    )


def answer(agent: AIAgent, said: str | list[dict[str, Any]]) -> dict[str, Any]:
    """What became of a turn; it is in the session, message by message, as soon as it was said or done."""
    history = sanitize_replay_history(sessions.get_messages_as_conversation(agent.session_id, repair_alternation=True))
    try:
        return agent.run_conversation(said, conversation_history=history, task_id=agent.session_id)
    finally:
        agent.release_clients()


if __name__ == "__main__":
    (WORKSPACE / "skills").mkdir(parents=True, exist_ok=True)
    serve_from_environment(handle, name="hermes", version=version("hermes-agent"), resume=True)
