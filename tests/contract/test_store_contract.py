"""What a store does, on every engine."""

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Any

import pytest
from tests.support.material import numbered, said, values

from holdfast.core.errors import (
    Conflict,
    IdempotencyConflict,
    InvalidInput,
    InvalidJson,
    NotFound,
    StaleState,
    StaleWriter,
    TooLarge,
)
from holdfast.store import Filter, NewEvent, Store, open_store


async def test_the_first_append_makes_the_session_and_seqs_are_dense_from_one(store: Store) -> None:
    first = await store.append("s", numbered(1, 2))
    second = await store.append("s", numbered(3))
    assert (first.first_seq, first.last_seq, second.first_seq, second.last_seq) == (1, 2, 3, 3)
    assert [event.seq for event in await store.read("s")] == [1, 2, 3]


async def test_payload_bytes_come_back_as_they_came(store: Store) -> None:
    raw = b'{ "b": 1.0,\t"a": [1e2, "\\u00e9\xc3\xa9", null, "\\u0000"] }'
    await store.append("s", [NewEvent("raw", raw, parent_id=None)])
    assert (await store.read("s"))[0].payload == raw


async def test_an_event_keeps_its_id_key_parent_and_time(store: Store) -> None:
    await store.append("s", [NewEvent("a", 1, event_id="e1", created_at=1_000)])
    await store.append("s", [NewEvent("b", 2, event_id="e2", idempotency_key="k", parent_id="e1", created_at=999)])
    event = (await store.read("s"))[1]
    assert (event.event_id, event.idempotency_key, event.parent_id, event.created_at) == ("e2", "k", "e1", 999)


async def test_reading_by_window_limit_and_type(store: Store) -> None:
    await store.append("s", [NewEvent("even" if n % 2 == 0 else "odd", n) for n in range(1, 11)])
    assert await values(store, "s", after=3, before=7) == [4, 5, 6]
    assert await values(store, "s", limit=2) == [1, 2]
    assert await values(store, "s", types=["even"], after=4, limit=2) == [6, 8]
    assert await values(store, "s", after=10) == []
    assert [event.value() for event in await store.newest("s", limit=3)] == [8, 9, 10]
    assert [event.value() for event in await store.newest("s", before=4, limit=2)] == [2, 3]
    assert [event.value() for event in await store.newest("s", limit=2, types=["odd"])] == [7, 9]


async def test_a_long_log_is_read_whole_across_pages(store: Store) -> None:
    for start in range(0, 5_000, 1_000):
        await store.append("s", [NewEvent("n", n) for n in range(start, start + 1_000)])
    assert await values(store, "s") == list(range(5_000))
    assert await values(store, "s", limit=4_321) == list(range(4_321))


async def test_an_unknown_session_is_not_found_and_not_made_by_reading(store: Store) -> None:
    for wrong in (
        store.read("nobody"),
        store.newest("nobody"),
        store.sessions.get("nobody"),
        store.state.get("nobody"),
    ):
        with pytest.raises(NotFound):
            await wrong
    with pytest.raises(NotFound):
        await store.append("nobody", numbered(1), create=False)
    assert (await store.sessions.list()).sessions == []


BAD_EVENTS: list[tuple[Sequence[NewEvent], type[Exception]]] = [
    ([], InvalidInput),
    ([NewEvent("", 1)], InvalidInput),
    ([NewEvent("x" * 513, 1)], InvalidInput),
    ([NewEvent("nul\0", 1)], InvalidInput),
    ([NewEvent("lone\ud800", 1)], InvalidInput),
    ([NewEvent("holdfast.mine", 1)], InvalidInput),
    ([NewEvent("t", 1, idempotency_key="holdfast.mine")], InvalidInput),
    ([NewEvent("t", 1, event_id="")], InvalidInput),
    ([NewEvent("t", 1, parent_id="nobody")], InvalidInput),
    ([NewEvent("t", 1, created_at=-1)], InvalidInput),
    ([NewEvent("t", 1, created_at=2**60)], InvalidInput),
    ([NewEvent("t", float("nan"))], InvalidJson),
    ([NewEvent("t", "lone\ud800")], InvalidJson),
    ([NewEvent("t", object())], InvalidJson),
    ([NewEvent("t", b'{"a":1,"a":2}')], InvalidJson),
    ([NewEvent("t", b"[" * 65 + b"]" * 65)], InvalidJson),
    ([NewEvent("t", b'"' + b"x" * (16 * 1024 * 1024) + b'"')], TooLarge),
    ([NewEvent("t", 1)] * 10_001, TooLarge),
]


@pytest.mark.parametrize(("events", "error"), BAD_EVENTS, ids=[str(number) for number in range(len(BAD_EVENTS))])
async def test_bad_input_is_refused_and_nothing_is_written(
    store: Store, events: Sequence[NewEvent], error: type[Exception]
) -> None:
    await store.append("s", numbered(1))
    with pytest.raises(error):
        await store.append("s", [*events, NewEvent("good", 2)] if events else [])
    assert await values(store, "s") == [{"n": 1}]


@pytest.mark.parametrize("session_id", ["", ".", "..", "a/b", "a\\b", "a b", "é", "x" * 201, "a\n", "a\0"])
async def test_session_ids_outside_the_alphabet_are_refused(store: Store, session_id: str) -> None:
    with pytest.raises(InvalidInput):
        await store.append(session_id, numbered(1))
    with pytest.raises(InvalidInput):
        await store.read(session_id)


async def test_one_failure_in_a_batch_hurts_no_other_write(store: Store) -> None:  # noqa: PLR0912
    await store.append("s", [NewEvent("first", 0, idempotency_key="taken")])

    def broken(tx: Any) -> None:
        tx.run("INSERT INTO schema_meta (key, value) VALUES ('half', 'done')")
        raise ZeroDivisionError

    def bad_sql(tx: Any) -> None:
        tx.run("INSERT INTO no_such_table VALUES (?1)", 1)

    def bad_row(tx: Any) -> None:
        tx.run("INSERT INTO sessions (session_no) VALUES (?1)", None)

    workers = store.sessions.workers
    writes: list[Awaitable[Any]] = []
    for number in range(64):
        match number:
            case 7:
                writes.append(workers.write(broken, ("x",)))
            case 19:
                writes.append(workers.write(bad_sql, ("x",)))
            case 31:
                writes.append(workers.write(bad_row, ("x",)))
            case n if n % 4 == 0:
                writes.append(store.append("s", [NewEvent("conflict", n, idempotency_key="taken")]))
            case n if n % 9 == 0:
                writes.append(store.append(f"s{n}", numbered(n), expected_seq=5))
            case n:
                writes.append(store.append(f"s{n % 5}", numbered(n)))
    results = await asyncio.gather(*writes, return_exceptions=True)
    assert isinstance(results[7], ZeroDivisionError)
    assert isinstance(results[19], Exception)
    assert isinstance(results[31], Exception)
    good = 0
    for number, result in enumerate(results):
        if number in (7, 19, 31):
            continue
        if number % 4 == 0:
            assert isinstance(result, IdempotencyConflict)
        elif number % 9 == 0:
            assert isinstance(result, StaleWriter)
        else:
            assert not isinstance(result, BaseException), result
            good += 1
    half = await workers.read(lambda tx: tx.one("SELECT value FROM schema_meta WHERE key = 'half'"))
    assert half is None, "a refused write left something behind"
    stored = [value["n"] for n in range(5) for value in await values(store, f"s{n}")]
    assert len(stored) == len(set(stored)) == good
    for n in range(5):
        assert (await store.verification.session(f"s{n}")).problem is None


async def test_a_write_refused_after_it_changed_something_leaves_nothing_and_hurts_nobody(store: Store) -> None:
    """No database error here: the group must notice by itself, and take back exactly the refused writes."""

    def late_refusal(number: int) -> Any:
        def run(tx: Any) -> None:
            tx.run("INSERT INTO schema_meta (key, value) VALUES (?1, 'half done')", f"half-{number}")
            raise ZeroDivisionError

        return run

    workers = store.sessions.workers
    lock = store.sessions.lock("s")
    writes: list[Awaitable[Any]] = [
        workers.write(late_refusal(n), (lock,)) if n % 10 == 5 else store.append("s", numbered(n)) for n in range(40)
    ]
    results = await asyncio.gather(*writes, return_exceptions=True)
    assert [n for n, result in enumerate(results) if isinstance(result, BaseException)] == [5, 15, 25, 35]
    assert all(isinstance(results[n], ZeroDivisionError) for n in (5, 15, 25, 35))
    assert await workers.read(lambda tx: tx.all("SELECT key FROM schema_meta WHERE key LIKE 'half-%'")) == []
    assert [value["n"] for value in await values(store, "s")] == [n for n in range(40) if n % 10 != 5]
    assert (await store.verification.session("s")).problem is None


async def test_a_cancelled_callers_write_is_applied_once_and_its_retry_replays_it(store: Store) -> None:
    event = NewEvent("t", {"n": 1}, idempotency_key="k")
    caller = asyncio.create_task(store.append("s", [event]))
    await asyncio.sleep(0)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    retried = await store.append("s", [event])
    assert (retried.seqs, retried.replayed) == ((1,), 1)
    assert await values(store, "s") == [{"n": 1}]


async def test_sessions_are_created_once(store: Store) -> None:
    made = await store.sessions.create("s", user_id="u", initial={"input": "hi"}, tags=["a"], metadata={"m": 1})
    assert made.new
    assert (made.session.user_id, made.session.initial, made.session.tags) == ("u", {"input": "hi"}, ("a",))
    again = await store.sessions.create("s", user_id="u", initial={"input": "hi"}, tags=["a"], metadata={"m": 1})
    assert not again.new
    with pytest.raises(Conflict):
        await store.sessions.create("s", user_id="other")
    assert (await store.sessions.get("s")).head_seq == 1


async def test_a_session_that_began_with_an_append_is_described_later(store: Store) -> None:
    await store.append("s", numbered(1))
    described = await store.sessions.create("s", user_id="u")
    assert not described.new
    assert (described.session.user_id, described.session.head_seq) == ("u", 2)


async def test_sessions_are_listed_newest_first_by_pages(store: Store) -> None:
    for n in range(7):
        await store.sessions.create(f"s{n}", user_id="even" if n % 2 == 0 else "odd")
    first = await store.sessions.list(limit=3)
    second = await store.sessions.list(limit=3, cursor=first.cursor)
    third = await store.sessions.list(limit=3, cursor=second.cursor)
    pages = [[session.session_id for session in page.sessions] for page in (first, second, third)]
    assert pages == [["s6", "s5", "s4"], ["s3", "s2", "s1"], ["s0"]]
    assert third.cursor is None
    assert [s.session_id for s in (await store.sessions.list(Filter(user_id="odd"))).sessions] == ["s5", "s3", "s1"]
    with pytest.raises(InvalidInput):
        await store.sessions.list(cursor="nonsense")


async def test_a_key_routes_to_one_session_however_many_ask_at_once(store: Store) -> None:
    found = await asyncio.gather(*(store.keys.resolve("agent:main:a2a:c1") for _ in range(20)))
    assert len({entry.session_id for entry in found}) == 1
    assert [route.session_id for route in await store.keys.routes("agent:main:a2a:c1")] == [found[0].session_id]
    assert (await store.keys.get("agent:main:a2a:c1")).session_id == found[0].session_id
    assert (await store.keys.resolve("agent:main:a2a:c2")).session_id != found[0].session_id
    with pytest.raises(NotFound):
        await store.keys.get("agent:main:a2a:nobody")


async def test_a_session_made_for_a_key_belongs_to_the_keys_agent(store: Store) -> None:
    entry = await store.keys.resolve("agent:other:a2a:c1", agent="other")
    await store.append(entry.session_id, numbered(1))
    assert (await store.sessions.get(entry.session_id)).agent == "other"
    assert (await store.verification.session(entry.session_id)).problem is None


async def test_state_is_merged_and_counted(store: Store) -> None:
    await store.state.patch("s", {"phase": "a", "workspace": {"cwd": "/app", "env": {"x": 1}}, "list": [1, 2]})
    state = await store.state.patch(
        "s", {"phase": "+1", "workspace": {"env": {"y": 2, "x": None}}, "list": [3]}, expected_version=1
    )
    expected = {"phase": "+1", "workspace": {"cwd": "/app", "env": {"y": 2}}, "list": [3]}
    assert (state.version, state.document) == (2, expected)
    assert (await store.state.get("s")).document == expected
    with pytest.raises(StaleState) as refusal:
        await store.state.patch("s", {"phase": "b"}, expected_version=1)
    assert (refusal.value.details["version"], refusal.value.details["state"]) == (2, expected)
    with pytest.raises(StaleState):
        await store.state.patch("new", {"phase": "b"}, expected_version=3)
    with pytest.raises(NotFound):
        await store.sessions.get("new")


async def test_a_retried_patch_is_told_what_the_first_was(store: Store) -> None:
    first = await store.state.patch("s", {"n": 1}, idempotency_key="k")
    await store.state.patch("s", {"n": 2})
    assert await store.state.patch("s", {"n": 1}, idempotency_key="k") == first
    assert (await store.state.get("s")).document == {"n": 2}


async def test_tenants_never_see_each_other(store: Store) -> None:
    other = store.for_tenant(f"{store.tenant}-other")
    await store.append("s", numbered(1))
    await store.keys.resolve("k", session_id="s")
    await store.tasks.begin("s", "t", "c", said("hi", "t"), owner="me")
    for wrong in (
        other.read("s"),
        other.sessions.get("s"),
        other.state.get("s"),
        other.keys.get("k"),
        other.tasks.get("t"),
        other.verification.session("s"),
        other.append("s", numbered(1), create=False),
    ):
        with pytest.raises(NotFound):
            await wrong
    await other.append("s", numbered(2))
    assert await values(other, "s") == [{"n": 2}]
    assert (await other.sessions.list()).sessions[0].head_seq == 1
    with pytest.raises(InvalidInput):
        store.for_tenant("a/b")


async def test_a_closed_store_refuses_and_an_open_one_finds_everything(store_url: str) -> None:
    store = await open_store(store_url)
    pending = [asyncio.create_task(store.append("s", numbered(n))) for n in range(50)]
    await asyncio.sleep(0)
    await store.close()
    acknowledged = await asyncio.gather(*pending)
    with pytest.raises(Exception, match="clos"):
        await store.append("s", numbered(1))
    with pytest.raises(Exception, match="clos"):
        await store.read("s")
    again = await open_store(store_url)
    assert sorted(seq for one in acknowledged for seq in one.seqs) == [e.seq for e in await again.read("s")]
    assert again.store_id == store.store_id
    await again.close()


async def test_a_read_only_store_changes_nothing(store_url: str) -> None:
    async with await open_store(store_url) as store:
        await store.append("s", numbered(1))
    async with await open_store(store_url, read_only=True) as reader:
        assert await values(reader, "s") == [{"n": 1}]
        with pytest.raises(Exception, match="read-only"):
            await reader.append("s", numbered(2))


@pytest.mark.parametrize("url", ["", "mysql://x", "sqlite://", "sqlite:///", "sqlite:///a?b=c", "/just/a/path"])
async def test_a_url_that_names_no_store_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput):
        await open_store(url)
