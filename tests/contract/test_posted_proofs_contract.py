"""Posted runs of proofs: kept by what is in them, the newest two hundred of a tenant."""

import asyncio

import pytest

from holdfast.core.errors import InvalidInput, NotFound
from holdfast.store import Store
from holdfast.store.operators import LARGEST_PROOF, MOST_PROOFS


async def test_a_run_is_kept_byte_for_byte_and_once(store: Store) -> None:
    raw = b'{ "format": 1,\n "odd": 1.50e0 }'
    first, new = await store.proofs.post("runtime", b"{}", raw)
    again, newer = await store.proofs.post("runtime", b"{}", raw)
    assert (new, newer, first) == (True, False, again)
    assert await store.proofs.get(first) == raw
    assert [each.proof_id for each in await store.proofs.list()] == [first]


async def test_one_posted_by_many_at_once_is_one(store: Store) -> None:
    posted = await asyncio.gather(*(store.proofs.post("live", b"{}", b'{"n":1}') for _ in range(8)))
    assert sorted(new for _, new in posted) == [False] * 7 + [True]
    assert len(await store.proofs.list()) == 1


async def test_the_newest_stay_and_others_go_in_the_same_write(store: Store) -> None:
    other = store.for_tenant(f"{store.tenant}-other")
    theirs, _ = await other.proofs.post("runtime", b"{}", b'{"theirs":1}')
    ids = [(await store.proofs.post("runtime", b"%d" % n, b'{"n":%d}' % n))[0] for n in range(MOST_PROOFS + 3)]
    kept = await store.proofs.list(limit=MOST_PROOFS)
    assert [each.proof_id for each in kept] == ids[:2:-1]
    assert [int(each.listed) for each in kept[:2]] == [MOST_PROOFS + 2, MOST_PROOFS + 1]
    for gone in ids[:3]:
        with pytest.raises(NotFound):
            await store.proofs.get(gone)
    assert [each.proof_id for each in await other.proofs.list()] == [theirs]


async def test_a_list_goes_on_where_a_page_ended_and_may_be_of_one_kind(store: Store) -> None:
    for number in range(5):
        await store.proofs.post("live" if number % 2 else "store", b"{}", b'{"n":%d}' % number)
    first = await store.proofs.list(limit=2)
    rest = await store.proofs.list(before=first[-1].number, limit=10)
    assert len({each.proof_id for each in (*first, *rest)}) == 5
    assert len(await store.proofs.list(kind="live")) == 2


async def test_tenants_do_not_see_each_others(store: Store) -> None:
    proof_id, _ = await store.proofs.post("runtime", b"{}", b'{"n":1}')
    other = store.for_tenant(f"{store.tenant}-other")
    assert await other.proofs.list() == []
    with pytest.raises(NotFound):
        await other.proofs.get(proof_id)


async def test_too_much_is_refused(store: Store) -> None:
    with pytest.raises(InvalidInput):
        await store.proofs.post("runtime", b"{}", b" " * (LARGEST_PROOF + 1))
    for limit in (0, MOST_PROOFS + 1):
        with pytest.raises(InvalidInput):
            await store.proofs.list(limit=limit)
