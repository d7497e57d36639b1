"""A store as the destination of an import, for whoever has the store itself: a gateway that starts."""

import asyncio
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from holdfast.core import NewEvent
from holdfast.core.errors import NotFound, SessionGone
from holdfast.store import Store
from holdfast.store.portable import IN_MEMORY, SealedLog, SessionHeader, write_logs
from holdfast.store.transfer import MissingDocuments, SessionDocuments, import_key
from holdfast.transcripts.masking import is_masked

PACK_BYTES = 256 * 1024
"""Read in less time than after which an idle lane begins with its chores: they would take the processor from us."""


class StoreSessions:
    """The sessions of a store."""

    pack_bytes = PACK_BYTES

    def __init__(self, store: Store) -> None:
        self._store = store
        self._importing = store.importing

    async def head(self, session_id: str) -> int | None:
        """Where a session's log ends; None if there is no such session, or no longer."""
        try:
            return (await self._store.sessions.get(session_id)).head_seq
        except (NotFound, SessionGone):
            return None

    async def heads(self, session_ids: Sequence[str]) -> dict[str, int]:
        """Where the logs of those of these sessions end that are there."""
        return await self._importing.heads(session_ids)

    async def masked(self, session_ids: Sequence[str]) -> set[str]:
        """Those of these sessions that are there and were begun with their secrets masked."""
        found = set()
        for session_id in await self.heads(session_ids):
            with suppress(NotFound, SessionGone):
                if is_masked((await self._store.sessions.get(session_id)).metadata):
                    found.add(session_id)
        return found

    async def add(self, archive: IO[bytes]) -> None:
        """Bring in new sessions."""
        with tempfile.NamedTemporaryFile() as file:
            await asyncio.to_thread(shutil.copyfileobj, archive, file)
            file.flush()
            await self._importing.archive(Path(file.name))

    async def add_logs(self, logs: Sequence[tuple[SessionHeader, SealedLog]]) -> None:
        """Bring in new sessions, from their logs: those of which much is on the disk by way of an archive."""
        if sum(log.size for _, log in logs) <= IN_MEMORY:
            await self._importing.logs(logs)
            return
        with tempfile.TemporaryFile() as file:
            await asyncio.to_thread(write_logs, logs, file)
            file.seek(0)
            await self.add(file)

    async def append(self, session_id: str, events: Sequence[NewEvent]) -> int:
        """Append events in their order, each once by its id; how many are new."""
        done = await self._store.append(session_id, events)
        return len(events) - done.replayed

    async def documents(self, session_id: str) -> SessionDocuments:
        """What the session has beside its log."""
        session, state = await self._store.sessions.get(session_id), await self._store.state.get(session_id)
        return SessionDocuments(session.metadata, list(session.tags), state.document, session.final)

    async def supply(self, session_id: str, missing: MissingDocuments) -> None:
        """Give the session what it lacks."""
        sessions = self._store.sessions
        if missing.metadata:
            key = import_key(missing.metadata)
            await sessions.patch_metadata(session_id, missing.metadata, idempotency_key=key)
        if missing.tags:
            await sessions.tag(session_id, add=missing.tags, idempotency_key=import_key(missing.tags))
        if missing.state:
            await self._store.state.patch(session_id, missing.state, idempotency_key=import_key(missing.state))
        if missing.end is not None:
            await sessions.finalize(session_id, **missing.end, idempotency_key=import_key(missing.end))

    async def delete(self, session_id: str, reason: str) -> None:
        """Delete the session, archived first."""
        await self._store.deletion.delete(session_id, reason=reason)
