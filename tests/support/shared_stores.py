"""Open stores that many tests share, each as a tenant of its own.

To open a store costs more than most tests do with it: on PostgreSQL a database and a dozen connections. A test that
needs no more than to be alone takes a tenant that nobody else has. A store goes round for a while only, so that whoever
looks at a whole file finds a small one, and one that a test has broken is given to nobody after it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from holdfast.store import Store, StoreTuning, open_store

TENANTS = 60
"""How many tests share a store."""


@dataclass(slots=True)
class _Shared:
    store: Store
    tenants: int = 0


class SharedStores:
    """One open store on each engine and of each tuning, opened when it is first asked for."""

    def __init__(self, new_url: Callable[[str], str]) -> None:
        self._new_url = new_url
        self._shared: dict[tuple[str, StoreTuning], _Shared] = {}
        self._numbers = count(1)

    async def new_tenant(self, engine_name: str, tuning: StoreTuning) -> Store:
        """A store as a tenant sees it that has nothing yet."""
        kind = (engine_name, tuning)
        shared = self._shared.get(kind)
        if shared is not None and (shared.tenants == TENANTS or shared.store.failure is not None):
            await self._shared.pop(kind).store.close()
            shared = None
        if shared is None:
            opened = await open_store(self._new_url(engine_name), tuning=tuning)
            shared = self._shared[kind] = _Shared(opened)
        shared.tenants += 1
        return shared.store.for_tenant(f"test{next(self._numbers)}")

    async def close(self) -> None:
        """Close what is open."""
        for shared in self._shared.values():
            await shared.store.close()
