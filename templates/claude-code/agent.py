"""Claude Code over A2A, with its own persistence: a session for each conversation, its memory for what outlives them.

Each turn is one run of its command line, which dies with this process. Holdfast has the tasks, the order of turns and
the messages that come again; what was said is in Claude Code's transcripts, and what it was asked to remember in its
auto-memory.
"""

import asyncio
import base64
import ctypes
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from holdfast.a2a import Attachment, Turn, data_folder, serve_from_environment

FOLDER = data_folder("claude-code")
WORKSPACE = Path(os.environ.get("WORKSPACE") or FOLDER.parent / "workspace").resolve()
SDK = importlib.util.find_spec("claude_agent_sdk")
assert SDK is not None and SDK.origin is not None
CLAUDE = Path(SDK.origin).parent / "_bundled" / "claude"

TOOLS = "Bash,Edit,Read,Skill,Write"
SETTINGS = {"cleanupPeriodDays": 36_500}
"""Without it Claude Code deletes every conversation of which nothing was heard for 30 days."""
COMMAND = (
    *(CLAUDE, "--print", "--verbose", "--include-partial-messages"),
    *("--input-format", "stream-json", "--output-format", "stream-json"),
    *("--tools", TOOLS, "--allowedTools", TOOLS, "--settings", json.dumps(SETTINGS)),
)
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "A2A_TOKEN"} | {
    "HOME": str(FOLDER / "home"),
    "TMPDIR": str(FOLDER / "tmp"),
    "CLAUDE_CODE_TMPDIR": str(FOLDER / "tmp"),
    "CLAUDE_CONFIG_DIR": str(FOLDER),
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_INSTALLATION_CHECKS": "1",
    "DISABLE_TELEMETRY": "1",
}
GO_ON = {"CLAUDE_CODE_RESUME_INTERRUPTED_TURN": "1"}
MOST_AT_ONCE = 8
"""Runs at a time: each has some 250 MB of memory. Other turns wait."""
ROOM = asyncio.Semaphore(MOST_AT_ONCE)
LONGEST_LINE = 2**26
STOP_SECONDS = 3.0
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


def die_with_parent() -> None:
    """In the child: be killed as soon as the parent is gone; a SIGTERM to its group is for it to pass on."""
    os.setpgid(0, 0)
    if sys.platform == "linux":
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def transcript(session: UUID) -> Path | None:
    """Where Claude Code has a session, if it has it.

    One without a message is taken away: it was killed so early that it can neither be resumed nor begun.
    """
    for path in FOLDER.glob(f"projects/*/{session}.jsonl"):
        if b'"type":"user"' in path.read_bytes():
            return path
        path.unlink()
    return None


async def shown(file: Attachment) -> dict[str, Any]:
    """A file as Claude Code takes it: a text, a picture or a PDF as it is, of others where they are."""
    data = await file.read()
    if file.media_type.startswith("text/"):
        text = {"type": "text", "media_type": "text/plain", "data": data.decode(errors="replace")}
        return {"type": "document", "title": file.name, "source": text}
    coded = {"type": "base64", "media_type": file.media_type, "data": base64.b64encode(data).decode()}
    if file.media_type == "application/pdf":
        return {"type": "document", "title": file.name, "source": coded}
    if file.media_type.startswith("image/"):
        return {"type": "image", "source": coded}
    place = WORKSPACE / "inbox" / file.digest[:16] / (Path(file.name).name or "file")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)
    return {"type": "text", "text": f"It is at {place}"}


async def content(turn: Turn) -> list[dict[str, Any]]:
    """The message as blocks: its text, if it has any, and its files, each after its name."""
    blocks = [{"type": "text", "text": turn.text}] if turn.text else []
    for file in turn.attachments:
        block = await shown(file)
        if "title" not in block:
            words = f"[attached file: {file.name} ({file.media_type}, {file.size} bytes)]"
            blocks.append({"type": "text", "text": words})
        blocks.append(block)
    return blocks


@asynccontextmanager
async def run(session: UUID, *, known: bool, go_on: bool) -> AsyncIterator[asyncio.subprocess.Process]:
    """A run of the command line, once there is room for it; it ends with whoever wanted it."""
    async with ROOM:
        process = await asyncio.create_subprocess_exec(
            *COMMAND,
            *("--resume" if known else "--session-id", str(session)),
            cwd=WORKSPACE,
            env=ENVIRONMENT | GO_ON if go_on else ENVIRONMENT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            limit=LONGEST_LINE,
            preexec_fn=die_with_parent,
        )
        try:
            yield process
        finally:
            await end(process)


async def end(process: asyncio.subprocess.Process) -> None:
    """End a run that is not over, in a few seconds at most."""
    if process.returncode is None:
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), STOP_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()


async def handle(turn: Turn) -> AsyncIterator[str]:
    """Claude Code's answer as it comes; its past is Claude Code's own."""
    session = uuid5(NAMESPACE_URL, f"a2a:{turn.context_id}")
    # An id that comes again with other words is another message.
    message = str(uuid5(session, f"{turn.message_seq}-{turn.message_id}"))
    sent = {"type": "user", "uuid": message, "message": {"role": "user", "content": await content(turn)}}
    known = transcript(session)
    # A turn that a dead process left has its message in the transcript: Claude Code does not hear it twice, but goes on
    # with what it was doing.
    heard = known is not None and message.encode() in known.read_bytes()
    result: dict[str, Any] = {}
    said = ""
    async with run(session, known=known is not None, go_on=heard) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(sent).encode() + b"\n")
        process.stdin.close()
        async for line in process.stdout:
            match json.loads(line):
                case {"type": "stream_event", "event": {"delta": {"type": "text_delta", "text": words}}}:
                    said += words
                    yield words
                case {"type": "result"} as result:
                    pass
        # What was said is on the disk once it has ended, not before.
        code = await process.wait()
    if code or result.get("is_error", not heard):
        raise RuntimeError(f"Claude Code ended with {code}: {result.get('result')}")
    if not said:
        yield result["result"] if result or not known else last_answer(known)


def last_answer(path: Path) -> str:
    """The words at the end of a session: what was answered, if that was all that a dead process had left to do."""
    last: dict[str, list[str]] = {}
    for line in path.read_text().splitlines():
        with suppress(ValueError):
            match json.loads(line):
                case {"type": "assistant", "message": {"id": name, "content": blocks}}:
                    words = [block["text"] for block in blocks if block["type"] == "text"]
                    last = {name: last.get(name, []) + words}
    return "".join(*last.values())


if __name__ == "__main__":
    shutil.rmtree(FOLDER / "tmp", ignore_errors=True)
    for folder in (FOLDER / "home", FOLDER / "tmp", WORKSPACE / ".claude"):
        folder.mkdir(parents=True, exist_ok=True)
    skills = WORKSPACE / ".claude" / "skills"
    if not skills.is_symlink() and not skills.exists():
        skills.symlink_to("../skills")
    said = subprocess.run([CLAUDE, "--version"], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    serve_from_environment(handle, name="claude-code", version=said.stdout.split()[0], resume=True)
