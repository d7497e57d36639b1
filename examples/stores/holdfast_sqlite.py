"""Holdfast's own store on SQLite, under its own contract."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from holdfast import __version__
from holdfast.core.errors import IdempotencyConflict, NotFound, StaleState, StaleWriter
from holdfast.prove.store.adapter import Payload, Refused, StoreAdapter
from holdfast.store import NewEvent, Store, open_store

DAMAGE = """
    UPDATE transcript_events SET payload = ?
    WHERE seq = ? AND session_no = (SELECT session_no FROM sessions WHERE session_id = ?)"""
GARBAGE = b"\x00\xff not what was written"


class Holdfast(StoreAdapter):
    """The store through its public API."""

    subject = f"holdfast {__version__}, SQLite"
    offers = frozenset({"keys", "expected", "batch", "state", "tenants", "listing", "delete", "damage"})

    def __init__(self, url: str, store: Store | None = None) -> None:
        self._url = url
        self._opened = store

    @property
    def store(self) -> Store:
        """The open store."""
        assert self._opened is not None, "not open"
        return self._opened

    async def open(self) -> None:
        self._opened = await open_store(self._url)

    async def close(self) -> None:
        await self.store.close()

    async def append(
        self, session: str, payload: Payload, *, key: str | None = None, expected: Any = None
    ) -> int | None:
        try:
            event = NewEvent("proof", payload, idempotency_key=key)
            return (await self.store.append(session, [event], expected_seq=expected)).first_seq
        except (StaleWriter, IdempotencyConflict) as error:
            raise Refused(error.code) from error

    async def append_all(self, session: str, payloads: Sequence[Payload]) -> None:
        await self.store.append(session, [NewEvent("proof", payload) for payload in payloads])

    async def read(self, session: str) -> list[Payload]:
        try:
            return [event.value() for event in await self.store.read(session, types=["proof"])]
        except NotFound:
            return []

    async def head(self, session: str) -> int:
        return (await self.store.sessions.get(session)).head_seq

    async def get_state(self, session: str) -> tuple[Payload, Any]:
        state = await self.store.state.get(session)
        return state.document, state.version

    async def put_state(self, session: str, document: Payload, *, expected: Any) -> None:
        try:
            await self.store.state.patch(session, document, expected_version=expected)
        except StaleState as error:
            raise Refused(error.code) from error

    def for_tenant(self, tenant: str) -> "Holdfast":
        return type(self)(self._url, self.store.for_tenant(tenant))

    async def sessions(self) -> list[str]:
        page = await self.store.sessions.list(limit=50)
        found = [session.session_id for session in page.sessions]
        while page.cursor is not None:
            page = await self.store.sessions.list(limit=50, cursor=page.cursor)
            found += [session.session_id for session in page.sessions]
        return found

    async def delete(self, session: str) -> None:
        await self.store.deletion.delete(session)

    async def damage(self, session: str, index: int) -> None:
        with sqlite3.connect(self._url.removeprefix("sqlite:///")) as connection:
            connection.execute(DAMAGE, (GARBAGE, index + 1, session))
        connection.close()


def factory(folder: Path) -> Holdfast:
    """The store in a file of its own."""
    return Holdfast(f"sqlite:///{folder.resolve()}/holdfast.db")
