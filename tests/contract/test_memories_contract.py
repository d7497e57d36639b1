"""What memories do, on every engine."""

import asyncio
import hashlib
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.interrupted import Twice

from holdfast.core.errors import (
    Conflict,
    Corrupt,
    IdempotencyConflict,
    InvalidInput,
    InvalidJson,
    NotFound,
    StaleState,
    TooLarge,
)
from holdfast.store import Store, open_store
from holdfast.store.memory.memories import MAX_VALUE

VALUES: list[Any] = [None, True, 0, 1.5, "", "naïve 名前", [], {}, {"a": [1, {"b": None}]}]


async def change(store: Store, sql: str, *args: Any) -> None:
    """Change the database behind the part's back."""
    await store.memories.workers.write(lambda tx: tx.run(sql, *args), ("x",))


async def numbers(store: Store, namespace: str, key: str) -> list[int]:
    return [version.version for version in await store.memories.history(namespace, key)]


@pytest.mark.parametrize("value", VALUES, ids=repr)
async def test_any_json_value_comes_back(store: Store, value: Any) -> None:
    put = await store.memories.put("ada", "fact", value, source="s1")
    got = await store.memories.get("ada", "fact")
    assert got == put
    assert (got.version, got.value(), got.source) == (1, value, "s1")
    assert got.digest == hashlib.sha256(got.payload).hexdigest()


async def test_the_bytes_of_a_value_are_kept_as_they_came(store: Store) -> None:
    raw = b'{ "b": 1.0,\t"a": "\\u00e9" }'
    await store.memories.put("ada", "fact", raw)
    assert (await store.memories.get("ada", "fact")).payload == raw


async def test_what_was_put_is_there_after_a_restart(store_url: str) -> None:
    async with await open_store(store_url) as store:
        await store.memories.put("ada", "name", "Ada")
    async with await open_store(store_url) as store:
        assert (await store.memories.get("ada", "name")).value() == "Ada"


async def test_every_version_is_kept_and_the_same_value_is_no_new_one(store: Store) -> None:
    first = await store.memories.put("ada", "name", {"first": "Ada", "last": "Byron"})
    same = await store.memories.put("ada", "name", b'{"last": "Byron", "first": "Ada"}', source="elsewhere")
    assert same == first
    second = await store.memories.put("ada", "name", {"first": "Ada", "last": "Lovelace"})
    third = await store.memories.put("ada", "name", {"first": "Ada", "last": "Byron"})
    assert [second.version, third.version] == [2, 3]
    history = await store.memories.history("ada", "name")
    assert [(v.version, v.value()["last"]) for v in history] == [(1, "Byron"), (2, "Lovelace"), (3, "Byron")]


async def test_what_was_forgotten_is_not_found_but_in_the_history_and_counting_goes_on(store: Store) -> None:
    await store.memories.put("ada", "name", "Ada")
    gone = await store.memories.forget("ada", "name")
    assert (gone.version, gone.forgotten, gone.value()) == (2, True, None)
    with pytest.raises(NotFound):
        await store.memories.get("ada", "name")
    assert (await store.memories.list("ada")).memories == []
    assert await store.memories.namespaces() == []
    assert await store.memories.forget("ada", "name") == gone
    again = await store.memories.put("ada", "name", "Ada")
    assert again.version == 3
    assert [v.forgotten for v in await store.memories.history("ada", "name")] == [False, True, False]


async def test_null_is_a_value_and_not_forgotten(store: Store) -> None:
    await store.memories.put("ada", "name", None)
    assert (await store.memories.get("ada", "name")).value() is None
    assert not (await store.memories.history("ada", "name"))[0].forgotten


@pytest.mark.own_store
async def test_erasing_takes_every_byte_and_leaves_the_versions_and_digests(store: Store) -> None:
    before = [await store.memories.put("ada", "phone", f"555-{n}") for n in range(3)]
    await store.memories.forget("ada", "phone")
    await store.memories.put("ada", "phone", "555-4")
    await store.memories.erase("ada", "phone")
    with pytest.raises(NotFound):
        await store.memories.get("ada", "phone")
    history = await store.memories.history("ada", "phone")
    assert [v.version for v in history] == [1, 2, 3, 4, 5]
    assert [v.digest for v in history[:3]] == [memory.digest for memory in before]
    assert [v.payload for v in history] == [None] * 5
    assert [v.forgotten for v in history] == [False, False, False, True, False]
    assert [v.erased_at is not None for v in history] == [True, True, True, False, True]
    rows = await store.memories.workers.read(lambda tx: tx.all("SELECT value FROM memory_versions"))
    assert rows == [(None,)] * 5
    await store.memories.erase("ada", "phone")
    assert await store.memories.history("ada", "phone") == history
    assert (await store.memories.put("ada", "phone", "555-5")).version == 6


async def test_a_memory_that_never_was_is_not_found(store: Store) -> None:
    for attempt in (store.memories.get, store.memories.history, store.memories.forget, store.memories.erase):
        with pytest.raises(NotFound):
            await attempt("ada", "nothing")
    assert (await store.memories.list("ada")).memories == []


async def test_another_expected_version_is_refused_with_the_current_value(store: Store) -> None:
    await store.memories.put("ada", "name", "Ada", expected_version=0)
    await store.memories.put("ada", "name", "Augusta", expected_version=1)
    for wrong in (0, 1, 3):
        with pytest.raises(StaleState) as refusal:
            await store.memories.put("ada", "name", "Byron", expected_version=wrong)
        details = refusal.value.details
        assert (details["version"], details["value"], details["live"]) == (2, "Augusta", True)
    with pytest.raises(StaleState) as refusal:
        await store.memories.put("ada", "new", "x", expected_version=1)
    assert (refusal.value.details["version"], refusal.value.details["live"]) == (0, False)
    with pytest.raises(NotFound):
        await store.memories.history("ada", "new")
    await store.memories.forget("ada", "name")
    with pytest.raises(StaleState):
        await store.memories.put("ada", "name", "Byron", expected_version=2)
    assert (await store.memories.put("ada", "name", "Byron", expected_version=3)).version == 4


async def test_of_two_puts_that_expect_the_same_version_one_wins(store_url: str) -> None:
    async with await open_store(store_url) as one, await open_store(store_url) as other:
        for expected in range(20):
            results = await asyncio.gather(
                *(
                    store.memories.put("ada", "n", {"by": number, "round": expected}, expected_version=expected)
                    for number, store in enumerate([one, other, one, other])
                ),
                return_exceptions=True,
            )
            won = [result for result in results if not isinstance(result, BaseException)]
            lost = [result for result in results if isinstance(result, StaleState)]
            assert (len(won), len(lost)) == (1, 3), results
            assert (await one.memories.get("ada", "n")) == won[0]
        assert await numbers(one, "ada", "n") == list(range(1, 21))


async def test_a_retry_with_the_same_key_gives_the_first_result(store: Store) -> None:
    first = await store.memories.put("ada", "name", {"a": 1, "b": 2}, idempotency_key="k1")
    await store.memories.put("ada", "name", "other")
    again = await store.memories.put("ada", "name", b'{"b": 2, "a": 1}', idempotency_key="k1", expected_version=0)
    assert again == first
    assert await numbers(store, "ada", "name") == [1, 2]
    with pytest.raises(IdempotencyConflict):
        await store.memories.put("ada", "name", "another body", idempotency_key="k1")
    assert (await store.memories.get("ada", "name")).value() == "other"
    assert (await store.memories.put("ada", "elsewhere", "free", idempotency_key="k1")).version == 1


async def test_a_retry_changes_nothing_also_if_the_first_changed_nothing(store: Store) -> None:
    await store.memories.put("ada", "name", "Ada")
    kept = await store.memories.put("ada", "name", "Ada", idempotency_key="k")
    await store.memories.put("ada", "name", "Augusta")
    assert await store.memories.put("ada", "name", "Ada", idempotency_key="k") == kept
    assert (await store.memories.get("ada", "name")).value() == "Augusta"


async def test_a_retry_brings_nothing_back_that_was_forgotten_or_erased(store: Store) -> None:
    first = await store.memories.put("ada", "name", "Ada", idempotency_key="k")
    await store.memories.forget("ada", "name")
    assert await store.memories.put("ada", "name", "Ada", idempotency_key="k") == first
    await store.memories.erase("ada", "name")
    assert await store.memories.put("ada", "name", "Ada", idempotency_key="k") == first
    with pytest.raises(IdempotencyConflict):
        await store.memories.put("ada", "name", "Eve", idempotency_key="k")
    with pytest.raises(NotFound):
        await store.memories.get("ada", "name")
    assert (await store.memories.history("ada", "name"))[0].payload is None


@pytest.mark.parametrize("key", [None, "k"])
async def test_a_write_that_runs_again_after_a_lost_acknowledgement_is_not_doubled(
    store: Store, key: str | None
) -> None:
    async def meanwhile() -> None:
        await store.memories.put("ada", "name", "Eve")

    again = replace(store.memories, workers=Twice(store.memories.workers, meanwhile))
    put = await again.put("ada", "name", "Ada", expected_version=0, idempotency_key=key)
    assert (put.version, put.value()) == (1, "Ada")
    assert [v.value() for v in await store.memories.history("ada", "name")] == ["Ada", "Eve"]
    gone = await replace(store.memories, workers=Twice(store.memories.workers, meanwhile)).forget("ada", "name")
    assert (gone.version, gone.forgotten) == (3, True)
    assert (await store.memories.get("ada", "name")).value() == "Eve"
    assert await numbers(store, "ada", "name") == [1, 2, 3, 4]


async def test_many_writers_of_one_memory_leave_no_gap_and_lose_nothing(store_url: str) -> None:
    async with await open_store(store_url) as one, await open_store(store_url) as other:
        puts = [store.memories.put("ada", "n", [who, n]) for n in range(50) for who, store in enumerate([one, other])]
        done = await asyncio.gather(*puts)
        history = await one.memories.history("ada", "n")
        assert sorted(memory.version for memory in done) == list(range(1, 101))
        assert {(m.version, m.payload) for m in done} == {(v.version, v.payload) for v in history}


async def test_a_list_is_paged_by_key_in_one_order(store: Store) -> None:
    keys = [
        "a",
        "a/1",
        "a/2",
        "a0",
        "b",
        "B",
        "é",
        "z",
        "名",
        "\U0010ffff",
        "\U0010ffffx",
        "\ud7ff",
        "\ud7ffx",
        "\ue000",
    ]
    for key in keys:
        await store.memories.put("ns", key, {"is": key})
    await store.memories.put("other", "a", 1)
    got: list[str] = []
    cursor = None
    while True:
        page = await store.memories.list("ns", cursor=cursor, limit=4)
        assert [memory.value()["is"] for memory in page.memories] == [memory.key for memory in page.memories]
        got += [memory.key for memory in page.memories]
        cursor = page.cursor
        if cursor is None:
            break
    assert got == sorted(keys)
    for prefix in ["a", "a/", "é", "\U0010ffff", "\U0010ffffx", "\ud7ff", "zz", "B"]:
        page = await store.memories.list("ns", prefix=prefix)
        assert [m.key for m in page.memories] == [key for key in sorted(keys) if key.startswith(prefix)], prefix
        assert page.cursor is None
    first = await store.memories.list("ns", prefix="a", limit=2)
    rest = await store.memories.list("ns", prefix="a", limit=2, cursor=first.cursor)
    assert [m.key for m in first.memories + rest.memories] == ["a", "a/1", "a/2", "a0"]
    assert rest.cursor is None
    assert await store.memories.namespaces() == ["ns", "other"]


async def test_a_page_goes_on_where_it_ended_whatever_was_written_meanwhile(store: Store) -> None:
    for n in range(6):
        await store.memories.put("ns", f"k{n}", n)
    page = await store.memories.list("ns", limit=3)
    await store.memories.forget("ns", "k2")
    await store.memories.forget("ns", "k3")
    await store.memories.put("ns", "k2a", "new")
    rest = await store.memories.list("ns", limit=3, cursor=page.cursor)
    assert [memory.key for memory in rest.memories] == ["k2a", "k4", "k5"]


async def test_tenants_never_see_each_other(store: Store) -> None:
    other = store.for_tenant(f"{store.tenant}-other")
    await store.memories.put("ada", "name", "mine", idempotency_key="k")
    assert (await other.memories.put("ada", "name", "theirs", expected_version=0, idempotency_key="k")).version == 1
    assert (await store.memories.get("ada", "name")).value() == "mine"
    await other.memories.put("secret", "s", 1)
    assert await store.memories.namespaces() == ["ada"]
    await other.memories.erase("ada", "name")
    assert (await store.memories.get("ada", "name")).value() == "mine"
    with pytest.raises(NotFound):
        await store.memories.history("secret", "s")


DAMAGE = [
    "UPDATE memory_versions SET value = {blob} WHERE version = 2",
    "UPDATE memory_versions SET value = NULL WHERE version = 2",
    "UPDATE memory_versions SET digest = {blob} WHERE version = 2",
    "DELETE FROM memory_versions WHERE version = 2",
]


@pytest.mark.parametrize("sql", DAMAGE)
async def test_a_damaged_value_is_corrupt_and_never_empty_and_can_be_put_again(
    store_url: str, store: Store, sql: str
) -> None:
    await store.memories.put("ada", "name", "Ada")
    await store.memories.put("ada", "name", "Augusta", idempotency_key="k")
    blob = "x'226122'" if store_url.startswith("sqlite") else "'\\x226122'::bytea"
    await change(store, sql.format(blob=blob))
    for attempt in (
        store.memories.get("ada", "name"),
        store.memories.history("ada", "name"),
        store.memories.list("ada"),
        store.memories.put("ada", "name", "Augusta", idempotency_key="k"),
        store.memories.put("ada", "name", "x", expected_version=1),
    ):
        with pytest.raises(Corrupt) as error:
            await attempt
        assert error.value.details["key"] == "name"
    assert (await store.memories.put("ada", "name", "Augusta")).version == 3
    assert (await store.memories.get("ada", "name")).value() == "Augusta"


async def found(store: Store, query: str, **options: Any) -> list[str]:
    return [hit.memory.key for hit in await store.memories.search(query, **options)]


async def indexed(store: Store, memory_no: int) -> int:
    sql = "SELECT count(*) FROM memory_text WHERE rowid = ?1"
    row = await store.memories.workers.read(lambda tx: tx.one(sql, memory_no))
    assert row is not None
    return int(row[0])


@pytest.mark.own_store
async def test_what_was_acknowledged_is_found_by_its_words_and_only_as_it_is_now(store: Store) -> None:
    await store.memories.put("ada", "drink", {"likes": ["strong Café", "tea"]})
    await store.memories.put("ada", "city", "London, in Piccadilly")
    await store.memories.put("bob", "drink", "coffee or a café au lait")
    assert await found(store, "cafe") == ["drink", "drink"]
    assert await found(store, "CAFÉ", namespace="ada") == ["drink"]
    assert await found(store, "picca*") == ["city"]
    assert await found(store, '"au lait" -tea') == ["drink"]
    (hit,) = await store.memories.search("strong", limit=1)
    assert hit.memory == await store.memories.get("ada", "drink")
    assert [hit.snippet[start:end] for start, end in hit.highlights] == ["strong"]
    await store.memories.put("ada", "drink", "water")
    assert await found(store, "cafe", namespace="ada") == []
    assert await found(store, "water") == ["drink"]
    await store.memories.put("ada", "drink", "water")
    assert await found(store, "water") == ["drink"]
    await store.memories.forget("ada", "drink")
    assert await found(store, "water") == []
    assert await indexed(store, 1) == 0
    await store.memories.put("ada", "drink", "water again")
    assert await found(store, "water") == ["drink"]
    await store.memories.erase("ada", "drink")
    assert await found(store, "water") == []
    assert await indexed(store, 1) == 0


def files_with(folder: Path, *words: str) -> list[str]:
    """The store's files that have one of the words in them, seen by another process: our own must not open them."""
    asked = [option for word in words for option in ("-e", word)]
    return subprocess.run(
        ["grep", "-rla", *asked, str(folder)], capture_output=True, text=True, check=False
    ).stdout.split()


async def test_what_was_erased_leaves_the_files(sqlite_url: str) -> None:
    """Also the index of words, the free pages and the write-ahead log, once the store has been idle."""
    folder = Path(sqlite_url.removeprefix("sqlite:///")).parent
    async with asyncio.timeout(60), await open_store(sqlite_url) as store:
        for n in range(50):
            await store.memories.put("ada", f"other{n}", f"something {n}")
        for word in ("swordfish", "quicksilver"):
            await store.memories.put("ada", "secret", f"{word} {'x ' * 3000}")
        assert files_with(folder, "swordfish", "quicksilver")
        await store.memories.erase("ada", "secret")
        while await asyncio.to_thread(files_with, folder, "swordfish", "quicksilver"):
            await asyncio.sleep(0.05)


async def test_a_search_finds_no_other_tenants_words(store: Store) -> None:
    other = store.for_tenant(f"{store.tenant}-other")
    await other.memories.put("ada", "secret", "swordfish")
    assert await found(store, "swordfish") == []
    assert await found(other, "swordfish") == ["secret"]


@pytest.mark.own_store
async def test_a_search_that_meets_a_damaged_value_says_so(store: Store) -> None:
    await store.memories.put("ada", "name", "Augusta")
    await change(store, "UPDATE memory_versions SET value = NULL")
    with pytest.raises(Corrupt):
        await store.memories.search("augusta")


async def test_a_put_that_is_refused_leaves_no_words_behind(store: Store) -> None:
    await store.memories.put("ada", "name", "Augusta")
    await asyncio.gather(
        store.memories.put("ada", "other", "Lovelace"),
        store.memories.put("ada", "name", "Byron", expected_version=7),
        return_exceptions=True,
    )
    assert (await found(store, "byron"), await found(store, "augusta"), await found(store, "lovelace")) == (
        [],
        ["name"],
        ["other"],
    )


@pytest.mark.parametrize("text", ["word%d ", "名%d前", "x%d-"])
async def test_the_largest_value_with_the_most_words_is_kept_and_found(store: Store, text: str) -> None:
    value = "first " + "".join(text % number for number in range(60_000))
    value = value.encode()[: MAX_VALUE - 8].decode(errors="ignore")
    await store.memories.put("ada", "long", value)
    assert (await store.memories.get("ada", "long")).value() == value
    assert await found(store, "first") == ["long"]


@pytest.mark.parametrize(("query", "options"), [("", {}), ("-x", {}), ("x", {"limit": 101}), ("x", {"namespace": ""})])
async def test_a_search_for_nothing_is_refused(store: Store, query: str, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        await store.memories.search(query, **options)


BAD: list[tuple[tuple[Any, ...], dict[str, Any], type[Exception]]] = [
    (("", "k", 1), {}, InvalidInput),
    (("n", "", 1), {}, InvalidInput),
    (("n", "k" * 513, 1), {}, InvalidInput),
    (("n\0", "k", 1), {}, InvalidInput),
    (("n", "\ud800", 1), {}, InvalidInput),
    (("n", "k", float("nan")), {}, InvalidJson),
    (("n", "k", b'{"a":1,"a":2}'), {}, InvalidJson),
    (("n", "k", object()), {}, InvalidJson),
    (("n", "k", "x" * MAX_VALUE), {}, TooLarge),
    (("n", "k", 1), {"expected_version": -1}, InvalidInput),
    (("n", "k", 1), {"expected_version": True}, InvalidInput),
    (("n", "k", 1), {"expected_version": 2**63}, InvalidInput),
    (("n", "k", 1), {"idempotency_key": ""}, InvalidInput),
    (("n", "k", 1), {"source": "a\0b"}, InvalidInput),
]


@pytest.mark.parametrize(("args", "options", "error"), BAD, ids=[str(n) for n in range(len(BAD))])
async def test_bad_input_is_refused_and_nothing_is_written(
    store: Store, args: tuple[Any, ...], options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        await store.memories.put(*args, **options)
    assert await store.memories.namespaces() == []


@pytest.mark.parametrize("options", [{"limit": 0}, {"limit": 501}, {"limit": True}, {"prefix": ""}, {"cursor": "\0"}])
async def test_a_list_with_bad_options_is_refused(store: Store, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        await store.memories.list("ada", **options)


async def test_a_refused_put_among_others_hurts_none_of_them(store: Store) -> None:
    puts = [store.memories.put("ada", f"k{n}", n, expected_version=n % 3) for n in range(30)]
    results = await asyncio.gather(*puts, return_exceptions=True)
    assert [isinstance(result, Conflict) for result in results] == [n % 3 != 0 for n in range(30)]
    assert {memory.value() for memory in (await store.memories.list("ada")).memories} == set(range(0, 30, 3))
