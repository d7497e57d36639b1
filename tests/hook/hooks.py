"""Hooks of one session as a test calls them: recorded in this process, and delivered when the test says so."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, build_opener

from holdfast.cli.hook_transcripts import keep_transcript
from holdfast.client.settings import DEFAULT_SPOOL_BYTES, Settings
from holdfast.core import TimeOrderedIds
from holdfast.hook import inbox, journal, payload
from holdfast.hook.courier import NAME, Courier, Keep
from holdfast.hook.entries import TranscriptPlace

PATIENCE = 60.0

_opener = build_opener(ProxyHandler({}))


class Hooks:
    """The hooks of a session that reports to a gateway."""

    def __init__(self, home: Path, url: str, session: str) -> None:
        self.url = url
        self.session = session
        self.config = home / ".claude"
        self.environ = {**os.environ, "SESSION_SERVICE_URL": url}
        self.folder = inbox.folder_of(self.environ)

    def say(self, event: str, *, masks: bool = True, **more: Any) -> None:
        """Record a hook of Claude Code."""
        self.record({"session_id": self.session, "hook_event_name": event, **more}, masks=masks)

    def record(self, said: dict[str, Any], session: str | None = None, *, masks: bool = True) -> None:
        """Record any payload."""
        named = session or payload.session_of(said) or self.session
        about = {"session": named, "around": None, "masks": masks, "config": str(self.config)}
        inbox.append(self.folder, payload.record(said, about))

    def deliver(self) -> None:
        """Be the courier until nothing waits."""
        assert self.courier().run()

    def keep(self, place: TranscriptPlace) -> None:
        """Read a transcript to which nobody writes any more."""
        keep_transcript(self.url, place._replace(ended=False))

    def courier(self, *, keep: Keep | None = None, away: float = PATIENCE) -> Courier:
        """A courier that ends as soon as nothing waits."""
        settings = Settings.of(
            self.environ,
            TimeOrderedIds(),
            session_id=NAME,
            url=None,
            token=None,
            timeout=PATIENCE,
            spool=self.folder.parent,
            spool_bytes=DEFAULT_SPOOL_BYTES,
        )
        return Courier(settings, self.folder, keep or self.keep, idle=0, away=away)

    def log(self) -> str:
        """What the journal says."""
        file = self.folder / journal.FILE
        return file.read_text() if file.exists() else ""

    def events(self, session: str | None = None) -> list[dict[str, Any]]:
        """The actions of a session."""
        found: list[dict[str, Any]] = ask(self.url, f"/api/actions/{session or self.session}?limit=1000")["actions"]
        return found

    def all_events(self) -> list[dict[str, Any]]:
        """All actions of the session, however many."""
        found: list[dict[str, Any]] = []
        while page := ask(self.url, f"/api/actions/{self.session}?limit=100&after={found[-1]['seq'] if found else 0}"):
            if not page["actions"]:
                break
            found += page["actions"]
        return found

    def types(self) -> list[str]:
        """What happened in the session, in order."""
        return [each["type"] for each in self.events()]


def ask(url: str, path: str) -> Any:
    """What a GET answers."""
    with _opener.open(url + path, timeout=PATIENCE) as answer:
        return json.load(answer)


def hook(
    said: bytes | dict[str, Any], *options: str, environ: dict[str, str], folder: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    """`holdfast hook` as a process of its own."""
    raw = json.dumps(said).encode() if isinstance(said, dict) else said
    return subprocess.run(
        [sys.executable, "-m", "holdfast", "hook", *options],
        input=raw,
        env=environ,
        cwd=folder,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
