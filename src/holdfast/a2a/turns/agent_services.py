"""Where one agent's services are put together: the queue of its turns, the turns of each tenant, and the recovery.

Each is handed what it uses, and nobody is called back: the recovery uses the turns, the turns use the queue.
"""

import asyncio
from pathlib import Path

from holdfast.a2a.handler import Handler
from holdfast.a2a.push.push import PostObserver
from holdfast.a2a.push.url_guard import UrlGuard
from holdfast.a2a.turns.recovery import Recovery
from holdfast.a2a.turns.tenant_turns import AgentSettings, TenantTurns
from holdfast.a2a.turns.timing import TurnTiming
from holdfast.a2a.turns.turn_queue import TurnQueue
from holdfast.a2a.turns.turns import TurnObserver, Turns
from holdfast.core import TimeOrderedIds
from holdfast.store import Store


class AgentServices:
    """One agent's services over a store, for every tenant that comes, from their start to their stop; what is said of
    the agent is explained at `AgentSettings`."""

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
        timing: TurnTiming | None = None,
        rested: TurnObserver | None = None,
        posted: PostObserver | None = None,
    ) -> None:
        ids = TimeOrderedIds()
        timing = timing or TurnTiming()
        queue = TurnQueue(timing)
        self.owner = f"a2a-{ids()}"
        """This process as the store knows it."""
        settings = AgentSettings(
            handler,
            agent,
            workspace,
            resume,
            reply_seconds,
            guard,
            owner=self.owner,
            ids=ids,
            timing=timing,
            rested=rested,
            posted=posted,
        )
        self._turns = TenantTurns(store, queue, settings)
        self._recovery = Recovery(store, queue, self._turns, owner=self.owner, resume=resume, ids=ids, timing=timing)

    def turns_of(self, store: Store) -> Turns:
        """The turns of a tenant, by its view of the store."""
        return self._turns.of(store)

    async def start(self, *, alone: bool) -> None:
        """Say that this process lives, and settle what a dead one left; alone: no other process uses the store."""
        await self._recovery.start(alone=alone)

    async def stop(self, grace_seconds: float) -> None:
        """Accept and begin no new turn; running ones get the grace, then are left to be resumed, or fail with a reason
        where they cannot be."""
        self._recovery.adopt_no_more()
        await asyncio.gather(*(turns.stop(grace_seconds) for turns in self._turns.all()))
        await self._recovery.stop()
