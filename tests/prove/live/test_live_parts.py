"""The parts of the live proof: what it reads, which lines of a log it minds, which options it refuses."""

import json
import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.prove.live.live_prover import not_proven, prove_live
from tests.support.scripted_server import Answer, endpoint

from holdfast import __version__
from holdfast.core.errors import InvalidInput
from holdfast.prove.live import legacy_files, remains
from holdfast.prove.live.claims import ClaimBroken
from holdfast.prove.live.database import RowsUnreadable, SqliteDatabase, open_database
from holdfast.prove.live.log_scan import judged
from holdfast.prove.live.options import LiveOptions
from holdfast.prove.targets.process import free_port

STATUS = {"pid": 1, "store": "sqlite:///x.db", "dataFolder": "/", "logFile": "/x", "version": __version__}


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ({"level": "info", "message": "the gateway serves"}, None),
        ({"level": "warning", "message": "task 1 was left behind by a server that died"}, None),
        ({"level": "info", "message": "reconciled 3 sessions"}, None),
        ({"level": "error", "message": "x"}, "error"),
        ({"level": "FATAL", "message": "x"}, "fatal"),
        ({"level": "critical", "message": "x"}, "critical"),
        ({"level": "info", "message": "SQLITE_BUSY"}, "SQLITE_"),
        ({"level": "info", "message": "x", "error": {"message": "no such column: y"}}, "no such column"),
        ({"level": "warning", "message": 'relation "y" does not exist'}, "no such column"),
        ({"level": "info", "message": "GET /x 503", "fields": {"code": "store_unavailable"}}, "store unavailable"),
        ({"level": "warning", "message": "recovery of session 1 failed"}, "recovery failure"),
        ({"level": "warning", "message": "task 1 cannot be settled yet"}, "recovery failure"),
        ({"level": "warning", "message": "reconcile found a difference"}, "reconcile warning"),
    ],
)
def test_which_lines_a_healthy_gateway_never_says(line: dict[str, Any], rule: str | None) -> None:
    found = judged(line, "chat", ())
    assert (found and found.rule) == rule
    if found:
        allowed = judged(line, "chat", (re.compile("."),))
        assert allowed is not None and allowed.allowed == "."


def test_rows_are_read_without_writing_anything(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA journal_mode = wal")
    writer.execute("CREATE TABLE sessions (session_no INTEGER, session_id TEXT)")
    writer.execute("INSERT INTO sessions VALUES (1, 'a')")
    writer.commit()
    before = {each.name: (each.stat().st_ino, each.stat().st_size) for each in tmp_path.iterdir()}
    with SqliteDatabase(path).look() as look:
        assert look.rows("SELECT session_id FROM sessions WHERE session_no = ?", 1) == [{"session_id": "a"}]
        assert look.tables() == ["sessions"]
    with pytest.raises(RowsUnreadable, match="readonly"), SqliteDatabase(path).look() as look:
        look.rows("DELETE FROM sessions")
    assert {each.name: (each.stat().st_ino, each.stat().st_size) for each in tmp_path.iterdir()} == before
    writer.close()


def test_a_look_at_a_database_that_nobody_has_open_leaves_no_file_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = wal")
        writer.execute("CREATE TABLE sessions (session_no INTEGER)")
        writer.execute("INSERT INTO sessions VALUES (1)")
        writer.commit()
    with SqliteDatabase(path).look() as look:
        assert look.rows("SELECT session_no FROM sessions") == [{"session_no": 1}]
    assert list(tmp_path.iterdir()) == [path]


def test_a_database_that_is_named_by_a_link_is_read_with_its_log(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "store.db")
    with closing(sqlite3.connect(tmp_path / "store.db")) as writer:
        writer.execute("PRAGMA journal_mode = wal")
        writer.execute("CREATE TABLE sessions (session_no INTEGER)")
        writer.commit()
        with SqliteDatabase(tmp_path / "link.db").look() as look:
            assert look.tables() == ["sessions"]


def test_a_database_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(RowsUnreadable), SqliteDatabase(tmp_path / "none.db").look():
        pass
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InvalidInput):
        open_database("mysql://here")


def test_an_open_legacy_file_is_seen(tmp_path: Path) -> None:
    folder = tmp_path / "agents" / "main" / "sessions"
    folder.mkdir(parents=True)
    assert legacy_files.legacy_handles(legacy_files.open_files(os.getpid()) or set(), tmp_path) == []
    for name in ("sessions.json", "one.jsonl"):
        with (folder / name).open("w"):
            opened = legacy_files.open_files(os.getpid())
            assert opened is not None
            assert legacy_files.legacy_handles(opened, tmp_path) == [str(folder / name)]
    assert legacy_files.open_files(2**22 + 1) is None


def test_a_file_is_the_proofs_by_its_name_or_its_text(tmp_path: Path) -> None:
    (tmp_path / "conversations").mkdir()
    (tmp_path / "conversations" / "kept-by-design.jsonl").write_text("marker")
    named, told, other = (tmp_path / name for name in ("agent_main_live-proof_1.jsonl", "a.jsonl", "b.jsonl"))
    for file, text in ((named, ""), (told, "the marker"), (other, "nothing")):
        file.write_text(text)
    assert set(legacy_files.side_marks(tmp_path)) == {str(named), str(told), str(other)}
    (tmp_path / "files" / "sessions").mkdir(parents=True)
    (tmp_path / "files" / "sessions" / "actions.jsonl").write_text("marker")
    assert len(legacy_files.side_marks(tmp_path)) == 4
    assert set(legacy_files.side_marks(tmp_path, tmp_path / "files")) == {str(named), str(told), str(other)}
    names = ("marker", "agent:main:live-proof:1")
    assert [legacy_files.is_of(file, names) for file in (named, told, other)] == [True, True, False]


def test_a_row_that_changed_and_is_not_the_proofs_is_a_difference(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("CREATE TABLE sessions (session_no INTEGER, life TEXT)")
    writer.execute("CREATE TABLE owner (one INTEGER)")
    writer.execute("INSERT INTO sessions VALUES (1, 'live')")
    database = SqliteDatabase(path)
    with database.look() as look:
        before = remains.whole(look)
    writer.execute("INSERT INTO owner VALUES (1)")
    writer.execute("INSERT INTO sessions VALUES (2, 'gone')")
    with database.look() as look:
        left = remains.left(look, [2], [], 0)
        remains.check_nothing_else(before, remains.whole(look), look, left)
    for change, undo in (
        (
            "UPDATE sessions SET life = 'held' WHERE session_no = 1",
            "UPDATE sessions SET life = 'live' WHERE life = 'held'",
        ),
        ("INSERT INTO sessions VALUES (3, 'live')", "DELETE FROM sessions WHERE session_no = 3"),
        ("DELETE FROM sessions WHERE session_no = 1", "INSERT INTO sessions VALUES (1, 'live')"),
    ):
        writer.execute(change)
        with database.look() as look, pytest.raises(ClaimBroken, match="nothing else differs"):
            remains.check_nothing_else(before, remains.whole(look), look, left)
        writer.execute(undo)
    writer.execute("CREATE TABLE goals (session_no INTEGER)")
    writer.execute("INSERT INTO goals VALUES (2)")
    with database.look() as look, pytest.raises(ClaimBroken, match="goals still has rows"):
        remains.left(look, [2], [], 0)
    writer.close()


def test_no_gateway_is_a_fault_and_no_turn_is_sent(tmp_path: Path) -> None:
    done = prove_live("--url", f"http://127.0.0.1:{free_port()}", artifacts=tmp_path)
    assert done.exit_code == 2
    found = not_proven(done.summary)
    assert found.pop("preflight") == "inconclusive"
    assert set(found.values()) == {"not reached"}
    assert done.summary["verdict"] == "fault"
    assert set(done.summary["paths"]) == {"events.jsonl", "report.html", "junit.xml", "summary.md"}
    assert all(Path(path).exists() for path in done.summary["paths"].values())


def said(**members: Any) -> Answer:
    """A JSON answer of a gateway that is not one."""
    return Answer(json.dumps(members).encode(), members.get("status_code", 200))


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ([said(status="ok", version="0.0.1")], "the gateway is version 0.0.1"),
        ([said(status_code=500)], "/health says 500"),
        (
            [said(status="ok", version=__version__), said(status_code=503, detail="the disk is full")],
            "the disk is full",
        ),
        ([*[said(status="ok", version=__version__)] * 2, said(pid=1)], "does not tell its store"),
        ([*[said(status="ok", version=__version__)] * 2, said(**STATUS, agents=["other"])], "no agent 'main'"),
    ],
)
def test_what_is_not_fit_is_a_fault_before_any_turn_is_sent(answers: list[Answer], reason: str, tmp_path: Path) -> None:
    with endpoint(*answers) as server:
        done = prove_live("--url", f"http://127.0.0.1:{server.port}", artifacts=tmp_path)
    assert done.exit_code == 2
    assert reason in done.summary["prerequisites"][0]["reason"]
    assert set(not_proven(done.summary).values()) == {"inconclusive", "not reached"}
    assert [each.target for each in server.requests if "/api/chat" in each.target] == []


def test_secrets_in_options_are_in_no_evidence(tmp_path: Path) -> None:
    store = "postgresql://proof:tops3cretword@127.0.0.1/x"
    done = prove_live("--url", f"http://127.0.0.1:{free_port()}", "--store", store, artifacts=tmp_path)
    assert done.exit_code == 2
    written = [path for path in tmp_path.rglob("*") if path.is_file() and b"tops3cretword" in path.read_bytes()]
    assert written == [] and "tops3cretword" not in done.stdout + done.stderr


def test_settings_name_no_store_for_an_isolated_gateway(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_STORE", "sqlite:///in-use.db")
    monkeypatch.setenv("HOLDFAST_URL", "http://127.0.0.1:1")
    options = LiveOptions.of({"isolated": True}, arguments={})
    assert (options.store, options.isolated) == (None, True)
    running = LiveOptions.of({}, arguments={})
    assert (running.store, running.url) == ("sqlite:///in-use.db", "http://127.0.0.1:1")


@pytest.mark.parametrize(
    "given",
    [
        {"url": "localhost"},
        {"session_key": "agent:other:x"},
        {"session_key": "not a key"},
        {"allow_log": ("(",)},
        {"as_json": True, "as_ndjson": True},
        {"isolated": True, "url": "http://127.0.0.1:9000"},
        {"isolated": True, "recovery": True},
        {"isolated": True, "target": "broken:nothing"},
        {"target": "broken:none"},
        {"tenant": "\udcff"},
        {"agent": "\udcff"},
    ],
)
def test_wrong_options_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as refused:
        LiveOptions.of(given, arguments=given)
    assert refused.value.hint
