"""`holdfast doctor`: every check fails on a store that is really broken so, and what it says mends it."""

import asyncio
import json
import os
import shlex
import stat
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.cli.command import fill, run
from tests.gateway.process import running
from tests.gateway.test_transfer import damage
from tests.store.test_migrations import make_first_store
from tests.store.test_read_only import leave_log, listing, powerless
from tests.support.clocks import DAY, MovedClock
from tests.support.disks import fill as fill_disk
from tests.support.disks import reader_elsewhere, small_disk
from tests.support.eventually import wait_until
from tests.support.legacy_layout import conversation, write_index, write_session
from tests.support.opening import store_with
from tests.support.scripted_server import Answer, endpoint

from holdfast import __version__
from holdfast.cli.doctor import surroundings
from holdfast.core.errors import ReadTimeout
from holdfast.store import NewEvent, Store, open_store
from holdfast.store.engine import Tx
from holdfast.store.health import CHECKS, OPENING
from holdfast.store.operators import duties
from holdfast.store.operators.duties import Duty
from holdfast.store.sqlite import SqliteEngine
from holdfast.store.sqlite.process import this_process

CHECK_NAMES = [*OPENING, *(check.name for check in CHECKS), *surroundings.NAMES]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with a store that nothing is wrong with."""
    folder = tmp_path / "data"
    fill(folder)
    database(folder).chmod(0o600)
    return folder


def database(data: Path) -> Path:
    """The store's file."""
    return data / "holdfast.db"


def change(data: Path, sql: str, *values: Any) -> None:
    """Change the store behind its back."""
    connection = apsw.Connection(str(database(data)))
    connection.execute(sql, values)
    connection.close()


def work(url: str, do: Callable[[Store], Awaitable[Any]], ahead: int = 0) -> None:
    """Use a store, with a clock that is ahead."""

    async def use() -> None:
        async with await open_store(url, clock=MovedClock(ahead)) as store:
            await do(store)

    asyncio.run(use())


def url_of(data: Path) -> str:
    """The store's URL."""
    return f"sqlite:///{database(data)}"


def examine(*arguments: str, data: Path | None = None) -> dict[str, dict[str, Any]]:
    """What doctor finds, by the names of its checks."""
    done = run("doctor", *arguments, "--json", data=data)
    report = json.loads(done.stdout)
    found = {each["check"]: each for each in report["findings"]}
    assert report["ok"] == (done.exit_code == 0) == all(each["state"] != "failed" for each in found.values())
    return found


def mended(finding: dict[str, Any]) -> int:
    """Run the command that a finding names; its exit code."""
    program, *words = shlex.split(finding["mend"])
    if program == "holdfast":
        return run(*words).exit_code
    return subprocess.run(finding["mend"], shell=True, check=False, stdout=subprocess.DEVNULL).returncode


def wrong(found: dict[str, dict[str, Any]]) -> dict[str, str]:
    """The checks that say more than ok, but for backups, of which a new store has none."""
    return {name: each["state"] for name, each in found.items() if each["state"] != "ok" and name != "backups"}


def test_nothing_is_wrong_with_a_good_store(data: Path) -> None:
    before = listing(data)
    found = examine(data=data)
    assert list(found) == CHECK_NAMES
    assert wrong(found) == {}
    assert listing(data) == before
    said = run("doctor", data=data)
    assert (said.exit_code, len(said.stdout.splitlines())) == (0, len(CHECK_NAMES))


def test_a_database_without_its_file_is_refused_by_the_engine(data: Path) -> None:
    leave_log(database(data))
    os.truncate(database(data), 0)
    found = examine(data=data)
    assert (found["engine"]["state"], found["schema"]["state"]) == ("failed", "unknown")
    assert "move the database back" in found["engine"]["mend"]
    assert found["backups"]["state"] == "warning"


def test_an_old_schema_is_migrated_and_a_new_one_is_not_known(data: Path, tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    make_first_store(f"sqlite:///{tmp_path}/old/holdfast.db")
    old = examine(data=tmp_path / "old")["schema"]
    assert (old["state"], mended(old)) == ("failed", 0)
    assert examine(data=tmp_path / "old")["schema"]["state"] == "ok"
    change(data, "UPDATE schema_meta SET value = '99' WHERE key = 'version'")
    assert "install" in examine(data=data)["schema"]["mend"]


@pytest.mark.parametrize("number", [0, 42])
def test_another_programs_database_is_left_alone(data: Path, number: int) -> None:
    database(data).unlink()
    for statement in ("CREATE TABLE notes (text)", f"PRAGMA application_id = {number}"):
        change(data, statement)
    before = listing(data)
    found = examine(data=data)
    assert (found["engine"]["state"], found["schema"]["state"]) == ("failed", "unknown")
    assert "another program's database" in found["engine"]["reason"] and "migrate" not in found["engine"]["mend"]
    assert listing(data) == before


def test_a_pipe_is_not_waited_for(data: Path) -> None:
    database(data).unlink()
    os.mkfifo(database(data))
    assert "no plain file" in examine(data=data)["engine"]["reason"]
    for command in (("sessions", "ls"), ("sessions", "tag", "one", "x"), ("doctor", "--session-sqlite", "inspect")):
        refused = run(*command, data=data)
        assert (refused.exit_code, "no plain file" in refused.stderr) == (2, True), command


def test_a_damaged_page_is_found(data: Path) -> None:
    with database(data).open("r+b") as file:
        file.seek(20 * 4096)
        file.write(os.urandom(2 * 4096))
    found = examine(data=data)
    assert found["integrity"]["state"] == "failed"
    assert "db restore" in found["integrity"]["mend"]


def test_a_changed_event_breaks_the_chain(data: Path) -> None:
    damage(f"sqlite:///{database(data)}", "UPDATE transcript_events SET payload = {blob} WHERE pos = 2")
    chain = examine(data=data)["chain"]
    assert chain["state"] == "failed"
    assert "one: event 2" in chain["reason"]
    assert mended(chain) == 1  # it names every damaged session


def test_a_long_log_is_emptied(data: Path) -> None:
    leave_log(database(data))
    os.truncate(f"{database(data)}-wal", 140_000_000)
    found = examine(data=data)["log"]
    assert (found["state"], mended(found)) == ("warning", 0)
    assert wrong(examine(data=data)) == {}
    assert not Path(f"{database(data)}-wal").exists()


def test_a_log_that_its_gateway_does_not_empty_is_found(data: Path) -> None:
    serve_here(data, "http://127.0.0.1:9")
    leave_log(database(data))
    os.truncate(f"{database(data)}-wal", 300_000_000)
    found = examine(data=data)["log"]
    assert (found["state"], "restart the gateway" in found["mend"]) == ("failed", True)
    with reader_elsewhere(database(data)) as reader:
        found = examine(data=data)["log"]
        assert (found["state"], found["mend"]) == ("failed", f"kill {reader.pid}")


def test_a_disk_without_room_is_found(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    with small_disk(tmp_path / "disk", 48) as disk:
        fill(disk / "data")
        assert examine(data=disk / "data")["disk"]["state"] == "ok"
        os.truncate(database(disk / "data"), 30_000_000)  # without blocks
        short = examine(data=disk / "data")["disk"]
        assert (short["state"], mended(short)) == ("warning", 0)
        fill_disk(disk / "ballast", 8_000_000)
        found = examine(data=disk / "data")["disk"]
        assert (found["state"], mended(found)) == ("failed", 0)


def test_files_that_everybody_may_open_are_closed(data: Path) -> None:
    database(data).chmod(0o644)
    found = examine(data=data)["permissions"]
    assert (found["state"], found["mend"].startswith("chmod o= ")) == ("warning", True)
    report = json.loads(run("doctor", "--fix", "--json", data=data).stdout)
    assert ["only its owner" in each for each in report["fixed"]] == [True]
    assert stat.S_IMODE(database(data).stat().st_mode) == 0o640
    assert examine(data=data)["permissions"]["state"] == "ok"
    database(data).chmod(0o666)
    assert mended(examine(data=data)["permissions"]) == 0
    assert examine(data=data)["permissions"]["state"] == "ok"


def test_a_file_that_may_not_be_written_is_found(data: Path) -> None:
    database(data).chmod(0o400)
    found = examine(data=data)["permissions"]
    assert (found["state"], mended(found)) == ("failed", 0)
    assert examine(data=data)["permissions"]["state"] == "ok"


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT RUN: to give files to another user needs root")
def test_files_of_several_users_are_found(data: Path) -> None:
    reserve = database(data).with_name("holdfast.db.reserve")
    reserve.touch(mode=0o600)
    os.chown(reserve, 65_534, -1)
    found = examine(data=data)["permissions"]
    assert (found["state"], "several users" in found["reason"], mended(found)) == ("failed", True, 0)
    assert examine(data=data)["permissions"]["state"] == "ok"


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT RUN: to become another user needs root")
def test_another_user_is_told_what_they_may_not_do(data: Path) -> None:
    assert run("doctor", "--fix", data=data).exit_code == 0
    with powerless(data):
        assert "this user may not read" in examine(data=data)["engine"]["reason"]
    database(data).chmod(0o644)
    with powerless(data):
        done = run("doctor", "--fix", data=data)
        assert (done.exit_code, "not mended" in done.stdout) == (0, True), done.output
        assert wrong(examine(data=data)) == {"permissions": "warning"}


def test_events_from_the_future_are_found(data: Path) -> None:
    work(url_of(data), lambda store: store.append("one", [NewEvent("note", {})]), ahead=DAY)
    found = examine(data=data)["clock"]
    assert (found["state"], "from the future" in found["reason"]) == ("warning", True)


def test_a_clock_that_was_set_back_is_found(data: Path) -> None:
    work(url_of(data), lambda store: store.append("one", [NewEvent("note", {})]), ahead=-DAY)
    found = examine(data=data)["clock"]
    assert (found["state"], "set back" in found["reason"]) == ("warning", True)


def test_interrupted_sessions_are_listed(data: Path) -> None:
    change(data, "UPDATE sessions SET status = 'interrupted' WHERE session_id = 'two'")
    found = examine(data=data)["sessions"]
    assert (found["state"], "two" in found["reason"], mended(found)) == ("warning", True, 0)


def test_sessions_that_stay_on_their_way_are_found(data: Path) -> None:
    change(data, "UPDATE sessions SET life = 'leaving', updated_at = 1 WHERE session_id = 'two'")
    found = examine(data=data)["sessions"]
    assert (found["state"], "on their way" in found["reason"]) == ("warning", True)


def test_tasks_without_an_owner_are_found(data: Path) -> None:
    work(url_of(data), lambda store: store.tasks.begin("one", "t1", "c1", NewEvent("message", {}), owner="dead"))
    found = examine(data=data)["tasks"]
    assert (found["state"], found["mend"]) == ("warning", f"holdfast serve --data {data}")


def test_tasks_that_do_not_move_are_found(data: Path) -> None:
    async def begin(store: Store) -> None:
        await store.tasks.beat("slow", 2 * DAY)
        await store.tasks.begin("one", "t1", "c1", NewEvent("message", {}), owner="slow")

    work(url_of(data), begin, ahead=-DAY)
    found = examine(data=data)["tasks"]
    assert (found["state"], "an hour" in found["reason"], mended(found)) == ("warning", True, 0)


def test_leases_of_the_dead_are_freed(data: Path) -> None:
    work(url_of(data), lambda store: store.leases.acquire("one", "dead", 1_000), ahead=-DAY)
    found = examine(data=data)["leases"]
    assert (found["state"], mended(found)) == ("warning", 0)
    assert examine(data=data)["leases"]["state"] == "ok"


def test_words_that_are_not_indexed_are_counted(data: Path) -> None:
    async def write() -> None:
        async with store_with(url_of(data), ()) as store:
            await store.append("one", [NewEvent("note", {"n": n}) for n in range(1_000)])

    asyncio.run(write())
    found = examine(data=data)["search"]
    assert (found["state"], "1,000 events or more" in found["reason"]) == ("warning", True)
    assert found["mend"] == f"holdfast serve --data {data}"
    with running(data):
        wait_until(lambda: "by its words" in examine(data=data)["search"]["reason"], pause=0.1)


def serve_here(data: Path, url: str) -> None:
    """Say that this process serves the store, at a URL."""
    pid, started, boot, namespace = this_process()
    inode = database(data).stat().st_ino
    change(
        data,
        "UPDATE owner SET number = 1, pid = ?1, started = ?2, boot = ?3, namespace = ?4, url = ?5, inode = ?6",
        *(pid, started, boot, namespace, url, inode),
    )


def test_a_gateway_that_does_not_answer_is_found(data: Path) -> None:
    serve_here(data, "http://127.0.0.1:9")
    found = examine(data=data)
    assert (found["gateway"]["state"], found["gateway"]["mend"][:7]) == ("failed", "restart")
    assert "quick check" in found["integrity"]["reason"]


def test_a_gateway_of_another_version_is_found(data: Path) -> None:
    with endpoint(Answer(b'{"status":"ok","version":"0.0.1"}')) as server:
        serve_here(data, server.origin)
        found = examine(data=data)["gateway"]
    assert (found["state"], "0.0.1" in found["reason"]) == ("warning", True)


def test_the_backup_that_doctor_asks_for_is_one_that_it_finds(data: Path) -> None:
    found = examine(data=data)["backups"]
    assert (found["state"], mended(found)) == ("warning", 0)
    assert examine(data=data)["backups"]["state"] == "ok"
    (made,) = (data / "backups").iterdir()
    made.rename(made.with_name("holdfast-20200101T000000.000Z.backup"))
    assert "days old" in examine(data=data)["backups"]["reason"]
    assert examine(data=data)["backups"]["state"] == "warning"


@pytest.mark.parametrize(("times", "state"), [(2, "warning"), (99, "unknown")])
def test_a_look_that_is_overtaken_is_taken_again_and_leaves_the_others(
    data: Path, monkeypatch: pytest.MonkeyPatch, times: int, state: str
) -> None:
    left, look = iter(range(times)), duties._look

    def overtaken(tx: Tx, name: str) -> Duty:
        found = look(tx, name)
        if next(left, None) is not None:
            change(data, "UPDATE sessions SET tenant = tenant")
        return found

    monkeypatch.setattr(duties, "_look", overtaken)
    found = examine(data=data)
    assert list(found) == CHECK_NAMES
    assert found["backups"]["state"] == state
    assert wrong(found) == {}


def test_sessions_of_the_older_layout_that_are_not_here_are_imported(data: Path) -> None:
    write_session(data, "old", conversation("old", "my name is Ada"))
    write_session(data, "cold", conversation("cold", "long ago"))
    write_index(data, {"agent:main:x": "old"})
    found = examine(data=data)["legacy"]
    assert (found["state"], "1 of them not in the store" in found["reason"]) == ("warning", True)
    with running(data):
        assert "all of them in the store; 1 more without a key" in examine(data=data)["legacy"]["reason"]
    write_session(data, "new", conversation("new", "hi"))
    write_index(data, {"agent:main:x": "old", "agent:main:y": "new"})
    assert mended(examine(data=data)["legacy"]) == 0
    assert examine(data=data)["legacy"]["state"] == "ok"


def test_entries_of_the_older_layout_that_cannot_be_used_are_found(data: Path) -> None:
    write_index(data, {"agent:main:x": 1})
    found = examine(data=data)["legacy"]
    assert (found["state"], mended(found)) == ("warning", 0)


def test_a_quick_check_ends_in_time(data: Path) -> None:
    change(data, "CREATE TABLE ballast (n INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT")
    rows = "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 20000)"
    change(data, f"{rows} INSERT INTO ballast SELECT n, 'text' FROM c")
    engine = SqliteEngine(database(data), MovedClock(), read_only=True)
    assert engine.check(60) == []
    with pytest.raises(ReadTimeout):
        engine.check(0)
    engine.close()


def inodes(data: Path) -> dict[str, int]:
    """The files of the store, by their inodes."""
    return {name: each[0] for name, each in listing(data).items() if name.startswith("holdfast")}


def test_beside_a_gateway_nothing_is_touched(data: Path) -> None:
    with running(data) as gateway:
        before = inodes(data)
        for _ in range(3):
            found = examine(data=data)
            assert wrong(found) == {}
        assert "quick" in found["integrity"]["reason"]
        assert f"{gateway.url} answers" in found["gateway"]["reason"]
        assert __version__ in found["gateway"]["reason"]
        assert inodes(data) == before
        said = run("doctor", "--fix", data=data)
        assert said.exit_code == 0
        assert gateway.stop()[0] == 0


def test_what_cannot_be_asked_is_refused(data: Path, tmp_path: Path) -> None:
    assert run("doctor", data=tmp_path / "nowhere").exit_code == 2
    assert not (tmp_path / "nowhere").exists()
    for words in (["--url", "http://127.0.0.1:9"], ["--agent", "main"], ["--session-sqlite", "compact", "--fix"]):
        refused = run("doctor", *words, data=data)
        assert (refused.exit_code, "hint: " in refused.stderr) == (2, True)


def test_a_postgresql_store_is_examined(postgres_url: str, tmp_path: Path) -> None:
    message = NewEvent("message", {"text": "hello"})
    work(postgres_url, lambda store: store.tasks.begin("one", "t1", "c1", message, owner="dead"))
    found = examine("--store", postgres_url, data=tmp_path)
    assert list(found) == [name for name in CHECK_NAMES if name not in {"log", "disk", "permissions"}]
    assert found["tasks"]["state"] == "warning"
    assert {name: each for name, each in wrong(found).items() if name != "integrity"} == {"tasks": "warning"}
    damage(postgres_url, "UPDATE transcript_events SET payload = {blob} WHERE seq = 1")
    assert examine("--store", postgres_url, data=tmp_path)["chain"]["state"] == "failed"
