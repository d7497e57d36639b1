"""`holdfast db` and retention: backups that come back, nothing overwritten, limits that mean what they say."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import answer, fill, run
from tests.gateway.process import running
from tests.gateway.test_transfer import damage
from tests.store.test_migrations import make_first_store
from tests.support.clocks import DAY, MovedClock

from holdfast.store import NewEvent, open_store


def heads(data: Path) -> dict[str, str]:
    return {each["sessionId"]: each["headHash"] for each in answer("sessions", "verify", data=data)["sessions"]}


@pytest.mark.parametrize("served", [False, True])
def test_a_backup_comes_back(tmp_path: Path, served: bool) -> None:
    data, backup = tmp_path / "data", tmp_path / "backup"
    fill(data)
    if served:
        with running(data) as gateway:
            done = answer("db", "backup", str(backup), data=data)
            refused = run("db", "restore", str(backup), "--url", gateway.url)
            assert (refused.exit_code, "cannot restore" in refused.stderr) == (2, True)
            held = answer("db", "restore", str(backup), data=data, code=2)
            assert held["code"] == "store_in_use"
    else:
        done = answer("db", "backup", str(backup), data=data)
    assert (done["sessions"], done["path"]) == (2, str(backup))
    back = answer("db", "restore", str(backup), data=tmp_path / "back")
    assert back["storeId"] != answer("db", "status", data=data)["storeId"]
    assert heads(tmp_path / "back") == heads(data)


def test_damaged_sessions_are_backed_up_and_restored_and_named(tmp_path: Path) -> None:
    data, backup = tmp_path / "data", tmp_path / "backup"
    fill(data)
    damage(f"sqlite:///{data}/holdfast.db", "UPDATE transcript_events SET payload = {blob} WHERE pos = 2")
    made = answer("db", "backup", str(backup), data=data, code=1)
    (damaged,) = made["damaged"]
    assert (made["sessions"], damaged["tenant"], damaged["sessionId"]) == (2, "default", "one")
    said = run("db", "restore", str(backup), data=tmp_path / "back")
    assert (said.exit_code, "DAMAGED  default/one: event 2" in said.stdout) == (1, True)
    assert answer("sessions", "verify", data=tmp_path / "back", code=1)["bad"] == 1


def test_what_a_moved_store_left_is_not_restored_beside(tmp_path: Path) -> None:
    data, backup = tmp_path / "data", tmp_path / "backup"
    fill(data)
    run("db", "backup", str(backup), data=data)
    (tmp_path / "back").mkdir()
    (tmp_path / "back" / "holdfast.db-wal").write_bytes(b"another one's")
    refused = run("db", "restore", str(backup), data=tmp_path / "back")
    assert (refused.exit_code, "holdfast.db-wal is there" in refused.stderr) == (2, True)
    assert (tmp_path / "back" / "holdfast.db-wal").read_bytes() == b"another one's"
    assert run("sessions", "ls", data=tmp_path / "back").exit_code == 2
    assert [each.name for each in (tmp_path / "back").glob("*.db*")] == ["holdfast.db-wal"]


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    data, backup = tmp_path / "data", tmp_path / "backup"
    fill(data)
    run("db", "backup", str(backup), data=data)
    before, there = backup.read_bytes(), heads(data)
    again = run("db", "backup", str(backup), data=data)
    assert (again.exit_code, "hint: a backup never overwrites" in again.stderr) == (2, True)
    refused = run("db", "restore", str(backup), data=data)
    assert (refused.exit_code, "exists already" in refused.stderr) == (2, True)
    assert (backup.read_bytes(), heads(data)) == (before, there)


def test_what_is_no_backup_makes_no_store(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a store")
    refused = run("db", "restore", str(tmp_path / "text"), data=tmp_path / "data")
    assert (refused.exit_code, "is not a backup" in refused.stderr) == (2, True)
    assert not (tmp_path / "data" / "holdfast.db").exists()


def test_status_says_who_holds_the_store(tmp_path: Path) -> None:
    fill(tmp_path)
    alone = answer("db", "status", data=tmp_path)
    assert (alone["sessions"], alone["events"], alone["gateway"], alone["pid"]) == (2, 12, None, None)
    assert "nobody" in run("db", "status", data=tmp_path).stdout
    with running(tmp_path) as gateway:
        held = answer("db", "status", data=tmp_path)
        assert (held["gateway"], held["pid"]) == (gateway.url, gateway.process.pid)
        migrated = run("db", "migrate", data=tmp_path)
        assert (migrated.exit_code, gateway.url in migrated.stderr) == (0, True)
    assert answer("db", "migrate", data=tmp_path) == {"schema": alone["schema"]}


@pytest.fixture
def aged(tmp_path: Path) -> Path:
    """Sessions that changed 50, 40, 20 and 0 days ago."""

    async def write() -> None:
        for days in (50, 40, 20, 0):
            clock = MovedClock(-days * DAY)
            async with await open_store(f"sqlite:///{tmp_path}/holdfast.db", clock=clock) as store:
                await store.append(f"d{days}", [NewEvent("note", {"text": "x" * 1_000})])

    asyncio.run(write())
    assert run("sessions", "ls", data=tmp_path).stdout.count("\n") == 4
    return tmp_path


def doomed(data: Path, *limits: str) -> list[str]:
    return sorted(each["sessionId"] for each in answer("sessions", "rm", *limits, "--dry-run", data=data)["doomed"])


def test_limits_mean_what_they_say(aged: Path) -> None:
    assert doomed(aged, "--older-than", "30d") == ["d40", "d50"]
    assert doomed(aged, "--older-than", "6w") == ["d50"]
    assert doomed(aged, "--older-than", "12H") == ["d20", "d40", "d50"]
    assert doomed(aged, "--keep", "3") == ["d50"]
    assert doomed(aged, "--max-size", "2500") == ["d40", "d50"]
    assert doomed(aged, "--max-size", "1GB") == []
    assert len(answer("sessions", "ls", data=aged)["sessions"]) == 4


def test_what_is_over_a_limit_is_deleted_when_it_is_meant(aged: Path) -> None:
    asked = run("sessions", "rm", "--older-than", "30d", data=aged)
    assert (asked.exit_code, "hint: use --yes" in asked.stderr) == (2, True)
    done = run("sessions", "rm", "--older-than", "30d", "--yes", data=aged)
    assert (done.exit_code, "2 sessions deleted" in done.stderr) == (0, True)
    run("sessions", "hold", "d20", data=aged)
    done = run("sessions", "rm", "--keep", "0", "--yes", data=aged)
    assert "d20 is under legal hold and stays" in done.stderr
    assert "1 session deleted" in done.stderr
    assert [each["sessionId"] for each in answer("sessions", "ls", data=aged)["sessions"]] == ["d20"]


@pytest.mark.parametrize(
    "limits",
    [["--older-than", "30"], ["--older-than", "30m"], ["--older-than", "-1d"], ["--older-than", "9" * 30 + "d"],
     ["--max-size", "1.5GB"], ["--max-size", "1GiB"], ["--keep", "-1"], [], ["one", "--keep", "1"]],
)  # fmt: skip
def test_limits_that_mean_nothing_are_refused(tmp_path: Path, limits: list[str]) -> None:
    fill(tmp_path)
    refused = run("sessions", "rm", *limits, "--yes", data=tmp_path)
    assert (refused.exit_code, "Error: " in refused.stderr) == (2, True)
    assert len(answer("sessions", "ls", data=tmp_path)["sessions"]) == 2


def test_sessions_are_deleted_by_name(tmp_path: Path) -> None:
    fill(tmp_path)
    run("sessions", "hold", "one", data=tmp_path)
    assert run("sessions", "rm", "one", "two", "--dry-run", data=tmp_path).stdout == (
        "one: is under legal hold and stays\ntwo: would be deleted\n"
    )
    done = run("sessions", "rm", "one", "two", "--yes", "--json", data=tmp_path)
    found: dict[str, Any] = json.loads(done.stdout)
    assert done.exit_code == 1
    assert [each["sessionId"] for each in found["deleted"]] == ["two"]
    assert [each["code"] for each in found["failed"]] == ["legal_hold"]


def test_what_was_deleted_is_undeleted(tmp_path: Path) -> None:
    fill(tmp_path)
    refused = run("sessions", "undelete", "one", data=tmp_path)
    assert (refused.exit_code, "error: session 'one' was not deleted" in refused.stderr) == (2, True)
    run("sessions", "rm", "one", "--yes", data=tmp_path)
    done = run("sessions", "undelete", "one", data=tmp_path)
    assert done.exit_code == 0
    assert done.stdout.startswith("one: ")
    run("sessions", "rm", "one", "--yes", data=tmp_path)
    found = answer("sessions", "undelete", "one", data=tmp_path)
    assert (found["sessionId"], found["keysTaken"], found["notRestored"]) == ("one", [], [])
    verified = run("sessions", "verify", "one", data=tmp_path)
    assert (verified.exit_code, found["headHash"][:8] in verified.stdout) == (0, True)
    run("sessions", "rm", "one", "--yes", data=tmp_path)
    run("sessions", "purge", "one", "--yes", data=tmp_path)
    gone = run("sessions", "undelete", "one", data=tmp_path)
    assert (gone.exit_code, "hint: only a backup from before has it" in gone.stderr) == (2, True)


def test_what_was_deleted_is_purged_when_it_is_meant(tmp_path: Path) -> None:
    fill(tmp_path)
    run("sessions", "rm", "one", "--yes", data=tmp_path)
    assert [each["sessionId"] for each in answer("sessions", "purge", "one", "--dry-run", data=tmp_path)["purged"]] == [
        "one"
    ]
    asked = run("sessions", "purge", "one", data=tmp_path)
    assert (asked.exit_code, "hint: use --yes" in asked.stderr) == (2, True)
    assert answer("sessions", "purge", "--older-than", "1d", "--yes", data=tmp_path)["purged"] == []
    done = run("sessions", "purge", "one", "--yes", data=tmp_path)
    assert (done.exit_code, done.stderr) == (0, "1 archive removed\n")


def test_the_main_verbs_work_on_postgresql(tmp_path: Path, postgres_url: str) -> None:
    fill(tmp_path / "source")
    where = ["--store", postgres_url, "--data", str(tmp_path / "none")]
    answer("sessions", "export", "-o", str(tmp_path / "out"), data=tmp_path / "source")
    assert answer("sessions", "import", str(tmp_path / "out"), *where)["events"] == 12
    assert answer("db", "status", *where)["engine"] == "postgresql"
    assert [each["sessionId"] for each in answer("sessions", "ls", *where)["sessions"]] == ["two", "one"]
    assert len(answer("sessions", "search", "table", *where)["hits"]) == 10
    assert answer("sessions", "fork", "one", "--at", "2", "--as", "three", *where)["sessionId"] == "three"
    assert [each["sessionId"] for each in answer("sessions", "rm", "three", "--yes", *where)["deleted"]] == ["three"]
    assert answer("sessions", "verify", *where)["ok"]
    assert "note" in run("sessions", "tail", "one", "--no-follow", *where).stdout
    answer("sessions", "export", "-o", str(tmp_path / "again"), *where)
    assert (tmp_path / "again").read_bytes() == (tmp_path / "out").read_bytes()
    assert answer("db", "backup", str(tmp_path / "backup"), *where)["path"] == str(tmp_path / "backup")


def test_status_sees_the_gateways_that_share_a_postgresql_store(tmp_path: Path, postgres_url: str) -> None:
    where = ["--store", postgres_url, "--data", str(tmp_path / "none")]
    with (
        running(tmp_path / "one", "--store", postgres_url) as one,
        running(tmp_path / "two", "--store", postgres_url) as two,
    ):
        seen = {each["url"]: each["pid"] for each in answer("db", "status", *where)["gateways"]}
        assert seen == {one.url: one.process.pid, two.url: two.process.pid}
        said = run("db", "status", *where).stdout
        assert f"the gateway at {one.url} (pid {one.process.pid} on " in said
        assert one.stop()[0] == 0
        assert [each["url"] for each in answer("db", "status", *where)["gateways"]] == [two.url]
        assert two.stop()[0] == 0
    assert "nobody" in run("db", "status", *where).stdout


def test_a_backup_makes_its_own_folder_and_none_above(tmp_path: Path) -> None:
    fill(tmp_path / "data")
    refused = run("db", "backup", str(tmp_path / "a" / "b" / "backup"), data=tmp_path / "data")
    assert (refused.exit_code, "there is no folder" in refused.stderr, "hint: " in refused.stderr) == (2, True, True)
    assert not (tmp_path / "a").exists()
    assert run("db", "backup", str(tmp_path / "a" / "backup"), data=tmp_path / "data").exit_code == 0


def test_a_session_that_is_not_there_is_an_answer(tmp_path: Path) -> None:
    fill(tmp_path)
    for words in (["show", "none"], ["tail", "none", "--no-follow"]):
        ended = run("sessions", *words, data=tmp_path)
        assert (ended.exit_code, "there is no session 'none'" in ended.stderr) == (1, True), words
        assert "hint: `holdfast sessions ls`" in ended.stderr, words
    run("sessions", "rm", "one", "--yes", data=tmp_path)
    assert run("sessions", "show", "one", data=tmp_path).exit_code == 1
    assert run("sessions", "show", "one", data=tmp_path / "nowhere").exit_code == 2
    for words in (["tag", "none", "x"], ["verify", "none"]):
        assert run("sessions", *words, data=tmp_path).exit_code == 2, "there was nothing to do it to"


def test_a_backup_of_an_older_schema_comes_back(tmp_path: Path) -> None:
    make_first_store(f"sqlite:///{tmp_path}/backup")
    answer("db", "restore", str(tmp_path / "backup"), data=tmp_path / "back")
    assert "0 bad" in run("sessions", "verify", data=tmp_path / "back").stdout
    assert heads(tmp_path / "back")
