"""Backups in the places where they are needed: beside what a crash left, of a damaged store, of an older version, in a
database that others use too."""

import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest
from tests.contract.test_backup_contract import fresh_url
from tests.store.test_migrations import engine_of, make_first_store
from tests.support.changes import assert_verified
from tests.support.material import numbered, values
from tests.support.postgres import Server
from tests.support.steps import run

from holdfast.core import SystemClock, strict_json
from holdfast.core.errors import Corrupt, InvalidInput, SchemaUnknown
from holdfast.store import Store, open_store
from holdfast.store.backup.backup import DamagedSession, back_up, damaged_sessions, restore
from holdfast.store.migrations import migrate, newest
from holdfast.store.postgres import backup as postgres_backup
from holdfast.store.postgres.connection import connect
from holdfast.store.postgres.transaction import PostgresTx
from holdfast.store.sqlite.transaction import SqliteTx

pytestmark = pytest.mark.own_store

BESIDE = ("-wal", "-shm", "-journal")


@pytest.fixture
def path(sqlite_url: str) -> Path:
    return Path(sqlite_url.removeprefix("sqlite:///"))


def files(folder: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in folder.iterdir()}


def crash(path: Path, crashed: Path) -> None:
    """Leave at a path what a killed process would: the files of a store as they are at this moment."""
    crashed.parent.mkdir(exist_ok=True)
    for suffix in ("", "-wal", "-shm"):
        shutil.copy(f"{path}{suffix}", f"{crashed}{suffix}")


async def test_a_log_beside_the_place_is_never_taken_for_the_restored_ones(
    sqlite_url: str, path: Path, tmp_path: Path
) -> None:
    """A gateway was killed, its database moved away, and its log left: it is that database's, and has its newest."""
    crashed = tmp_path / "crashed" / "holdfast.db"
    async with await open_store(sqlite_url) as store:
        await store.append("s", numbered(1))
        await back_up(store, tmp_path / "backup")
        await store.append("later", numbered(2))
        crash(path, crashed)
    moved = crashed.with_name("moved.db")
    crashed.rename(moved)
    before = files(crashed.parent)
    with pytest.raises(InvalidInput, match=r"holdfast\.db-wal"):
        await restore(tmp_path / "backup", f"sqlite:///{crashed}")
    assert files(crashed.parent) == before
    for suffix in ("-wal", "-shm"):
        Path(f"{crashed}{suffix}").rename(f"{moved}{suffix}")
    async with await restore(tmp_path / "backup", f"sqlite:///{crashed}") as restored:
        assert [each.session_id for each in (await restored.sessions.list()).sessions] == ["s"]
        assert await restored.verification.files() == []
    async with await open_store(f"sqlite:///{moved}") as whole:
        assert await values(whole, "later") == [{"n": 2}]


@pytest.mark.parametrize("suffix", BESIDE)
async def test_nothing_is_put_beside_what_another_database_left(sqlite_url: str, tmp_path: Path, suffix: str) -> None:
    async with await open_store(sqlite_url) as store:
        await store.append("s", numbered(1))
        await back_up(store, tmp_path / "backup")
        folder = tmp_path / "copies"
        folder.mkdir()
        (folder / f"copy{suffix}").write_bytes(b"another one's")
        with pytest.raises(InvalidInput, match=f"copy{suffix}"):
            await back_up(store, folder / "copy")
    with pytest.raises(InvalidInput, match=f"copy{suffix}"):
        await restore(tmp_path / "backup", f"sqlite:///{folder}/copy")
    assert files(folder) == {f"copy{suffix}": b"another one's"}


async def test_a_link_to_the_place_is_followed(sqlite_url: str, tmp_path: Path) -> None:
    """SQLite follows it, and looks for the log beside the file itself."""
    async with await open_store(sqlite_url) as store:
        await back_up(store, tmp_path / "backup")
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "holdfast.db-wal").write_bytes(b"another one's")
    (tmp_path / "holdfast.db").symlink_to(tmp_path / "real" / "holdfast.db")
    with pytest.raises(InvalidInput, match=r"holdfast\.db-wal"):
        await restore(tmp_path / "backup", f"sqlite:///{tmp_path}/holdfast.db")


async def test_a_store_with_its_log_is_no_backup(sqlite_url: str, path: Path, tmp_path: Path) -> None:
    """The file alone has not all that was acknowledged."""
    async with await open_store(sqlite_url) as store:
        await store.append("s", numbered(1))
        crash(path, tmp_path / "crashed" / "holdfast.db")
    with pytest.raises(InvalidInput, match=r"holdfast\.db-wal"):
        await restore(tmp_path / "crashed" / "holdfast.db", f"sqlite:///{tmp_path}/restored.db")
    assert not (tmp_path / "restored.db").exists()


CHANGED = "UPDATE transcript_events SET payload = {empty} WHERE seq = 2 AND session_no = ({bad})"
STRAY = """
    INSERT INTO transcript_event_identities (session_no, seq, event_id, type, parent_id, idempotency_key)
    SELECT session_no, 99, 'stray', 'note', NULL, NULL FROM sessions WHERE session_id = 'bad'"""


def damage(store: Store, sql: str) -> str:
    empty = "x'7b7d'" if store.engine.name == "sqlite" else r"'\x7b7d'"
    return sql.format(empty=empty, bad="SELECT session_no FROM sessions WHERE session_id = 'bad'")


@pytest.mark.parametrize(("sql", "said"), [(CHANGED, "event 2"), (STRAY, "99")], ids=["changed", "stray"])
async def test_a_damaged_session_is_backed_up_and_named(
    store: Store, tmp_path: Path, postgres: Server, sql: str, said: str
) -> None:
    await store.append("bad", numbered(1, 2, 3))
    await store.append("good", numbered(1, 2, 3))
    await run(store, damage(store, sql))
    made = await back_up(store, tmp_path / "backup")
    assert made.sessions == 2
    ((tenant, session_id, problem),) = [(each.tenant, each.session_id, each.problem) for each in made.damaged]
    assert (tenant, session_id) == ("default", "bad")
    assert said in problem
    assert damaged_sessions(tmp_path / "backup") == made.damaged
    async with await restore(tmp_path / "backup", fresh_url(store, tmp_path, postgres)) as copy:
        await assert_verified(copy, "good")
        assert (await copy.verification.session("bad")).problem == (await store.verification.session("bad")).problem
        assert (await back_up(copy, tmp_path / "again")).damaged == made.damaged
        assert await run_all(copy, "SELECT count(*) FROM schema_meta WHERE key NOT IN ('version', 'store_id')") == 0


async def run_all(store: Store, sql: str) -> Any:
    return (await store.sessions.workers.read(lambda tx: tx.all(sql)))[0][0]


async def test_a_sound_store_has_no_damaged_sessions(store: Store, tmp_path: Path) -> None:
    await store.append("s", numbered(1))
    assert (await back_up(store, tmp_path / "backup")).damaged == ()
    assert damaged_sessions(tmp_path / "backup") == ()


async def test_what_is_damaged_after_the_backup_was_made_is_not_restored(sqlite_url: str, tmp_path: Path) -> None:
    async with await open_store(sqlite_url) as store:
        await store.append("bad", numbered(1, 2, 3))
        await store.append("good", numbered(1, 2, 3))
        await run(store, damage(store, CHANGED))
        await back_up(store, tmp_path / "backup")
    connection = apsw.Connection(str(tmp_path / "backup"))
    connection.execute("UPDATE transcript_events SET payload = x'5b5d' WHERE seq = 3")
    connection.close()
    with pytest.raises(Corrupt, match="good"):
        await restore(tmp_path / "backup", f"sqlite:///{tmp_path}/restored.db")
    assert not list(tmp_path.glob("*restored*"))


def bring_to(url: str, version: int) -> None:
    """The first store, brought to a later version that is old by now."""
    make_first_store(url)
    if engine_of(url) == "postgres":
        with connect(url) as other:
            other.execute("BEGIN")
            migrate(PostgresTx(other), "postgres", version)
            other.execute("COMMIT")
        return
    connection = apsw.Connection(url.removeprefix("sqlite:///"))
    with connection:
        migrate(SqliteTx(connection, SystemClock()), "sqlite", version)
        connection.pragma("user_version", version)
    connection.close()


@pytest.mark.parametrize("version", [2, 5, newest("sqlite") - 1])
async def test_a_backup_of_an_older_version_is_brought_up_to_date(
    empty_url: str, tmp_path: Path, postgres: Server, version: int
) -> None:
    bring_to(empty_url, version)
    backup = tmp_path / "backup"
    if engine_of(empty_url) == "sqlite":
        shutil.copy(empty_url.removeprefix("sqlite:///"), backup)
        target = f"sqlite:///{tmp_path}/restored.db"
    else:
        postgres_backup.copy(lambda: connect(empty_url), backup, lambda _done, _of: None)
        target = postgres.new_database()
    async with await restore(backup, target) as store:
        assert await values(store, "turns") != []
        assert (await store.state.get("with-state")).version == 2
        assert [found.seq for found in (await store.search.find("ünïcode")).hits] == [4, 3, 2]
        await store.append("turns", numbered(1))
        await store.goals.add("turns", "go on")
        await assert_verified(store, "described", "with-state", "turns", "empty")
        assert await run_all(store, "SELECT value FROM schema_meta WHERE key = 'version'") == str(newest("sqlite"))


async def test_a_backup_of_a_newer_version_is_refused(postgres_url: str, tmp_path: Path, postgres: Server) -> None:
    async with await open_store(postgres_url) as store:
        await store.append("s", numbered(1))
        await back_up(store, tmp_path / "backup")
    repack(tmp_path / "backup", lambda members: members.update({"backup.json": _newer(members["backup.json"])}))
    target = postgres.new_database()
    with pytest.raises(SchemaUnknown):
        await restore(tmp_path / "backup", target)
    assert tables(target) == set()


def _newer(about: bytes) -> bytes:
    found = strict_json.parse(about)
    return strict_json.dump({**found, "schema": found["schema"] + 1})


def repack(path: Path, change: Callable[[dict[str, bytes]], None]) -> None:
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def tables(url: str) -> set[str]:
    with psycopg.connect(url) as connection:
        return {name for (name,) in connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")}


def execute(url: str, sql: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(sql.encode())


async def test_only_our_own_tables_are_copied(postgres_url: str, tmp_path: Path, postgres: Server) -> None:
    async with await open_store(postgres_url) as store:
        await store.append("s", numbered(1))
        ours = tables(postgres_url)
        execute(postgres_url, "CREATE TABLE invoices (n int); INSERT INTO invoices VALUES (1)")
        await back_up(store, tmp_path / "backup")
    with zipfile.ZipFile(tmp_path / "backup") as archive:
        named = {name.removesuffix(".copy") for name in archive.namelist() if name.endswith(".copy")}
    assert named == ours - postgres_backup.LEFT_OUT
    async with await restore(tmp_path / "backup", postgres.new_database()) as copy:
        assert await values(copy, "s") == [{"n": 1}]


async def test_another_programs_tables_in_an_earlier_backup_are_left_out(
    postgres_url: str, tmp_path: Path, postgres: Server
) -> None:
    """Earlier versions copied every table that they found."""
    async with await open_store(postgres_url) as store:
        await store.append("s", numbered(1))
        await back_up(store, tmp_path / "backup")

    def add(members: dict[str, bytes]) -> None:
        manifest = strict_json.parse(members["manifest.json"])
        digest = "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"
        about = {"table": "invoices", "columns": ["n"], "rows": 1, "size": 1, "sha256": digest}
        members["manifest.json"] = strict_json.dump({**manifest, "tables": [*manifest["tables"], about]})
        members["invoices.copy"] = b"1"

    repack(tmp_path / "backup", add)
    target = postgres.new_database()
    async with await restore(tmp_path / "backup", target) as copy:
        assert await values(copy, "s") == [{"n": 1}]
    assert "invoices" not in tables(target)


async def test_a_database_with_tables_of_our_names_is_not_restored_into(
    postgres_url: str, tmp_path: Path, postgres: Server
) -> None:
    async with await open_store(postgres_url) as store:
        await store.append("s", numbered(1))
        await back_up(store, tmp_path / "backup")
    target = postgres.new_database()
    execute(target, "CREATE TABLE sessions (n int)")
    with pytest.raises(InvalidInput, match="sessions"):
        await restore(tmp_path / "backup", target)
    assert tables(target) == {"sessions"}
    execute(target, "DROP TABLE sessions; CREATE TABLE invoices (n int)")
    async with await restore(tmp_path / "backup", target) as copy:
        assert await values(copy, "s") == [{"n": 1}]


def test_a_damaged_session_says_where_and_what() -> None:
    assert str(DamagedSession("t", "s", "event 2 is not what was written")) == "t/s: event 2 is not what was written"
