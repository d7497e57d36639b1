"""Transcripts that a courier reads: as the guard reads them, so that what both have read is there once."""

import asyncio
import time
from pathlib import Path

from holdfast.cli.guarded_sessions import GuardedSessions
from holdfast.cli.options import Location
from holdfast.cli.service import serving
from holdfast.core.errors import InvalidInput
from holdfast.hook.entries import TranscriptPlace
from holdfast.store.transfer import MissingDocuments
from holdfast.transcripts.guard import FolderWatch, TranscriptGuard
from holdfast.transcripts.guard.watch import signature_of
from holdfast.transcripts.new_session import description
from holdfast.transcripts.programs.claude_code import ClaudeCode

QUIET_SECONDS = 1.5
"""A transcript that has ended is read when nobody has written to it for so long: some lines come after the hooks."""
LONGEST_SECONDS = 15.0
LOOK_SECONDS = 0.1


def keep_transcript(url: str, place: TranscriptPlace) -> None:
    """Read a session's transcript, and those of its sub-agents, into the gateway's sessions."""
    if place.ended:
        _wait_until_quiet(place.file)
    asyncio.run(_keep(url, place))


async def _keep(url: str, place: TranscriptPlace) -> None:
    source = ClaudeCode()
    agents = place.file.with_suffix("") / "subagents"
    files = [place.file, *sorted(agents.glob("agent-*.jsonl"))]
    guard = TranscriptGuard(FolderWatch(source, place.folder), masks=place.masks)
    async with serving(Location(Path(), None, url, None), writes=True) as service:
        sessions = GuardedSessions(service)
        for path in files:
            signature = signature_of(str(path))
            if signature is None:
                continue
            await guard.keep(sessions, path, signature)
        if signature_of(str(place.file)) is not None:
            await _supply(sessions, source, place)
    if guard.report.refused:
        raise InvalidInput("; ".join(f"{file}: {why}" for file, why in guard.report.refused.items()))


async def _supply(sessions: GuardedSessions, source: ClaudeCode, place: TranscriptPlace) -> None:
    """Give the session what its transcript says of it and its hooks could not know: title, model, branch, place."""
    transcript = await asyncio.to_thread(source.transcript, place.file)
    body = description(source, place.folder, transcript, masks=place.masks)
    here = (await sessions.documents(place.session_id)).metadata
    missing = {name: value for name, value in (body.metadata or {}).items() if name not in here and name != "secrets"}
    if missing:
        await sessions.supply(place.session_id, MissingDocuments(missing, [], {}, None))


def _wait_until_quiet(file: Path) -> None:
    until = time.monotonic() + LONGEST_SECONDS
    while time.monotonic() < until:
        try:
            age = time.time() - file.stat().st_mtime
        except OSError:
            return
        if age > QUIET_SECONDS or age < -QUIET_SECONDS:
            return
        time.sleep(LOOK_SECONDS)
