"""The runtime that comes with Holdfast, as a gateway process with a fresh data folder."""

import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

from holdfast.core import strict_json
from holdfast.core.errors import InvalidJson
from holdfast.prove.targets.choice import BUNDLED, BUNDLED_FILE
from holdfast.prove.targets.command import fill, split
from holdfast.prove.targets.process import HOST, Launch, Probe
from holdfast.prove.targets.target import ProbeFailed
from holdfast.prove.wire.client import TransportFault, Wire

COMPACT_AT = 1_000
"""Tokens: few enough that a long conversation is compacted again and again."""
PROBE_SECONDS = 10.0
KEY = "agent:main:a2a:"
SETTINGS = ("HOLDFAST_", "OPENAI_", "ANTHROPIC_")


def bundled(
    data: Path,
    port: int,
    store: str | None,
    *,
    files: bool = False,
    peer_url: str | None = None,
    next_line: str | None = None,
) -> Launch:
    """`holdfast serve` on loopback; ready when the gateway itself says so. It compacts after a page or two, and
    its agent card offers both versions of A2A, which it always speaks. With `files` its conversations
    are in files.

    Settings of the user (environment, a file in the current folder) do not reach it: they could name a store that
    is in use, and the proof writes and kills, or a model that costs money and answers differently each time. Nor is
    what lies in the data folder imported, where it starts: the data may be somebody else's.

    This version is no next version of itself: `next_line` starts one, with `{port}`, `{data}`, `{peer}` and `{store}`
    filled in, in the same folder and environment.
    """
    command = [
        sys.executable,
        "-P",
        "-m",
        "holdfast",
        "serve",
        "--host",
        HOST,
        "--port",
        str(port),
        "--data",
        str(data),
        "--compact-at",
        str(COMPACT_AT),
        "--a2a-card",
        "both",
    ]
    command += ["--agent-storage", "file"] if files else []
    command += ["--allow-agent", peer_url] if peer_url else []
    url = f"http://{HOST}:{port}"
    filling = {"{port}": str(port), "{data}": str(data), "{peer}": peer_url or "", "{store}": store or ""}
    return Launch(
        name=BUNDLED_FILE if files else BUNDLED,
        command=(*command, "--store", store) if store else tuple(command),
        port=port,
        ready_paths=("/readyz",),
        workspace=data / "workspace",
        environment={name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)},
        folder=data,
        peer_url=peer_url,
        next_command=fill(split(next_line, "--next-command"), filling) if next_line else (),
        probe=Probe(partial(look, url), f"curl -sS {url}/api/query/stats {url}/api/keys/{KEY}{{context}}"),
    )


async def look(url: str, context_id: str) -> dict[str, Any]:
    """What the gateway says of its store, and of the session that the context's key routes to."""
    async with Wire(url) as wire:
        stats = await _get(wire, "/api/query/stats")
        key = await _get(wire, f"/api/keys/{KEY}{context_id}")
        sessions = {route["sessionId"] for route in key.get("routes", ())}
        events = 0
        for session in sessions:
            events += (await _get(wire, f"/api/sessions/{session}"))["metadata"]["headSeq"]
    return {
        "sessions": stats["sessions"],
        "events": stats["events"],
        "context": {"sessions": len(sessions), "events": events},
    }


async def _get(wire: Wire, path: str) -> dict[str, Any]:
    """The answer's document; an empty one where the gateway has no such thing."""
    try:
        answer = await wire.get(path, within=PROBE_SECONDS)
        if answer.status == 404:
            return {}
        if answer.status != 200:
            raise ProbeFailed(f"GET {path} answered {answer.status}")
        document: dict[str, Any] = strict_json.parse(answer.body)
    except (TransportFault, InvalidJson) as error:
        raise ProbeFailed(f"GET {path}: {error.message}") from error
    return document
