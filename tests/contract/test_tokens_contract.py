"""What tokens do, on every engine: found by their whole text, until they expire or are revoked."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from tests.support.interrupted import Twice

from holdfast.core.errors import InvalidInput, NotFound
from holdfast.store import Store, open_store
from holdfast.store.operators.tokens import LONGEST_MS, SCOPES, digest, id_of

pytestmark = pytest.mark.own_store

HOUR = 3_600_000


async def test_a_token_is_found_by_its_text_and_by_nothing_less(store: Store) -> None:
    made, text = await store.tokens.create("ci", ["write", "read", "read"], tenant="acme", lasts_ms=HOUR)
    assert (made.name, made.tenant, made.scopes) == ("ci", "acme", frozenset({"read", "write"}))
    assert made.expires_at == made.created_at + HOUR
    assert text.startswith(f"hf_{made.token_id}_")
    assert len(text) == len("hf_") + 10 + 1 + 43
    assert await store.tokens.find(text) == made
    other, other_text = await store.tokens.create("other", ["operator"])
    assert other.tenant == store.tenant
    swapped = f"hf_{made.token_id}_{other_text.split('_', 2)[2]}"
    wrong = [swapped, text[:-1], text + "A", text.upper(), f" {text}", f"{text} ", f"{text}\n", f"Bearer {text}"]
    wrong += ["", "hf", "hf_", "hf__", f"hf_{made.token_id}_", made.token_id, text.removeprefix("hf_")]
    wrong += [
        f"hf_{made.token_id}\0_x",
        "hf_aaaa\0aaaaa_x",
        "hf_%%%%%%%%%%_x",
        "é" * 30,
        "hf_" + "a" * 10 + "_" + "b" * 10**6,
    ]
    for each in wrong:
        assert await store.tokens.find(each) is None, each[:80]


async def test_of_the_text_only_the_hash_is_kept(store: Store) -> None:
    made, text = await store.tokens.create("ci", ["read"])
    rows = await store.tokens.workers.read(lambda tx: tx.all("SELECT * FROM tokens"))
    assert bytes(digest(text)) in {
        bytes(value) for row in rows for value in row if isinstance(value, bytes | memoryview)
    }
    secret = text.split("_", 2)[2]
    assert secret not in repr(rows)
    assert secret not in repr(made)


async def test_no_two_are_alike(store: Store) -> None:
    made = await asyncio.gather(*(store.tokens.create("n", ["read"]) for _ in range(30)))
    assert len({text for _, text in made}) == len({token.token_id for token, _ in made}) == 30
    assert [id_of(text) for _, text in made] == [token.token_id for token, _ in made]


async def test_a_revoked_one_is_found_no_more_by_anybody(store: Store, store_url: str) -> None:
    made, text = await store.tokens.create("ci", ["read"])
    async with await open_store(store_url, read_only=True) as elsewhere:
        assert await elsewhere.tokens.find(text) == made
        assert await elsewhere.tokens.valid(made.token_id)
        ended = await store.for_tenant("other").tokens.revoke(made.token_id)
        assert ended == replace(made, revoked_at=ended.revoked_at)
        assert ended.revoked_at is not None
        for where in (store, elsewhere):
            assert await where.tokens.find(text) is None
            assert not await where.tokens.valid(made.token_id)
    assert await store.tokens.revoke(made.token_id) == ended
    assert await store.tokens.list() == [ended]
    for unknown in ("nobody", text):
        with pytest.raises(NotFound) as refused:
            await store.tokens.revoke(unknown)
        assert text.split("_", 2)[2] not in refused.value.message
    assert not await store.tokens.valid("nobody")


async def test_it_expires_by_the_stores_clock_not_by_that_of_who_asks(store_url: str) -> None:
    class Early:
        """A clock that is an hour behind the database's, where that has its own."""

        def now(self) -> int:
            return 1_000_000

    async with await open_store(store_url) as store:
        made, text = await store.tokens.create("brief", ["read"], lasts_ms=40)
        lasting, lasting_text = await store.tokens.create("long", ["read"], lasts_ms=HOUR)
        async with asyncio.timeout(30):
            while await store.tokens.find(text) is not None:
                await asyncio.sleep(0.005)
        assert not await store.tokens.valid(made.token_id)
        assert await store.tokens.valid(lasting.token_id)
    clock = Early() if store_url.startswith("postgresql") else None
    async with await open_store(store_url, clock=clock) as store:
        assert await store.tokens.find(text) is None
        assert await store.tokens.find(lasting_text) == lasting


async def test_that_there_was_one_is_never_forgotten(store: Store, store_url: str) -> None:
    assert not await store.tokens.any()
    made, _ = await store.tokens.create("ci", ["read"], tenant="acme")
    assert await store.tokens.any()
    await store.tokens.revoke(made.token_id)
    assert await store.tokens.any()
    async with await open_store(store_url) as again:
        assert await again.tokens.any()
        assert await again.for_tenant("acme").tokens.any()


async def test_they_are_listed_oldest_first_whoevers_they_are(store: Store) -> None:
    names = [f"n{number}" for number in range(5)]
    for number, name in enumerate(names):
        await store.tokens.create(name, [SCOPES[number]], tenant=f"t{number}")
    listed = await store.for_tenant("t3").tokens.list()
    assert sorted((each.created_at, each.token_id) for each in listed) == [(e.created_at, e.token_id) for e in listed]
    assert {(each.name, each.tenant, *each.scopes) for each in listed} == {
        (name, f"t{number}", SCOPES[number]) for number, name in enumerate(names)
    }


WRONG: list[dict[str, Any]] = [
    {"scopes": []},
    {"scopes": ["all"]},
    {"scopes": ["read", "Write"]},
    {"scopes": ["read write"]},
    {"scopes": "read"},
    {"name": ""},
    {"name": "a\0b"},
    {"name": "\ud800"},
    {"name": "n" * 513},
    {"tenant": ""},
    {"tenant": "a/b"},
    {"tenant": "a b"},
    {"tenant": "é"},
    {"lasts_ms": 0},
    {"lasts_ms": -1},
    {"lasts_ms": LONGEST_MS + 1},
]


async def test_what_is_no_token_is_refused(store: Store) -> None:
    for wrong in WRONG:
        with pytest.raises(InvalidInput):
            await store.tokens.create(**{"name": "n", "scopes": ["read"]} | wrong)
    assert not await store.tokens.any()
    for wrong_id in ("", "a\0b", "x" * 600):
        with pytest.raises(InvalidInput):
            await store.tokens.revoke(wrong_id)


async def test_a_write_that_is_run_again_changes_nothing(store: Store) -> None:
    async def wait() -> None:
        await asyncio.sleep(0.002)

    again = replace(store.tokens, workers=Twice(store.tokens.workers, wait))
    made, text = await again.create("ci", ["read"], lasts_ms=HOUR)
    assert await store.tokens.list() == [made]
    assert await store.tokens.find(text) == made
    ended = await again.revoke(made.token_id)
    assert await store.tokens.list() == [ended]
