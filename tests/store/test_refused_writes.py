"""What is refused is forgotten at once: nothing of it waits in memory for the garbage collector."""

import gc
from contextlib import suppress

from holdfast.core.errors import InvalidInput, StaleWriter
from holdfast.store import NewEvent, Store

TIMES = 20


async def test_a_refused_write_is_forgotten_at_once(store: Store) -> None:
    await store.append("s1", [NewEvent("note", {"n": 1})])
    await _refused(store)
    gc.collect()
    gc.disable()
    try:
        for _ in range(TIMES):
            await _refused(store)
        assert gc.collect() < TIMES
    finally:
        gc.enable()


async def _refused(store: Store) -> None:
    with suppress(StaleWriter):
        await store.append("s1", [NewEvent("note", {"text": "x" * 1000})], expected_seq=99)
    with suppress(InvalidInput):
        await store.append("s1", [])
