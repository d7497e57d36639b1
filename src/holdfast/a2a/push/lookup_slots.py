"""Slots: whose name is looked up next.

A lookup takes a thread for as long as the name's servers like, so there are only so many at one moment. Tenants take
turns, and none has more than its share. A tenant that has none under way finds a slot even when all are taken: however
many others hold theirs with names that hang, it is not kept from its first.
"""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Slots:
    """So many slots at one moment, and so many of them for one tenant; used from one loop."""

    def __init__(self, most: int, most_of_a_tenant: int) -> None:
        self._most = most
        self._most_of_a_tenant = most_of_a_tenant
        self._taken: Counter[str] = Counter()
        self._waiting: OrderedDict[str, dict[asyncio.Future[None], None]] = OrderedDict()

    @asynccontextmanager
    async def of(self, tenant: str) -> AsyncIterator[None]:
        """A slot, once it is this tenant's turn, until the end."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(tenant, {})[turn] = None
        self._let_in()
        try:
            await turn
            yield
        finally:
            if turn.done() and not turn.cancelled():
                self._give_back(tenant)
            else:
                self._forget(tenant, turn)

    def _let_in(self) -> None:
        while (tenant := self._next()) is not None:
            turn = next(iter(self._waiting[tenant]))
            self._waiting.move_to_end(tenant)
            self._forget(tenant, turn)
            if not turn.done():
                self._taken[tenant] += 1
                turn.set_result(None)

    def _next(self) -> str | None:
        """The tenant that may have a slot now."""
        full = self._taken.total() >= self._most
        for tenant in self._waiting:
            taken = self._taken[tenant]
            if not taken or (not full and taken < self._most_of_a_tenant):
                return tenant
        return None

    def _give_back(self, tenant: str) -> None:
        self._taken[tenant] -= 1
        if not self._taken[tenant]:
            del self._taken[tenant]
        self._let_in()

    def _forget(self, tenant: str, turn: "asyncio.Future[None]") -> None:
        turns = self._waiting.get(tenant, {})
        turns.pop(turn, None)
        if not turns:
            self._waiting.pop(tenant, None)
