"""A legacy store for the isolated variant: hot sessions, one of them torn, and transcripts that nobody names."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.core import strict_json
from holdfast.core.clock import to_iso

BEGAN = 1_760_000_000_000
TURNS = 3
TORN = b'{"type":"message","id":"torn","parentId":"'


@dataclass(frozen=True, slots=True)
class SeededSession:
    """One seeded transcript: its key if it is hot, and a word of its own in each entry that is whole."""

    agent: str
    session_id: str
    key: str | None
    words: tuple[str, ...]
    torn: bool


def seed(data: Path) -> list[SeededSession]:
    """Write the store, and tell what is in it."""
    sessions = [
        _session("main", "legacy-plain", key="agent:main:legacy:plain"),
        _session("main", "legacy-torn", key="agent:main:legacy:torn", torn=True),
        _session("other", "legacy-other", key="agent:other:legacy:plain"),
        _session("main", "legacy-unreferenced"),
        _session("main", "legacy-unreferenced-torn", torn=True),
    ]
    for agent in ("main", "other"):
        folder = data / "agents" / agent / "sessions"
        folder.mkdir(parents=True)
        own = [session for session in sessions if session.agent == agent]
        hot = {each.key: {"sessionId": each.session_id, "updatedAt": BEGAN} for each in own if each.key}
        (folder / "sessions.json").write_bytes(strict_json.encode(hot))
        for session in own:
            (folder / f"{session.session_id}.jsonl").write_bytes(_lines(session))
    return sessions


def _session(agent: str, session_id: str, *, key: str | None = None, torn: bool = False) -> SeededSession:
    words = tuple(f"{session_id}-word-{number}" for number in range(2 * TURNS))
    return SeededSession(agent, session_id, key, words, torn)


def _lines(session: SeededSession) -> bytes:
    head = {"type": "session", "version": 3, "id": session.session_id, "timestamp": to_iso(BEGAN), "cwd": "/"}
    entries = [_entry(session, number) for number in range(len(session.words))]
    written = b"".join(strict_json.encode(line) + b"\n" for line in (head, *entries))
    return written + TORN if session.torn else written


def _entry(session: SeededSession, number: int) -> dict[str, Any]:
    return {
        "type": "message",
        "id": f"{session.session_id}-{number}",
        "parentId": f"{session.session_id}-{number - 1}" if number else None,
        "timestamp": to_iso(BEGAN + 1_000 * (number + 1)),
        "message": {
            "role": "assistant" if number % 2 else "user",
            "content": [{"type": "text", "text": f"The word is {session.words[number]}."}],
        },
    }
