"""Makes sessions in the older layout."""

import json
from pathlib import Path
from typing import Any

AT = "2025-03-01T10:00:00.000Z"


def message(entry_id: str, parent: str | None, role: str, text: str, **others: Any) -> str:
    """An entry that says something."""
    said = {"role": role, "content": [{"type": "text", "text": text}]}
    entry = {"type": "message", "id": entry_id, "parentId": parent, "timestamp": AT, "message": said, **others}
    return json.dumps(entry)


def conversation(session_id: str, *texts: str) -> list[str]:
    """A header, then the texts as messages of the user and the assistant in turn."""
    lines = [json.dumps({"type": "session", "version": 3, "id": session_id, "timestamp": AT, "cwd": "/srv"})]
    for number, text in enumerate(texts):
        parent = f"e{number - 1}" if number else None
        lines.append(message(f"e{number}", parent, ("user", "assistant")[number % 2], text))
    return lines


def write_session(folder: Path, session_id: str, lines: list[str], *, agent: str = "main", torn: str = "") -> Path:
    """Write a session's file."""
    sessions = folder / "agents" / agent / "sessions"
    sessions.mkdir(parents=True, exist_ok=True)
    path = sessions / f"{session_id}.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines) + torn)
    return path


def write_index(folder: Path, index: Any, *, agent: str = "main") -> Path:
    """Write the index of an agent; sessions are named by their ids alone, or as they are given."""
    sessions = folder / "agents" / agent / "sessions"
    sessions.mkdir(parents=True, exist_ok=True)
    if isinstance(index, dict):
        index = {
            key: {"sessionId": said, "updatedAt": 1_750_000_000_000} if isinstance(said, str) else said
            for key, said in index.items()
        }
    path = sessions / "sessions.json"
    path.write_text(index if isinstance(index, str) else json.dumps(index, indent=2))
    return path
