"""What the service has of a session, and waiting for it."""

import contextlib
import json
import random
import socket
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, build_opener

PATIENCE = 30.0

_opener = build_opener(ProxyHandler({}))


def ask(url: str, path: str) -> Any:
    """What a GET answers."""
    with _opener.open(url + path, timeout=PATIENCE) as answer:
        return json.load(answer)


def actions(url: str, session_id: str) -> list[dict[str, Any]]:
    """All actions of the session, oldest first."""
    found: list[dict[str, Any]] = []
    after = 0
    while page := ask(url, f"/api/actions/{session_id}?after={after}&limit=1000")["actions"]:
        found += page
        after = page[-1]["seq"]
    return found


def numbers(url: str, session_id: str) -> list[int]:
    """The `n` of each of its actions."""
    return [action["details"]["n"] for action in actions(url, session_id)]


def patches(url: str, session_id: str) -> list[dict[str, Any]]:
    """Every change of its state, oldest first."""
    with _opener.open(f"{url}/api/sessions/{session_id}/log", timeout=PATIENCE) as answer:
        events = [json.loads(line) for line in answer]
    return [event["payload"]["patch"] for event in events if event["type"] == "holdfast.state_updated"]


def free_port() -> int:
    """A port that nobody listens on, and that no connection is given: who dials one of those can reach himself."""
    while True:
        port = random.randrange(20_000, 30_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def spools(folder: Path) -> list[Path]:
    """The spools that are in a folder, hidden ones too."""
    return sorted(path for path in folder.iterdir() if path.is_dir()) if folder.exists() else []
