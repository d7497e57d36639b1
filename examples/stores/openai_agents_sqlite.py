"""The OpenAI Agents SDK's SQLiteSession: one object for each session, all in one file."""

import sqlite3
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from agents import SQLiteSession

from holdfast.prove.store.adapter import Payload, StoreAdapter

DAMAGE = """
    UPDATE agent_messages SET message_data = '{torn'
    WHERE id = (SELECT id FROM agent_messages WHERE session_id = ? ORDER BY id LIMIT 1 OFFSET ?)"""


class OpenAIAgents(StoreAdapter):
    """Items go in and out as they are. There are no keys, no expectations, no tenants and no list of sessions."""

    subject = f"openai-agents {version('openai-agents')}, SQLiteSession"
    offers = frozenset({"batch", "delete", "damage"})

    def __init__(self, path: Path) -> None:
        self._path = path
        self._sessions: dict[str, SQLiteSession] = {}

    def _session(self, session: str) -> Any:
        if session not in self._sessions:
            self._sessions[session] = SQLiteSession(session, self._path)
        return self._sessions[session]

    async def close(self) -> None:
        for session in self._sessions.values():
            session.close()

    async def append(
        self, session: str, payload: Payload, *, key: str | None = None, expected: Any = None
    ) -> int | None:
        await self._session(session).add_items([payload])
        return None

    async def append_all(self, session: str, payloads: Sequence[Payload]) -> None:
        await self._session(session).add_items(list(payloads))

    async def read(self, session: str) -> list[Payload]:
        found: list[Payload] = await self._session(session).get_items()
        return found

    async def delete(self, session: str) -> None:
        await self._session(session).clear_session()

    async def damage(self, session: str, index: int) -> None:
        with sqlite3.connect(self._path) as connection:
            connection.execute(DAMAGE, (session, index))
        connection.close()


def factory(folder: Path) -> OpenAIAgents:
    """The sessions in a file of the folder."""
    return OpenAIAgents(folder / "sessions.db")
