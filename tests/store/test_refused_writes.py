"""What is refused is forgotten at once: nothing of it waits in memory for the garbage collector."""

import gc

import pytest

from holdfast.core.errors import HoldfastError
from holdfast.store import NewEvent, Store

_STALE, _EMPTY = "99", "nothing"


async def test_a_refused_write_is_forgotten_at_once(store: Store) -> None:
    await store.append("s1", [NewEvent("note", {"n": 1})])
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):  # the last one may still be held by the test itself
            await _refused(store)
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        assert [found for found in gc.garbage if _is_one_of_ours(found)] == []
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


async def _refused(store: Store) -> None:
    with pytest.raises(HoldfastError, match=_STALE):
        await store.append("s1", [NewEvent("note", {"text": "x" * 1000})], expected_seq=99)
    with pytest.raises(HoldfastError, match=_EMPTY):
        await store.append("s1", [])


def _is_one_of_ours(found: object) -> bool:
    """Stores of other tests in this process leave errors of their own, which are not this test's to judge."""
    return isinstance(found, HoldfastError) and any(word in str(found) for word in (_STALE, _EMPTY))
