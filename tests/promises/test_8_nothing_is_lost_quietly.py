"""Promise 8: nothing is lost quietly."""

import random
import sqlite3
from pathlib import Path

import apsw
import psycopg
import pytest

from holdfast.core.errors import Corrupt, HoldfastError, InvalidInput, SchemaUnknown, StoreUnavailable
from holdfast.store import NewEvent, open_store


def path_of(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///"))


async def fill(url: str, events: int = 40) -> None:
    async with await open_store(url) as store:
        for start in range(0, events, 10):
            await store.append(
                "s", [NewEvent("t", {"text": f"payload-{n:04d}-" * 20}) for n in range(start, start + 10)]
            )


async def test_a_flipped_bit_in_a_payload_is_named_and_reads_raise(sqlite_url: str) -> None:
    await fill(sqlite_url)
    path = path_of(sqlite_url)
    content = bytearray(path.read_bytes())
    at = content.index(b"payload-0017-")
    content[at] ^= 0x01
    path.write_bytes(content)
    async with await open_store(sqlite_url) as store:
        verified = await store.verification.session("s")
        assert verified.bad_seq == 18
        with pytest.raises(Corrupt) as refusal:
            await store.read("s")
        assert refusal.value.details["seq"] == 18
        with pytest.raises(Corrupt):
            async for _ in store.feed.session("s", after=10):
                pass
        assert [event.seq for event in await store.read("s", limit=17)] == list(range(1, 18))


async def test_no_flipped_bit_anywhere_in_the_file_gives_a_wrong_answer(sqlite_url: str, tmp_path: Path) -> None:
    """Flip bits all over the file: every read is right or raises, and verify sees what a read saw."""
    await fill(sqlite_url)
    original = path_of(sqlite_url).read_bytes()
    async with await open_store(sqlite_url) as store:
        truth = await store.read("s")
    chance = random.Random(8)
    raised = 0
    for number in range(60):
        content = bytearray(original)
        for _ in range(4):
            content[chance.randrange(4096, len(content))] ^= 1 << chance.randrange(8)
        copy = tmp_path / f"copy{number}.db"
        copy.write_bytes(content)
        try:
            async with await open_store(f"sqlite:///{copy}", read_only=True) as store:
                try:
                    assert await store.read("s") == truth
                except HoldfastError as error:
                    raised += 1
                    if isinstance(error, Corrupt) and "seq" in error.details:
                        assert (await store.verification.session("s")).problem is not None
        except HoldfastError:
            raised += 1
    assert raised > 10


@pytest.mark.parametrize("content", [b"not a database at all" * 500, b"SQLite format 3\0" + b"\xff" * 8000])
async def test_a_file_that_is_no_database_is_refused_and_left_alone(sqlite_url: str, content: bytes) -> None:
    path = path_of(sqlite_url)
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(Corrupt):
        await open_store(sqlite_url)
    assert path.read_bytes() == content


async def test_another_programs_database_is_refused(sqlite_url: str) -> None:
    path = path_of(sqlite_url)
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE theirs (a)")
    connection.commit()
    connection.close()
    with pytest.raises(SchemaUnknown):
        await open_store(sqlite_url)


async def test_a_newer_schema_is_refused(store_url: str) -> None:
    async with await open_store(store_url):
        pass
    newer = "UPDATE schema_meta SET value = '9999' WHERE key = 'version'"
    if store_url.startswith("sqlite"):
        connection = apsw.Connection(str(path_of(store_url)))
        connection.set_busy_timeout(10_000)
        connection.execute(newer)
        connection.close()
    else:
        with psycopg.connect(store_url, autocommit=True) as other:
            other.execute(newer.encode())
    for read_only in (False, True):
        with pytest.raises(SchemaUnknown):
            await open_store(store_url, read_only=read_only)


async def test_reading_only_makes_no_file(sqlite_url: str) -> None:
    with pytest.raises(StoreUnavailable):
        await open_store(sqlite_url, read_only=True)
    assert not path_of(sqlite_url).exists()


async def test_a_missing_parent_is_an_error(store_url: str) -> None:
    async with await open_store(store_url) as store:
        await store.append("s", [NewEvent("t", 1, event_id="a")])
        await store.append("other", [NewEvent("t", 1, event_id="elsewhere")])
        await store.append("s", [NewEvent("t", 2, event_id="b", parent_id="c"), NewEvent("t", 3, event_id="c")])
        for parent in ("nobody", "elsewhere"):
            with pytest.raises(InvalidInput):
                await store.append("s", [NewEvent("t", 4, parent_id=parent)])
        assert len(await store.read("s")) == 3


async def test_the_store_file_is_its_owners_only(sqlite_url: str) -> None:
    async with await open_store(sqlite_url) as store:
        await store.append("s", [NewEvent("t", 1)])
        for suffix in ("", "-wal", "-shm"):
            assert Path(f"{path_of(sqlite_url)}{suffix}").stat().st_mode & 0o077 == 0


async def test_an_unreachable_server_is_a_clear_error() -> None:
    with pytest.raises(StoreUnavailable) as refusal:
        await open_store("postgresql://nobody:secret@127.0.0.1:1/none")
    assert refusal.value.hint
    assert "secret" not in str(refusal.value)
