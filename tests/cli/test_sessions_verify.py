"""`holdfast sessions verify`: reads only, names the first bad event, and says it with its exit code."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import apsw
import pytest
from click.testing import CliRunner, Result

from holdfast.cli import main
from holdfast.store import NewEvent, open_store


async def filled(folder: Path) -> None:
    async with await open_store(f"sqlite:///{folder}/holdfast.db") as store:
        for name in ("one", "two"):
            await store.append(name, [NewEvent("n", {"n": number}) for number in range(5)])
            await store.state.patch(name, {"phase": "ready"})


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["sessions", "verify", *arguments], env={"COLUMNS": "60", "NO_COLOR": "1"})


def found(folder: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    ended = run("--data", str(folder), "--json", *arguments)
    return ended.exit_code, json.loads(ended.stdout)


def damage(folder: Path, sql: str) -> None:
    connection = apsw.Connection(f"{folder}/holdfast.db")
    connection.set_busy_timeout(10_000)
    connection.execute(sql)
    connection.close()


@pytest.fixture
async def data(tmp_path: Path) -> Path:
    await filled(tmp_path)
    return tmp_path


def test_a_sound_store_is_ok_and_its_heads_are_printed(data: Path) -> None:
    code, report = found(data)
    assert (code, report["ok"], report["verified"], report["bad"]) == (0, True, 2, 0)
    assert report["files"] == {"ok": True, "problems": []}
    assert [session["sessionId"] for session in report["sessions"]] == ["one", "two"]
    shown = run("--data", str(data))
    assert shown.exit_code == 0
    for session in report["sessions"]:
        assert (session["events"], session["problem"]) == (6, None)
        assert session["headHash"] in shown.stdout
    assert "2 sessions verified, 0 bad" in shown.stdout


def test_the_first_bad_event_is_named(data: Path) -> None:
    damage(data, "UPDATE transcript_events SET payload = CAST('{\"n\":9}' AS BLOB) WHERE session_no = 2 AND seq = 3")
    code, report = found(data)
    assert (code, report["ok"], report["bad"]) == (1, False, 1)
    good, bad = report["sessions"]
    assert good["ok"]
    assert (bad["sessionId"], bad["badSeq"]) == ("two", 3)
    shown = run("--data", str(data))
    assert (shown.exit_code, "BAD  two at event 3: " in shown.stdout) == (1, True)
    assert found(data, "one")[0] == 0
    assert found(data, "two")[0] == 1


def test_a_row_that_its_events_do_not_say_is_found(data: Path) -> None:
    damage(data, "UPDATE session_state SET document = CAST('{}' AS BLOB) WHERE session_no = 1")
    code, report = found(data)
    assert (code, report["sessions"][0]["ok"]) == (1, False)
    assert "state" in report["sessions"][0]["problem"]


@pytest.mark.parametrize("page", [2, -1])
def test_damage_to_the_file_is_shown_first(data: Path, page: int) -> None:
    database = data / "holdfast.db"
    damage(data, "PRAGMA wal_checkpoint(TRUNCATE)")
    with database.open("r+b") as file:
        file.seek(page * 4096, os.SEEK_END if page < 0 else os.SEEK_SET)
        file.write(b"\xff" * 4096)
    code, report = found(data)
    assert (code, report["files"]["ok"]) == (1, False)
    assert report["files"]["problems"]


def test_nothing_that_was_there_is_changed(data: Path) -> None:
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in sorted(data.iterdir())}
    assert run("--data", str(data)).exit_code == 0
    assert {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in before} == before


@pytest.mark.parametrize("arguments", [("none",), ("bad id",)])
def test_a_session_that_is_not_there_is_a_wrong_question(data: Path, arguments: tuple[str, ...]) -> None:
    code, problem = found(data, *arguments)
    assert (code, problem["code"]) in {(2, "not_found"), (2, "invalid_input")}


async def test_a_store_in_use_is_verified_too(data: Path) -> None:
    async with await open_store(f"sqlite:///{data}/holdfast.db") as store:
        await store.append("three", [NewEvent("n", {})])
        ended = await asyncio.to_thread(run, "--data", str(data))
        assert (ended.exit_code, "3 sessions verified, 0 bad" in ended.stdout) == (0, True)


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    ended = run("--data", str(tmp_path / "none"))
    assert ended.exit_code == 2
    assert ended.stderr.startswith("error: ")
    assert not (tmp_path / "none").exists()
