"""What the steps of a clause have at hand: clients, a seeded chance, a common start, and a place for what they see."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from holdfast.core.redact import redact_file
from holdfast.prove.evidence import Evidence
from holdfast.prove.store.client import StoreClient

LEAD_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class Workload:
    """How much is done: kills and rounds of each race, the length of the long session, seconds for one clause."""

    cycles: int = 20
    events: int = 10_000
    seconds: float = 180.0


class StoreStage:
    """One clause's view of the store: a folder of its own, and every process that it starts."""

    def __init__(
        self,
        clause: str,
        adapter: str,
        folder: Path,
        offers: frozenset[str],
        bounds: Workload,
        chance: Random,
        evidence: Evidence,
        on_step: Callable[[str, str], None],
    ) -> None:
        self.clause = clause
        self.folder = folder
        self.offers = offers
        self.bounds = bounds
        self.chance = chance
        self._adapter = adapter
        self._evidence = evidence
        self._on_step = on_step
        self._clients: list[StoreClient] = []
        self._log = evidence.folder / f"clients-{clause}.log"

    def step(self, step: str, **details: Any) -> None:
        """Say what is done now, to whoever watches and to the evidence."""
        self._on_step(self.clause, step)
        self._evidence.event(self.clause, step, "step", **details)

    async def loaded(self) -> StoreClient:
        """A new process that has loaded the adapter but not opened the store."""
        client = await StoreClient.start(self._adapter, self.folder, self._log)
        self._clients.append(client)
        return client

    async def client(self) -> StoreClient:
        """A new process with the store open."""
        client = await self.loaded()
        await client.must("open")
        return client

    async def clients(self, count: int) -> list[StoreClient]:
        """Several new processes with the store open; the first opens alone, so that only it makes the store."""
        loaded = await asyncio.gather(*(self.loaded() for _ in range(count)))
        for client in loaded:
            await client.must("open")
        return list(loaded)

    def soon(self) -> float:
        """A moment at which processes can begin together."""
        return time.monotonic() + LEAD_SECONDS

    async def leave(self) -> None:
        """Kill every process that is left, see it gone, and take the secrets out of what they said."""
        clients, self._clients = self._clients, []
        for client in clients:
            client.abandon()
        for client in clients:
            await client.end()
        if self._log.exists():
            redact_file(self._log)
