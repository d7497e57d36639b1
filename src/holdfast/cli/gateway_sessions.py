"""A gateway's sessions, as the source and the destination of plain files."""

import asyncio
import json
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import IO, Any

from holdfast.cli.errors import GatewayRefusal
from holdfast.cli.service import GatewayClient, at
from holdfast.core import Event, NewEvent, Session, State, types
from holdfast.core.clock import from_iso, to_iso
from holdfast.store.portable import SealedLog, SessionHeader, decode_event, write_logs
from holdfast.store.transfer import (
    MissingDocuments,
    OnProgress,
    SessionDocuments,
    each_head,
    export_folder,
    export_folders,
    import_key,
)

CHUNK = 256 * 1024
PAGE = 500
FEW = 20
PACK_BYTES = 4 * 1024 * 1024
"""What one request brings of new sessions."""
ZIP = "application/zip"
JSON = "application/json"
CREATED = 201


class GatewaySessions:
    """The sessions that a service has."""

    pack_bytes = PACK_BYTES

    def __init__(self, service: GatewayClient) -> None:
        self._service = service

    async def session_ids(self) -> AsyncGenerator[str]:
        """All sessions, newest first."""
        async with aclosing(self.rows()) as rows:
            async for row in rows:
                yield row["sessionId"]

    async def session(self, session_id: str) -> tuple[Session, State]:
        """A session's row and its state."""
        found = await self._service.call("GET", at("/api/sessions/{}", session_id), limit=1)
        return _session(found), _state(session_id, found["state"])

    async def events(self, session_id: str, after: int, limit: int) -> AsyncGenerator[Event]:
        """The first events after a seq, as they come."""
        lines = self._service.lines("GET", at("/api/sessions/{}/log", session_id), after=after, limit=limit)
        async for line in lines:
            yield decode_event(line)

    async def head(self, session_id: str) -> int | None:
        """Where a session's log ends; None if there is no such session, or no longer."""
        try:
            found = await self._service.call("GET", at("/api/sessions/{}/resume", session_id), limit=1)
        except GatewayRefusal as refusal:
            if not refusal.is_missing:
                raise
            return None
        return int(found["session"]["headSeq"])

    async def heads(self, session_ids: Sequence[str]) -> dict[str, int]:
        """Where the logs of those of these sessions end that are there: of a few each is asked for, else all listed."""
        if len(session_ids) <= FEW:
            return await each_head(self.head, session_ids)
        wanted = set(session_ids)
        return {row["sessionId"]: row["headSeq"] async for row in self.rows() if row["sessionId"] in wanted}

    async def masked(self, session_ids: Sequence[str]) -> set[str]:
        """Those of these sessions that are there and were begun with their secrets masked."""
        from holdfast.transcripts.masking import is_masked

        if len(session_ids) > FEW:
            wanted = set(session_ids)
            return {
                row["sessionId"]
                async for row in self.rows()
                if row["sessionId"] in wanted and is_masked(row["metadata"])
            }
        there = await self.heads(session_ids)
        return {each for each in there if is_masked((await self.documents(each)).metadata)}

    async def add(self, archive: IO[bytes]) -> None:
        """Import the archive of a session."""

        async def chunks() -> AsyncIterator[bytes]:
            while chunk := archive.read(CHUNK):
                yield chunk

        async with self._service.stream("POST", "/api/import", content=chunks(), media=ZIP) as answer:
            await answer.aread()

    async def add_logs(self, logs: Sequence[tuple[SessionHeader, SealedLog]]) -> None:
        """Import an archive of these logs."""
        with tempfile.TemporaryFile() as file:
            await asyncio.to_thread(write_logs, logs, file)
            file.seek(0)
            await self.add(file)

    async def append(self, session_id: str, events: Sequence[NewEvent]) -> int:
        """Append events in their order, actions together, a response by itself; how many are new."""
        actions: list[NewEvent] = []
        count = 0
        for event in events:
            if event.type == types.RESPONSE:
                count += await self._append_actions(session_id, actions)
                count += await self._append_response(session_id, event)
                actions = []
            else:
                actions.append(event)
        return count + await self._append_actions(session_id, actions)

    async def documents(self, session_id: str) -> SessionDocuments:
        """What the session has beside its log."""
        found = await self._service.call("GET", at("/api/sessions/{}", session_id), limit=1)
        row = found["metadata"]
        return SessionDocuments(row["metadata"], row["tags"], found["state"], found["final"])

    async def supply(self, session_id: str, missing: MissingDocuments) -> None:
        """Give the session what it lacks."""
        path = at("/api/sessions/{}", session_id)
        if missing.metadata:
            key = import_key(missing.metadata)
            await self._service.call("PATCH", f"{path}/metadata", body=missing.metadata, key=key)
        if missing.tags:
            tags = {"add": missing.tags, "idempotencyKey": import_key(missing.tags)}
            await self._service.call("POST", f"{path}/tags", body=tags)
        if missing.state:
            key = import_key(missing.state)
            await self._service.call("PATCH", at("/api/state/{}", session_id), body=missing.state, key=key)
        if missing.end is not None:
            end = {**missing.end, "idempotencyKey": import_key(missing.end)}
            await self._service.call("POST", f"{path}/finalize", body=end)

    async def delete(self, session_id: str, reason: str) -> None:
        """Delete the session, archived first."""
        await self._service.call("DELETE", at("/api/sessions/{}", session_id), slow=True, reason=reason)

    async def follow(
        self, root: Path, session_ids: Sequence[str], progress: OnProgress, *, one_file: bool = False
    ) -> AsyncGenerator[int]:
        """Write folders, then what comes, for ever; how many events were written, each time that more were.

        What comes is told from a place in the feed that was taken before the writing, so nothing is missed.
        """
        async with aclosing(self._service.follow()) as feed:
            cursor = (await anext(feed))["cursor"]
        events = (await export_folders(self, root, session_ids, progress, one_file=one_file)).events
        wanted = frozenset(session_ids)
        reached: dict[str, int] = {}
        async with aclosing(self._service.follow(cursor=cursor)) as feed:
            await anext(feed)
            yield events
            async for message in feed:
                session_id = message["sessionId"]
                if (wanted and session_id not in wanted) or message["seq"] <= reached.get(session_id, 0):
                    continue
                done = await export_folder(self, root, session_id, must_exist=False, one_file=one_file)
                if done is not None:
                    reached[session_id], events = done.seq, events + done.events
                    yield events

    async def rows(self) -> AsyncGenerator[dict[str, Any]]:
        """The rows of all sessions, newest first."""
        cursor = None
        while True:
            page = await self._service.call("GET", "/api/sessions", limit=PAGE, cursor=cursor)
            for row in page["sessions"]:
                yield row
            cursor = page["cursor"]
            if cursor is None:
                return

    async def _append_actions(self, session_id: str, actions: Sequence[NewEvent]) -> int:
        if not actions:
            return 0
        batch = b"[" + b",".join(map(_action, actions)) + b"]"
        path = at("/api/actions/{}/batch", session_id)
        async with self._service.stream("POST", path, content=batch, media=JSON) as answer:
            return len(actions) - int(json.loads(await answer.aread())["replayed"])

    async def _append_response(self, session_id: str, response: NewEvent) -> int:
        path = at("/api/actions/{}/responses", session_id)
        async with self._service.stream("POST", path, content=_action(response)) as answer:
            await answer.aread()
            return int(answer.status_code == CREATED)


def _action(event: NewEvent) -> bytes:
    """An event as the action routes take it, its details as they were, line ends within them too."""
    members = {"eventId": event.event_id, "idempotencyKey": event.idempotency_key}
    if event.type != types.RESPONSE:
        members["type"], members["parentId"] = event.type, event.parent_id
    if event.created_at is not None:
        members["timestamp"] = to_iso(event.created_at)
    named = json.dumps({name: value for name, value in members.items() if value is not None}).encode()
    details = event.payload if isinstance(event.payload, bytes) else json.dumps(event.payload).encode()
    return named[:-1] + b', "details": ' + details + b"}"


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
