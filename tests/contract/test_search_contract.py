"""Search finds what was acknowledged, the same on both engines, and nothing that was deleted."""

import asyncio
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.eventually import eventually
from tests.support.opening import store_with
from tests.support.processes import spawn

from holdfast.core import NewEvent, SystemClock, TimeOrderedIds
from holdfast.core.errors import HistoryChanged, InvalidInput, NotFound, StoreUnavailable
from holdfast.store import Store, StoreTuning, open_store
from holdfast.store.engine import Tx
from holdfast.store.log.append import append
from holdfast.store.log.prepare import prepare_all
from holdfast.store.text.tokenizer import Query, Term, document, parse_query
from holdfast.store.text.word_index import (
    LOCK,
    PUT,
    forget_events,
    index,
    index_chore,
    index_memory,
    match_memories,
    unindex_memory,
)
from holdfast.store.urls import open_engine

NOWHERE = "UPDATE search_progress SET major = 0, minor = 0 WHERE name = 'events'"


def say(*texts: str, type: str = "message") -> list[NewEvent]:
    return [NewEvent(type, {"role": "user", "parts": [{"text": text}]}) for text in texts]


async def found(store: Store, query: str, **narrower: Any) -> list[tuple[str, int]]:
    page = await store.search.find(query, **narrower)
    assert page.damaged == ()
    return [(hit.session_id, hit.seq) for hit in page.hits]


async def write(store: Store, run: Callable[[Tx], Any]) -> Any:
    return await store.search.workers.write(run, ("test",))


async def unindex_everything(store: Store) -> None:
    """As if the index had never followed the log."""

    def run(tx: Tx) -> None:
        tx.lock(LOCK)
        tx.run("DELETE FROM event_text")
        tx.run(NOWHERE)

    await write(store, run)


async def session_no(store: Store, session_id: str) -> int:
    row = await store.search.workers.read(
        lambda tx: tx.one("SELECT session_no FROM sessions WHERE session_id = ?1", session_id)
    )
    assert row is not None
    return int(row[0])


async def test_what_was_acknowledged_is_found_at_once(store: Store) -> None:
    for n in range(1, 60):
        await store.append("s", say(f"number word{n}"))
        assert await found(store, f"word{n}") == [("s", n)]


async def test_a_hit_says_where_it_is_and_shows_the_text_around_the_match(store: Store) -> None:
    await store.append("s", say("before", "My name is Ada Lovelace; ADA is a name."))
    (hit,) = (await store.search.find("ada")).hits
    (event,) = await store.read("s", after=1)
    assert (hit.session_id, hit.seq, hit.event_id, hit.type, hit.created_at) == (
        "s",
        2,
        event.event_id,
        "message",
        event.created_at,
    )
    assert hit.snippet == "My name is Ada Lovelace; ADA is a name."
    assert [hit.snippet[start:end] for start, end in hit.highlights] == ["Ada", "ADA"]


async def test_the_query_language(store: Store) -> None:
    await store.append("s", say("the quick brown fox", "the brown quick dog", "quicksilver", "das Café in Łódź"))
    await store.append("s", say("私は東京タワーへ行く", "京の東", "서울에서", "हिन्दी 𞤀𞤣𞤤𞤢𞤥"))
    for query, expected in {
        "quick": [2, 1],
        "QUICK fox": [1],
        '"quick brown"': [1],
        '"brown quick"': [2],
        "quick*": [3, 2, 1],
        '"the qui"*': [1],
        '"the bro"*': [2],
        "quick* -dog": [3, 1],
        'brown -"brown fox"': [2],
        "quick* -quicks*": [2, 1],
        "cafe": [4],
        "CAFÉ": [4],
        "東京": [5],
        "東 京": [6, 5],
        "서울": [7],
        "हिन्दी": [8],
        "𞤢𞤣𞤤𞤢𞤥": [8],
        "user": [8, 7, 6, 5, 4, 3, 2, 1],
        "role": [],
        '"user the"': [],
        "nothing": [],
    }.items():
        assert [seq for _, seq in await found(store, query)] == expected, query


async def test_every_engine_finds_the_same_as_python(store_url: str) -> None:
    """Any text as documents, any text as query: no syntax error, and exactly the documents that match."""
    engine = open_engine(store_url, SystemClock(), read_only=False)
    writer = engine.writer()
    alphabet = st.sampled_from([*"abAé東京 \"*-'\\:&|!()<>^{}+%$\0\n¶§¤½ß", "ab ", "OR ", "NOT ", " -", '"', "* "])
    anything = st.one_of(st.lists(alphabet, max_size=12).map("".join), st.text(max_size=12))

    @settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(st.lists(anything, max_size=2), min_size=1, max_size=3), anything)
    def check(documents: list[list[str]], query: str) -> None:
        try:
            asked = parse_query(query)
        except InvalidInput:
            return
        tx = writer.begin((), cautious=True, makes_room=True)
        try:
            stored = [(n, engine.text.document(document(texts), ["§1"])) for n, texts in enumerate(documents)]
            tx.run_many(PUT.format(table="event_text"), stored)
            rows = tx.all(
                f"SELECT t.rowid FROM event_text t WHERE {engine.text.matches}", engine.text.query(asked, "§1")
            )
        finally:
            writer.rollback()
        expected = [n for n, texts in enumerate(documents) if matches(asked, document(texts))]
        assert sorted(row[0] for row in rows) == expected

    try:
        check()
    finally:
        writer.close()
        engine.close()


def matches(query: Query, words: list[str]) -> bool:
    """What a query means, said slowly."""

    def has(term: Term) -> bool:
        for start in range(len(words) - len(term.words) + 1):
            there = words[start : start + len(term.words)]
            if all(a == b for a, b in zip(there[:-1], term.words[:-1], strict=True)) and (
                there[-1].startswith(term.words[-1]) if term.prefix else there[-1] == term.words[-1]
            ):
                return True
        return False

    return all(map(has, query.terms)) and not any(map(has, query.excluded))


@pytest.mark.parametrize("query", ["", "  ", "-only", '"', "*"])
async def test_a_search_for_nothing_is_refused(store: Store, query: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        await store.search.find(query)
    assert refusal.value.hint


async def test_bounds_and_cursors_are_checked(store: Store) -> None:
    wrong: list[dict[str, Any]] = [
        {"limit": 0},
        {"limit": 101},
        {"cursor": "x"},
        {"cursor": f"{store.store_id}.-1"},
        {"types": []},
    ]
    for arguments in wrong:
        with pytest.raises(InvalidInput):
            await store.search.find("word", **arguments)
    with pytest.raises(HistoryChanged, match="another store"):
        await store.search.find("word", cursor="otherstore.12")
    with pytest.raises(NotFound):
        await store.search.find("word", session_id="nobody")


async def test_the_largest_events_and_queries_are_taken(store: Store) -> None:
    """At the limits of both engines: long words, many words, one word very often, a query of a hundred words."""
    await store.append("s", say(" ".join(f"{n:x}" + "ä" * 300 for n in range(9_000))))
    await store.append("s", say("same " * 20_000 + "late", "東" * 20_000, " ".join(f"w{n}" for n in range(15_000))))
    await store.append("s", say("after them"))
    assert await found(store, "same") == [("s", 2)]
    assert await found(store, "late") == []
    assert await found(store, "東東東") == [("s", 3)]
    assert await found(store, "1fääää*") == [("s", 1)]
    assert await found(store, " ".join(f"w{n}" for n in range(0, 10_000, 100))) == [("s", 4)]
    assert await found(store, "東" * 100) == [("s", 3)]
    assert await found(store, "after") == [("s", 5)]


async def test_a_word_that_is_there_very_often_is_found_but_is_late_no_part_of_a_phrase(store: Store) -> None:
    await store.append("s", say("common early " + "common " * 300 + "late"))
    assert await found(store, "common late") == [("s", 1)]
    assert await found(store, '"common early"') == [("s", 1)]
    assert await found(store, '"common late"') == []


async def test_filters_by_session_user_and_type(store: Store) -> None:
    await store.sessions.create("ada-1", user_id="ada")
    await store.sessions.create("bob-1", user_id="bob")
    await store.append("ada-1", [*say("hello one"), *say("hello two", type="note")])
    await store.append("bob-1", say("hello three"))
    assert await found(store, "hello") == [("bob-1", 2), ("ada-1", 3), ("ada-1", 2)]
    assert await found(store, "hello", session_id="ada-1") == [("ada-1", 3), ("ada-1", 2)]
    assert await found(store, "hello", user_id="bob") == [("bob-1", 2)]
    assert await found(store, "hello", types=["note", "other"]) == [("ada-1", 3)]
    assert await found(store, "hello", types=["message"], session_id="ada-1", user_id="ada") == [("ada-1", 2)]
    assert await found(store, "hello", session_id="ada-1", user_id="bob") == []


@pytest.mark.own_store
async def test_tenants_never_see_each_other(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    other = store.for_tenant("other")
    await store.append("s", say("shared words mine"))
    await other.append("s", say("shared words theirs"))
    for scope in ("as it is", "the same for all"):
        if scope != "as it is":
            monkeypatch.setattr("holdfast.store.text.word_index.crc32", lambda _: 7)
            await unindex_everything(store)
        assert len((await store.search.find("shared")).hits) == 1
        assert await found(store, "theirs") == []
        assert await found(other, "mine") == []
        assert await found(other, "theirs", session_id="s") == [("s", 1)]


async def test_pages_have_no_gaps_and_no_doubles_while_events_arrive(store: Store) -> None:
    sessions = [f"s{n}" for n in range(4)]
    wanted = set()
    for n in range(45):
        session_id = sessions[n % 4]
        done = await store.append(session_id, say(f"needle {n}", "hay"))
        wanted.add((session_id, done.first_seq))
    got: list[tuple[str, int]] = []
    cursor = None
    for n in range(100):
        page = await store.search.find("needle", limit=7, cursor=cursor)
        got += [(hit.session_id, hit.seq) for hit in page.hits]
        await store.append(sessions[n % 4], say("needle that came later"))
        cursor = page.cursor
        if cursor is None:
            break
    assert len(got) == len(set(got)) == 45
    assert set(got) == wanted
    by_session = {session_id: [seq for name, seq in got if name == session_id] for session_id in sessions}
    assert all(seqs == sorted(seqs, reverse=True) for seqs in by_session.values())


@pytest.mark.own_store
async def test_an_index_that_is_far_behind_catches_up_first(store: Store) -> None:
    for n in range(10):
        await store.append(f"s{n % 3}", say(*(f"batch{n} event{n * 300 + m}" for m in range(300))))
    await unindex_everything(store)
    assert await found(store, "event0") == [("s0", 1)]
    await unindex_everything(store)
    assert len(await found(store, "batch9", limit=100)) == 100
    writes = [store.append("busy", say(f"meanwhile{n}")) for n in range(50)]
    await unindex_everything(store)
    hits, *_ = await asyncio.gather(found(store, "event2999"), *writes)
    assert hits == [("s0", 1200)]


async def test_a_search_is_not_kept_from_its_end_by_those_who_write(store: Store) -> None:
    """It brings the index up to what it saw when it began, not up to whatever comes meanwhile."""
    await store.append("s", say("needle"))
    going = True

    async def keep_writing(n: int) -> None:
        while going:
            await store.append(f"w{n}", say(*["more and more"] * 50))

    writers = [asyncio.create_task(keep_writing(n)) for n in range(3)]
    try:
        async with asyncio.timeout(60):
            for _ in range(5):
                assert await found(store, "needle") == [("s", 1)]
    finally:
        going = False
        await asyncio.gather(*writers)


async def test_a_read_only_store_searches_an_index_that_is_up_to_date(store_url: str) -> None:
    async with await open_store(store_url) as store:
        await store.append("s", say("needle"))
        assert await found(store, "needle") == [("s", 1)]
        async with await open_store(store_url, read_only=True) as reading:
            assert await found(reading, "needle") == [("s", 1)]
            await unindex_everything(store)
            with pytest.raises(StoreUnavailable):
                await reading.search.find("needle")


async def test_an_older_transaction_hides_nothing_that_was_acknowledged(postgres_url: str) -> None:
    async with await open_store(postgres_url) as store:
        with psycopg.connect(postgres_url) as older:
            older.execute("SELECT pg_current_xact_id()")
            for n in range(1, 30):
                await store.append("s", say(f"word{n} common"))
                assert await found(store, f"word{n}") == [("s", n)]
            assert await progress(store) == (0, 0), "the place may not pass what can still slip in"
            await store.append("s", say(*["common"] * 1_300))
            assert len(await found(store, "common", limit=100)) == 100
            assert await indexed(store) == 1_329
        assert await found(store, "word29") == [("s", 29)]
        await store.append("s", say("last"))
        assert await found(store, "last") == [("s", 1_330)]
        assert await progress(store) > (0, 0)
        assert await indexed(store) == 1_330


async def test_a_transaction_that_commits_late_is_indexed_too(postgres_url: str) -> None:
    async with await open_store(postgres_url) as store:
        clock = SystemClock()
        late = store._machinery.engine.writer()
        tx = late.begin((), cautious=True, makes_room=True)
        append(tx, "default", "late", prepare_all(say("needle late"), clock, TimeOrderedIds(clock)))
        await store.append("early", say("needle early"))
        assert await found(store, "needle") == [("early", 1)]
        late.commit()
        assert await found(store, "needle") == [("early", 1), ("late", 1)]
        late.close()


async def progress(store: Store) -> tuple[int, int]:
    row = await store.search.workers.read(
        lambda tx: tx.one("SELECT major, minor FROM search_progress WHERE name = 'events'")
    )
    assert row is not None
    return row[0], row[1]


async def indexed(store: Store) -> int:
    rows = await store.search.workers.read(lambda tx: tx.all("SELECT rowid FROM event_text"))
    return len(rows)


@pytest.mark.own_store
async def test_a_corrupt_payload_stops_nothing_and_is_not_shown(store: Store) -> None:
    await store.append("s", say("needle one", "needle two", "needle three"))
    await unindex_everything(store)
    change = "UPDATE transcript_events SET payload = ?1 WHERE seq = ?2"
    await write(store, lambda tx: tx.run(change, b'{"cut off": "nee', 2))
    await unindex_everything(store)
    assert await found(store, "needle") == [("s", 3), ("s", 1)]
    await write(store, lambda tx: tx.run(change, b'"needle changed"', 1))
    page = await store.search.find("needle", limit=1)
    assert [hit.seq for hit in page.hits] == [3]
    page = await store.search.find("needle", limit=1, cursor=page.cursor)
    assert page.hits == ()
    assert page.cursor is None
    assert [(bad.session_id, bad.seq) for bad in page.damaged] == [("s", 1)]


@pytest.mark.own_store
@pytest.mark.parametrize("life", ["arriving", "leaving", "gone"])
async def test_only_live_sessions_are_searched(store: Store, life: str) -> None:
    await store.append("live", say("needle"))
    await store.append("other", say("needle"))
    assert len(await found(store, "needle")) == 2
    await write(store, lambda tx: tx.run("UPDATE sessions SET life = ?1 WHERE session_id = 'other'", life))
    assert await found(store, "needle") == [("live", 1)]


@pytest.mark.own_store
@pytest.mark.parametrize("seen", [True, False])
async def test_forgotten_events_are_not_found(store: Store, seen: bool) -> None:
    await store.append("s", say(*(f"needle {n}" for n in range(1, 9))))
    await store.append("other", say("needle"))
    if seen:
        assert len(await found(store, "needle")) == 9
    else:
        await unindex_everything(store)
    number = await session_no(store, "s")

    def forget(tx: Tx) -> None:
        forget_events(tx, number, 2, 8)
        tx.run("DELETE FROM transcript_events WHERE session_no = ?1 AND seq BETWEEN 2 AND 8", number)

    await write(store, forget)
    assert await found(store, "needle") == [("other", 1), ("s", 1)]
    assert await indexed(store) == 2


@pytest.mark.own_store
@pytest.mark.parametrize("seen", [True, False])
async def test_erased_events_are_not_found(store: Store, seen: bool) -> None:
    await store.append("s", say("needle one", "needle secret", "needle three"))
    if seen:
        assert len(await found(store, "needle")) == 3
    else:
        await unindex_everything(store)
    await store.erasure.erase("s", [2], reason="asked to")
    for _ in range(2):
        assert await found(store, "needle") == [("s", 3), ("s", 1)]
        assert await found(store, "secret") == []
        await unindex_everything(store)


async def test_a_step_under_way_does_not_bring_back_what_is_being_erased(postgres_url: str) -> None:
    """The step has read the event; the erasure waits for it, and takes out what it put in.

    The store does no chores: its own step could have the index just then.
    """
    async with store_with(postgres_url, ()) as store:
        await store.append("s", say("needle"))
        stepping = store._machinery.engine.writer()
        tx = stepping.begin((), cautious=True, makes_room=True)
        assert index(tx, store._machinery.engine.text) is not None
        erasing = asyncio.create_task(store.erasure.erase("s", [1], reason="asked to"))
        with psycopg.connect(postgres_url, autocommit=True) as looking:
            await eventually(lambda: erasing.done() or _waiting(looking))
        stepping.commit()
        await erasing
        stepping.close()
        rows = await store.search.workers.read(
            lambda tx: tx.all("SELECT rowid FROM event_text WHERE words @@ 'needle'::tsquery")
        )
        assert rows == []


def _waiting(connection: psycopg.Connection[Any]) -> bool:
    row = connection.execute(
        """SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""
    ).fetchone()
    return bool(row and row[0])


@pytest.mark.parametrize("others", [0, 4_000])
async def test_erased_words_leave_the_file(sqlite_url: str, others: int) -> None:
    """Also when the index is rewritten in many small steps, from many pieces and from one.

    The words have letters that no drawn id has: `qkept` came up in one.
    """
    path = sqlite_url.removeprefix("sqlite:///")
    async with await open_store(sqlite_url, tuning=StoreTuning(merge_pages=2)) as store:
        for n in range(0, others, 500):
            await store.append("others", say(*(f"other{n + m} words{m} here" for m in range(500))))
        await store.append("s", say("zqsecretword", "zqkeptout"))
        for n in range(0, others, 500):
            await store.append("others", say(*(f"later{n + m} words{m} here" for m in range(500))))
        assert await found(store, "zqsecretword") == [("s", 1)]
        checkpoint(path)
        assert _holds(path, b"secretword"), "the test would not see it"
        await store.erasure.erase("s", [1], reason="asked to")
        await run_chore(store)
        checkpoint(path)
        assert not _holds(path, b"secretword")
        assert await found(store, "zqkeptout") == [("s", 2)]
        assert len(await found(store, "words7", limit=100)) == 2 * (others // 500)
        await store.erasure.erase("s", [2], reason="asked to")
        await run_chore(store)
        checkpoint(path)
        assert not _holds(path, b"qkeptout")


async def run_chore(store: Store) -> None:
    """Until nothing is left to do, whoever does it."""
    while await write(store, index_chore(store._machinery.engine.text, store.search.tuning)):
        pass


def checkpoint(path: str) -> None:
    with closing(apsw.Connection(path)) as connection:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)


def _holds(path: str, word: bytes) -> bool:
    """Read by another process: closing a descriptor of the file here would drop the store's locks."""
    files = [name for name in (path, f"{path}-wal") if Path(name).exists()]
    return subprocess.run(["grep", "-q", "-a", "-F", word.decode(), *files], check=False).returncode == 0


@pytest.mark.own_store
async def test_memories_are_found_by_their_words(store: Store) -> None:
    text = store._machinery.engine.text
    put = "INSERT INTO memories (tenant, namespace, key, version, live) VALUES (?1, ?2, ?3, 1, ?4)"
    numbers: dict[str, int] = {}

    def remember(tx: Tx) -> None:
        for key, tenant, namespace, live in (
            ("tea", "default", "likes", 1),
            ("coffee", "default", "likes", 1),
            ("home", "default", "facts", 1),
            ("theirs", "other", "likes", 1),
            ("forgotten", "default", "likes", 0),
        ):
            tx.run(put, tenant, namespace, key, live)
            row = tx.one("SELECT max(memory_no) FROM memories")
            assert row is not None
            numbers[key] = row[0]
            index_memory(tx, text, tenant, row[0], f'{{"text": "drinks {key} daily"}}'.encode())

    def match(query: str, **narrower: Any) -> Any:
        return store.search.workers.read(lambda tx: match_memories(tx, text, "default", parse_query(query), **narrower))

    await write(store, remember)
    assert await match("drinks") == [numbers["home"], numbers["coffee"], numbers["tea"]]
    assert await match("drinks", namespace="likes") == [numbers["coffee"], numbers["tea"]]
    assert await match("drinks", before=numbers["coffee"]) == [numbers["tea"]]
    assert await match("drinks", limit=1) == [numbers["home"]]
    assert await match('"drinks tea"') == [numbers["tea"]]
    await write(store, lambda tx: index_memory(tx, text, "default", numbers["tea"], b'"prefers water"'))
    assert await match("tea") == []
    assert await match("water") == [numbers["tea"]]
    await write(store, lambda tx: unindex_memory(tx, text, numbers["tea"], scrub=True))
    assert await match("water") == []
    await run_chore(store)
    assert await match("drinks") == [numbers["home"], numbers["coffee"]]


def index_until_killed(url: str) -> None:
    """Open the store and let its idle lane index."""

    async def run() -> None:
        async with await open_store(url):
            await asyncio.Event().wait()

    asyncio.run(run())


async def test_kills_leave_nothing_out_and_nothing_twice(store_url: str) -> None:
    events = 12_000
    async with store_with(store_url, ()) as store:
        for n in range(0, events, 1_000):
            await store.append(f"s{n % 3}", say(*(f"event{n + m} of many words" for m in range(1_000))))
    kills = 0
    with outside(store_url) as ask:
        ask("DELETE FROM event_text")
        ask(NOWHERE)
        while kills < 5:
            before = ask("SELECT minor FROM search_progress WHERE name = 'events'")
            child = spawn(index_until_killed, store_url)
            async with asyncio.timeout(60):
                while ask("SELECT minor FROM search_progress WHERE name = 'events'") == before:
                    await asyncio.sleep(0.001)
            child.kill()
            child.join()
            rows = [row[0] for row in ask("SELECT rowid FROM event_text ORDER BY rowid")]
            (place,) = ask("SELECT minor FROM search_progress WHERE name = 'events'")
            assert rows == [row[0] for row in ask(f"SELECT pos FROM transcript_events WHERE pos <= {place[0]}")]
            assert 0 < len(rows) < events, "the kill came too late"
            kills += 1
    async with await open_store(store_url) as store:
        await run_chore(store)
        assert await indexed(store) == events
        for n in (0, 499, 500, 6_001, events - 1):
            assert len(await found(store, f"event{n}")) == 1


@contextmanager
def outside(url: str) -> Iterator[Callable[[str], list[Any]]]:
    """Ask the database without opening the store."""
    if url.startswith("sqlite"):
        with closing(apsw.Connection(url.removeprefix("sqlite:///"))) as connection:
            connection.set_busy_timeout(10_000)
            yield lambda sql: connection.execute(sql).fetchall()
    else:
        with psycopg.connect(url, autocommit=True) as postgres:

            def ask(sql: str) -> list[Any]:
                done = postgres.execute(sql.encode())
                return done.fetchall() if done.description else []

            yield ask
