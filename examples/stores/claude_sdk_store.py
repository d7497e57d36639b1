"""The Claude Agent SDK's SessionStore protocol, with the SDK's own InMemorySessionStore behind it.

Put another SessionStore into `factory` to prove that one. The reference store lives in one process, so whatever is
asked of another process is not there.
"""

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import uuid4

from claude_agent_sdk import InMemorySessionStore, SessionStore

from holdfast.prove.store.adapter import Payload, StoreAdapter


class ClaudeSessionStore(StoreAdapter):
    """An entry's uuid is its key, as the protocol says; tenants are project keys."""

    subject = f"claude-agent-sdk {version('claude-agent-sdk')}, InMemorySessionStore"
    offers = frozenset({"keys", "batch", "tenants", "listing", "delete"})

    def __init__(self, store: SessionStore, project: str = "default") -> None:
        self._store = store
        self._project = project

    def _key(self, session: str) -> Any:
        return {"project_key": self._project, "session_id": session}

    async def append(
        self, session: str, payload: Payload, *, key: str | None = None, expected: Any = None
    ) -> int | None:
        await self._store.append(self._key(session), [_entry(payload, key)])
        return None

    async def append_all(self, session: str, payloads: Sequence[Payload]) -> None:
        await self._store.append(self._key(session), [_entry(payload, None) for payload in payloads])

    async def read(self, session: str) -> list[Payload]:
        entries: Any = await self._store.load(self._key(session))
        return [entry["payload"] for entry in entries or []]

    def for_tenant(self, tenant: str) -> "ClaudeSessionStore":
        return type(self)(self._store, tenant)

    async def sessions(self) -> list[str]:
        return [entry["session_id"] for entry in await self._store.list_sessions(self._project)]

    async def delete(self, session: str) -> None:
        await self._store.delete(self._key(session))


def _entry(payload: Payload, key: str | None) -> Any:
    return {"type": "user", "uuid": key or str(uuid4()), "payload": payload}


def factory(folder: Path) -> ClaudeSessionStore:
    """The reference store, which needs no folder."""
    return ClaudeSessionStore(InMemorySessionStore())
