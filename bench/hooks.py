"""What `holdfast hook` takes of the time of a program that runs it: Python's own start is part of it.

It is run as Claude Code runs it, by the plugin's script, with a payload of usual size. The courier, which the first of
them starts, is at work beside them, as it is beside a session.
"""

import contextlib
import json
import os
import signal
import sys
import tempfile
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from bench.line import Effort, Line
from bench.load import percentile
from bench.servers import gateway, plain_environment
from holdfast.hook.inbox import courier_of, folder_of

SCRIPT = Path(__file__).parents[1] / "integrations" / "claude_code" / "scripts" / "hook"
HOOK = ("/bin/sh", str(SCRIPT), "Stop")
HOOKS = 100
QUICK_HOOKS = 20
AT_MOST_MS = 80.0
START_AT_MOST_MS = 500.0
NOBODY = "http://127.0.0.1:9"
"""An address at which nobody listens."""


class HookRun(NamedTuple):
    """One run of a hook."""

    ms: float
    processor_ms: float


def measure(effort: Effort) -> list[Line]:
    """A hook with and without a gateway, and a session's start, which asks the gateway for what was before."""
    hooks = QUICK_HOOKS if effort.quick else HOOKS
    with tempfile.TemporaryDirectory(dir=effort.folder) as place, gateway(Path(place) / "data") as server:
        there = _environment(Path(place), f"http://127.0.0.1:{server.port}")
        away = _environment(Path(place), NOBODY)
        session = str(uuid.uuid4())
        try:
            for each in (there, away):
                _run(each, _payload(session, "UserPromptSubmit", prompt="mend the roof"))
            tool = _payload(session, "PostToolUse", tool_input={"command": "ls"}, tool_response={"out": "straw " * 500})
            rounds = [(_run(away, tool), _run(there, tool)) for _ in range(hooks)]
            starts = [_run(there, _payload(session, "SessionStart", source="resume")) for _ in range(hooks)]
            bare = [_run(there, b"", (sys.executable, "-c", "pass")) for _ in range(hooks)]
        finally:
            for each in (there, away):
                _end_courier(each)
    python = median(run.ms for run in bare)
    return [
        _line(
            "hook, no gateway", f"a hook while no gateway is there, median of {hooks}", [a for a, _ in rounds], python
        ),
        _line("hook", f"a hook while the gateway is there, median of {hooks}", [b for _, b in rounds], python),
        _line(
            "hook, start", f"a session's start with its context, median of {hooks}", starts, python, START_AT_MOST_MS
        ),
    ]


def _line(name: str, what: str, runs: Sequence[HookRun], python: float, at_most: float = AT_MOST_MS) -> Line:
    times = sorted(run.ms for run in runs)
    beside = {
        "fastest ms": times[0],
        "p95 ms": percentile(times, 0.95),
        "processor ms": median(run.processor_ms for run in runs),
        "Python's start alone ms": python,
    }
    return Line(name, what, "ms", median(times), at_most=at_most, beside=beside)


def _environment(place: Path, url: str) -> dict[str, str]:
    ours = {"SESSION_SERVICE_URL": url, "XDG_STATE_HOME": str(place / "state")}
    return {**plain_environment(), **ours, "HOLDFAST_COMMAND": str(Path(sys.executable).parent / "holdfast")}


def _end_courier(environment: dict[str, str]) -> None:
    found = courier_of(folder_of(environment))
    if found is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(found, signal.SIGKILL)


def _payload(session: str, event: str, **more: Any) -> bytes:
    return json.dumps({"session_id": session, "hook_event_name": event, "cwd": "/work", **more}).encode()


def _run(environment: Mapping[str, str], said: bytes, words: tuple[str, ...] = HOOK) -> HookRun:
    """A hook, or another program, from its start to its end."""
    read, write = os.pipe()
    os.write(write, said)
    os.close(write)
    streams = [(os.POSIX_SPAWN_DUP2, read, 0), (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    began = time.perf_counter()
    process = os.posix_spawn(words[0], words, environment, file_actions=streams)
    os.close(read)
    _, status, used = os.wait4(process, 0)
    took = time.perf_counter() - began
    assert status == 0
    return HookRun(took * 1000, (used.ru_utime + used.ru_stime) * 1000)
