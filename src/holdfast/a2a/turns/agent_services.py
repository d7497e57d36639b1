"""The turns of each tenant: tenants share nothing, workspaces included."""

import asyncio
from pathlib import Path

from holdfast.a2a.files.files import Files
from holdfast.a2a.handler import Handler
from holdfast.a2a.push.push import Posted, Push, PushConfigs
from holdfast.a2a.push.url_guard import UrlGuard
from holdfast.a2a.turns.recovery import Recovery
from holdfast.a2a.turns.runner import TurnRunner
from holdfast.a2a.turns.turn_queue import TurnQueue
from holdfast.a2a.turns.turns import Rested, Turns
from holdfast.core import TimeOrderedIds
from holdfast.store import Store


class Tenants:
    """One agent's turns in a store, for every tenant that comes; `resume` says that a turn that a process died in may
    be begun again, `reply_seconds` how long a stream waits for a plain reply before it shows a task."""

    def __init__(
        self,
        store: Store,
        handler: Handler,
        *,
        agent: str,
        workspace: Path,
        resume: bool,
        reply_seconds: float,
        guard: UrlGuard,
        rested: Rested | None = None,
        posted: Posted | None = None,
    ) -> None:
        self._ids = TimeOrderedIds()
        self._owner = f"a2a-{self._ids()}"
        self._queue = TurnQueue()
        self._handler = handler
        self._agent = agent
        self._workspace = workspace
        self._reply_seconds = reply_seconds
        self._guard = guard
        self._resume = resume
        self._rested = rested
        self._posted = posted
        self._turns = {store.tenant: self._turns_in(store, workspace)}
        self._recovery = Recovery(store, self._queue, self.turns_of, owner=self._owner, resume=resume, ids=self._ids)

    async def start(self, *, alone: bool) -> None:
        """Say that this process lives, and settle what a dead one left; alone: no other process uses the store."""
        await self._recovery.start(alone=alone)

    async def stop(self, grace_seconds: float) -> None:
        """Accept and begin no new turn; running ones get the grace, then are left to be resumed, or fail with a reason
        where they cannot be."""
        self._recovery.adopt_no_more()
        await asyncio.gather(*(turns.stop(grace_seconds) for turns in self._turns.values()))
        await self._recovery.stop()

    def turns_of(self, store: Store) -> Turns:
        """The turns of a tenant, by its view of the store."""
        found = self._turns.get(store.tenant)
        if found is None:
            workspace = self._workspace.with_name(f"{self._workspace.name}-{store.tenant}")
            workspace.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = self._turns[store.tenant] = self._turns_in(store, workspace)
        return found

    def _turns_in(self, store: Store, workspace: Path) -> Turns:
        files = Files(store, workspace)
        runner = TurnRunner(
            store,
            self._handler,
            self._queue,
            owner=self._owner,
            workspace=workspace,
            files=files,
            resume=self._resume,
            ids=self._ids,
        )
        return Turns(
            store,
            runner,
            files=files,
            push=Push(store, self._guard, files=files, owner=self._owner, posted=self._posted),
            configs=PushConfigs(store, self._guard),
            agent=self._agent,
            owner=self._owner,
            reply_seconds=self._reply_seconds,
            ids=self._ids,
            rested=self._rested,
        )
