"""Sessions as plain files, for tools that read files: written once, or kept up with what happens."""

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.cli.errors import Refused
from holdfast.cli.output import number
from holdfast.cli.service import Service, at
from holdfast.core import Session, State
from holdfast.core.clock import from_iso
from holdfast.store.portable import FolderWriter, decode_event
from holdfast.terminal.progress import ProgressLine

PAGE = 1_000


async def export_files(
    service: Service, root: Path, session_ids: Sequence[str], progress: ProgressLine, *, one_file: bool = False
) -> dict[str, Any]:
    """Write each session's folder, going on after what is there; how many sessions and new events that is."""
    sessions = events = 0
    async for session_id in _chosen(service, session_ids):
        written = await _export(service, root, session_id, must_exist=bool(session_ids), one_file=one_file)
        sessions, events = sessions + (written is not None), events + (written.events if written else 0)
        progress(f"{number(sessions, 'session')}, {number(events, 'event')} written")
    return {"path": str(root), "sessions": sessions, "events": events}


async def follow_files(
    service: Service, root: Path, session_ids: Sequence[str], progress: ProgressLine, *, one_file: bool = False
) -> None:
    """Write the folders, then what comes, for ever: from a place in the feed that was taken before the writing."""
    async with aclosing(service.follow()) as feed:
        cursor = (await anext(feed))["cursor"]
    events = (await export_files(service, root, session_ids, progress, one_file=one_file))["events"]
    wanted = frozenset(session_ids)
    reached: dict[str, int] = {}
    async with aclosing(service.follow(cursor=cursor)) as feed:
        await anext(feed)
        progress(f"following: {number(events, 'event')} written", at_once=True)
        async for message in feed:
            session_id = message["sessionId"]
            if (wanted and session_id not in wanted) or message["seq"] <= reached.get(session_id, 0):
                continue
            written = await _export(service, root, session_id, must_exist=False, one_file=one_file)
            if written is not None:
                reached[session_id], events = written.seq, events + written.events
                progress(f"following: {number(events, 'event')} written")


class Written(NamedTuple):
    """Up to where a session's lines and documents agree, and how many events were written."""

    seq: int
    events: int


async def _export(service: Service, root: Path, session_id: str, *, must_exist: bool, one_file: bool) -> Written | None:
    """Bring one session's folder up to now; None if the session was deleted meanwhile."""
    try:
        found = await service.call("GET", at("/api/sessions/{}", session_id), limit=1)
        with FolderWriter(root, session_id, one_file=one_file) as folder:
            before = folder.seq
            while folder.seq < found["metadata"]["headSeq"]:
                lines = service.lines("GET", at("/api/sessions/{}/log", session_id), after=folder.seq, limit=PAGE)
                async for line in lines:
                    folder.event(decode_event(line))
                folder.flush()
            folder.documents(_session(found), _state(session_id, found["state"]))
            return Written(found["metadata"]["headSeq"], folder.seq - before)
    except Refused as refused:
        if must_exist or not refused.is_missing:
            raise
        return None


async def _chosen(service: Service, session_ids: Sequence[str]) -> AsyncIterator[str]:
    for session_id in session_ids:
        yield session_id
    cursor = None
    while not session_ids:
        page = await service.call("GET", "/api/sessions", limit=500, cursor=cursor)
        for session in page["sessions"]:
            yield session["sessionId"]
        cursor = page["cursor"]
        if cursor is None:
            return


def _session(found: dict[str, Any]) -> Session:
    row = found["metadata"]
    return Session(
        row["sessionId"],
        row["agent"],
        row["userId"],
        row["status"],
        from_iso(row["createdAt"]),
        from_iso(row["updatedAt"]),
        row["headSeq"],
        bytes.fromhex(row["headHash"]),
        row["metadata"],
        tuple(row["tags"]),
        found["initial"],
        found["final"],
        row["lineage"],
        row["held"],
        row["sizeBytes"],
    )


def _state(session_id: str, document: dict[str, Any]) -> State:
    own = {name: value for name, value in document.items() if name not in {"sessionId", "version"}}
    return State(session_id, document["version"], own, 0)
