"""What `holdfast hook` takes of the time of a program that runs it: Python's own start is part of it.

It is run as Claude Code runs it, by the plugin's script, with a payload of usual size. The courier, which the first of
them starts, is at work beside them, as it is beside a session.
"""

import json
import os
import sys
import tempfile
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from bench.line import Effort, Line
from bench.load import percentile
from bench.servers import gateway, plain_environment

SCRIPT = Path(__file__).parents[1] / "integrations" / "claude_code" / "scripts" / "hook"
HOOKS = 100
QUICK_HOOKS = 20
AT_MOST_MS = 80.0
START_AT_MOST_MS = 500.0
NOBODY = "http://127.0.0.1:9"
"""An address at which nobody listens."""


def measure(effort: Effort) -> list[Line]:
    """A hook with and without a gateway, and a session's start, which asks the gateway for what was before."""
    hooks = QUICK_HOOKS if effort.quick else HOOKS
    with tempfile.TemporaryDirectory(dir=effort.folder) as place, gateway(Path(place) / "data") as server:
        there = _environment(Path(place), f"http://127.0.0.1:{server.port}")
        away = _environment(Path(place), NOBODY)
        session = str(uuid.uuid4())
        _run(there, _payload(session, "UserPromptSubmit", prompt="mend the roof"))
        _run(away, _payload(session, "UserPromptSubmit", prompt="mend the roof"))
        tool = _payload(session, "PostToolUse", tool_input={"command": "ls"}, tool_response={"stdout": "straw " * 500})
        rounds = [(_run(away, tool), _run(there, tool)) for _ in range(hooks)]
        starts = [_run(there, _payload(session, "SessionStart", source="resume")) for _ in range(hooks)]
        bare = [_run(there, b"", ["python", "-c", "pass"]) for _ in range(hooks)]
    beside = {"of which Python's start ms": median(bare)}
    return [
        _line(
            "hook, no gateway", f"a hook while no gateway is there, median of {hooks}", [a for a, _ in rounds], beside
        ),
        _line("hook", f"a hook while the gateway is there, median of {hooks}", [b for _, b in rounds], beside),
        _line("hook, session start", "a session's start with its context", starts, beside, START_AT_MOST_MS),
    ]


def _line(name: str, what: str, times: list[float], beside: dict[str, float], at_most: float = AT_MOST_MS) -> Line:
    seen = {"fastest ms": min(times), "p95 ms": percentile(times, 0.95), **beside}
    return Line(name, what, "ms", median(times), at_most=at_most, beside=seen)


def _environment(place: Path, url: str) -> dict[str, str]:
    ours = {"SESSION_SERVICE_URL": url, "XDG_STATE_HOME": str(place / "state")}
    return {**plain_environment(), **ours, "HOLDFAST_COMMAND": str(Path(sys.executable).parent / "holdfast")}


def _payload(session: str, event: str, **more: Any) -> bytes:
    return json.dumps({"session_id": session, "hook_event_name": event, "cwd": "/work", **more}).encode()


def _run(environment: Mapping[str, str], said: bytes, words: list[str] | None = None) -> float:
    """Milliseconds from the start of a hook to its end."""
    read, write = os.pipe()
    os.write(write, said)
    os.close(write)
    streams = [(os.POSIX_SPAWN_DUP2, read, 0), (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    began = time.perf_counter()
    if words is None:
        process = os.posix_spawn("/bin/sh", ["sh", str(SCRIPT), "Stop"], environment, file_actions=streams)
    else:
        process = os.posix_spawn(sys.executable, words, environment, file_actions=streams)
    os.close(read)
    _, status = os.waitpid(process, 0)
    took = (time.perf_counter() - began) * 1000
    assert status == 0
    return took
