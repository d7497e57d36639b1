"""Google ADK's SqliteSessionService. `adk_database.py` has the same for DatabaseSessionService.

A writer holds a Session object, and ADK compares its time of update with the stored one. A plain append keeps the
object, as a runner does, and loads it again where ADK calls it stale. An event's id serves as its key.
"""

import sqlite3
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from google.adk.errors._stale_session_error import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.events import Event, EventActions
from google.adk.sessions.sqlite_session_service import SqliteSessionService

from holdfast.prove.store.adapter import Payload, Refused, StoreAdapter

USER = "proof"
ATTEMPTS = 100
DAMAGE = """
    UPDATE events SET event_data = '{torn'
    WHERE rowid = (SELECT rowid FROM events WHERE session_id = ? ORDER BY timestamp, rowid LIMIT 1 OFFSET ?)"""


class Adk(StoreAdapter):
    """A session service; tenants are app names. A payload is an event's custom metadata."""

    subject = f"google-adk {version('google-adk')}, SqliteSessionService"
    offers = frozenset({"keys", "expected", "state", "tenants", "listing", "delete", "damage"})
    duplicate: tuple[type[Exception], ...] = (sqlite3.IntegrityError,)

    def __init__(self, path: Path, service: Any, app: str = "default") -> None:
        self._path = path
        self._service = service
        self._app = app
        self._held: dict[str, Any] = {}

    async def append(
        self, session: str, payload: Payload, *, key: str | None = None, expected: Any = None
    ) -> int | None:
        event = Event(author=USER, invocation_id="proof", custom_metadata=payload)
        if key is not None:
            event.id = key
        if expected is not None:
            await self._append_as_seen(expected, event)
            return None
        for _ in range(ATTEMPTS):
            held = self._held.get(session) or await self._load(session)
            # ADK sorts by this time, so it is drawn as late as can be.
            event.timestamp = time.time()
            try:
                await self._service.append_event(held, event)
            except StaleSessionError:
                self._held.pop(session, None)
            except self.duplicate as error:
                raise Refused(type(error).__name__) from error
            else:
                self._held[session] = held
                return None
        raise TimeoutError(f"stale {ATTEMPTS} times in a row")

    async def _append_as_seen(self, seen: Any, event: Event) -> None:
        try:
            await self._service.append_event(seen, event)
        except StaleSessionError as error:
            raise Refused("StaleSessionError") from error

    async def _load(self, session: str) -> Any:
        """The session, made where there is none."""
        scope = {"app_name": self._app, "user_id": USER, "session_id": session}
        found = await self._service.get_session(**scope)
        if found is None:
            try:
                found = await self._service.create_session(**scope)
            except AlreadyExistsError:
                found = await self._service.get_session(**scope)
        return found

    async def read(self, session: str) -> list[Payload]:
        scope = {"app_name": self._app, "user_id": USER, "session_id": session}
        found = await self._service.get_session(**scope)
        events = [] if found is None else found.events
        return [event.custom_metadata for event in events if event.custom_metadata is not None]

    async def head(self, session: str) -> Any:
        return await self._load(session)

    async def get_state(self, session: str) -> tuple[Payload, Any]:
        seen = await self._load(session)
        return seen.state.get("document", {}), seen

    async def put_state(self, session: str, document: Payload, *, expected: Any) -> None:
        change = EventActions(state_delta={"document": document})
        await self._append_as_seen(expected, Event(author=USER, invocation_id="proof", actions=change))

    def for_tenant(self, tenant: str) -> "Adk":
        return type(self)(self._path, self._service, tenant)

    async def sessions(self) -> list[str]:
        listed = await self._service.list_sessions(app_name=self._app, user_id=USER)
        return [session.id for session in listed.sessions]

    async def delete(self, session: str) -> None:
        await self._service.delete_session(app_name=self._app, user_id=USER, session_id=session)

    async def damage(self, session: str, index: int) -> None:
        with sqlite3.connect(self._path) as connection:
            connection.execute(DAMAGE, (session, index))
        connection.close()


def factory(folder: Path) -> Adk:
    """The sessions in a file of the folder."""
    path = folder / "adk.db"
    return Adk(path, SqliteSessionService(str(path)))
