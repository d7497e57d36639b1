"""The deliberately broken runtimes, which show that the proofs can fail (see `holdfast.prove.broken`)."""

import json
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Any

from holdfast.prove.targets.process import Launch, Probe
from holdfast.prove.targets.target import ProbeFailed


def broken(kind: str, data: Path, port: int, *, peer_url: str | None = None) -> Launch:
    """A process that runs one kind of broken runtime."""
    command = (sys.executable, "-P", "-m", "holdfast.prove.broken", kind, "--port", str(port), "--data", str(data))
    return Launch(
        name=f"broken:{kind}",
        command=command,
        port=port,
        ready_paths=("/readyz",),
        workspace=data / "workspace",
        peer_url=peer_url,
        next_command=(*command, "--next"),
        probe=Probe(partial(look, data / "log.jsonl"), shlex.join(("cat", str(data / "log.jsonl")))),
    )


async def look(log: Path, context_id: str) -> dict[str, Any]:
    """What the runtime's log holds: a history for each key, an event for each entry."""
    entries = _entries(log)
    of_context = [entry for entry in entries if entry.get("task", {}).get("context_id") == context_id]
    return {**_count(entries), "context": _count(of_context)}


def _entries(log: Path) -> list[dict[str, Any]]:
    try:
        return [json.loads(line) for line in log.read_bytes().splitlines()]
    except (OSError, ValueError) as error:
        raise ProbeFailed(f"{log} cannot be read: {error}") from error


def _count(entries: list[dict[str, Any]]) -> dict[str, int]:
    return {"sessions": len({entry["key"] for entry in entries if "key" in entry}), "events": len(entries)}
