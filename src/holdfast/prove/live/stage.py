"""What the steps of one run share: the gateway, its rows, the proof's keys and sessions, and what was seen last."""

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from holdfast.prove.evidence import Evidence
from holdfast.prove.live import legacy_files, proof_rows
from holdfast.prove.live.api import GatewayApi, at
from holdfast.prove.live.claims import require
from holdfast.prove.live.database import Look, ProofDatabase, Row
from holdfast.prove.live.legacy_files import FileMark
from holdfast.prove.live.log_scan import LogScan

REASON = "live proof"
NEIGHBOURS = 5
BRANCH, RECOVERY = ":branch", ":recovery"


class GatewayPower(Protocol):
    """A gateway that is ours to kill."""

    async def kill(self) -> None:
        """SIGKILL, and wait until it is silent."""
        ...

    async def start(self) -> None:
        """Start it again, and wait until it is ready."""
        ...


@dataclass(slots=True)
class Seen:
    """What the last look saw: rows of the proof, of all, of neighbours; legacy files, and files beside the store."""

    ours: dict[str, int] = field(default_factory=dict)
    total: dict[str, int] = field(default_factory=dict)
    neighbours: dict[str, Row] = field(default_factory=dict)
    legacy: dict[str, FileMark] = field(default_factory=dict)
    side: dict[str, FileMark] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class LiveStage:
    """One run. `alone` says that nobody else uses the gateway; `power` is there if it is ours; `may_interrupt` says
    that one that is not may be asked to interrupt a turn of the proof's own."""

    api: GatewayApi
    database: ProofDatabase
    evidence: Evidence
    log: LogScan
    agent: str
    key: str
    legacy: Path
    data: Path
    pid: int
    version: str
    started_at: int
    store: str = ""
    """The URL of the gateway's store, as the gateway tells it."""
    mirror: Path | None = None
    """Where the gateway has sessions kept as files, for others to read, if it does."""
    alone: bool = False
    power: GatewayPower | None = None
    may_interrupt: bool = False
    marker: str = field(default_factory=lambda: f"hf-live-{secrets.token_hex(6)}")
    sessions: list[str] = field(default_factory=list)
    tenant: str | None = None
    neighbours: list[str] = field(default_factory=list)
    seen: Seen = field(default_factory=Seen)

    @property
    def keys(self) -> list[str]:
        """The keys that the proof uses."""
        return [self.key, self.key + BRANCH, self.key + RECOVERY]

    def numbers(self, look: Look) -> list[int]:
        """The numbers of the proof's sessions."""
        return proof_rows.numbers_of(look, self.keys, self.sessions)

    def neighbour_rows(self, look: Look) -> dict[str, Row]:
        """The rows of the sessions of others that the proof looks at."""
        found = {each: proof_rows.session(look, each, self.tenant) for each in self.neighbours}
        return {each: row for each, row in found.items() if row is not None}

    async def choose_neighbours(self) -> None:
        """From now on, look at some sessions that are the tenant's and not the proof's."""
        listed = (await self.api.must("sessions of others", "GET", "/api/sessions", limit=NEIGHBOURS + 1))["sessions"]
        names = [each["sessionId"] for each in listed]
        self.neighbours = [each for each in names if each not in self.sessions][:NEIGHBOURS]
        with self.database.look() as look:
            row = proof_rows.session_on(look, self.key)
            self.tenant = row["tenant"] if row else None
            self.seen.neighbours = self.neighbour_rows(look)

    def mine(self, session_id: object) -> str:
        """A session that was made for the proof, which cleanup takes away again."""
        assert isinstance(session_id, str)
        if session_id not in self.sessions:
            self.sessions.append(session_id)
        return session_id

    def row(self, session_id: str) -> Row:
        """The row of a session of the proof; ClaimBroken if there is none."""
        with self.database.look() as look:
            found = proof_rows.session(look, session_id)
        require(found is not None, "session row", "the session is not in the database", expected="a row", got="none")
        assert found is not None
        return found

    async def say(self, key: str, text: str) -> dict[str, Any]:
        """A turn on a key, and its answer."""
        return await self.api.must("a turn", "POST", at("/api/chat/{}", key), {"text": text})

    async def history(self, key: str) -> dict[str, Any]:
        """What was said on a key, as the gateway tells it."""
        return await self.api.must("the history", "GET", at("/api/chat/{}/history", key))

    def note(self, what: str, **details: Any) -> None:
        """Put facts into the evidence."""
        self.evidence.event(self.api.step, what, "facts", **details)

    def look_around(self) -> None:
        """Take rows and files as they are now for what the next look is compared with."""
        with self.database.look() as look:
            self.seen.total = proof_rows.counts(look)
            self.seen.ours = proof_rows.counts_of(look, self.numbers(look))
        self.seen.legacy = legacy_files.legacy_marks(self.legacy)
        self.seen.side = legacy_files.side_marks(self.data, self.mirror)


@dataclass(frozen=True, slots=True)
class LiveStep:
    """A step: what it claims, what it does, which steps it builds on, and how rows of the proof may move in it.

    `moves` names the tables whose rows may, with the least and the most that come; no other table's may. None leaves it
    to the step.
    """

    name: str
    claim: str
    perform: Callable[[LiveStage], Awaitable[str]]
    needs: frozenset[str] = frozenset()
    moves: dict[str, tuple[int, int]] | None = field(default_factory=dict)


MANY = 10_000
"""More events than a step of ours makes."""
