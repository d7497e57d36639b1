"""A store with chores of one's choosing."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from holdfast.core import SystemClock, TimeOrderedIds
from holdfast.store import Store
from holdfast.store.lanes.chores import Chore
from holdfast.store.machinery import Machinery
from holdfast.store.tuning import DEFAULT_TUNING, StoreTuning
from holdfast.store.urls import open_engine


@asynccontextmanager
async def store_with(url: str, chores: Sequence[Chore], tuning: StoreTuning = DEFAULT_TUNING) -> AsyncIterator[Store]:
    """An open store whose idle lane does these chores and no others."""
    clock = SystemClock()
    machinery = await asyncio.to_thread(
        lambda: Machinery(open_engine(url, clock, tuning=tuning), read_only=False, chores=chores, tuning=tuning),
    )
    store = Store(machinery, "default", clock, TimeOrderedIds(clock))
    try:
        yield store
    finally:
        await store.close()
