"""`doctor --session-sqlite`: looks that change nothing, an import that can be cut off, and files that come back."""

import json
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.cli.command import answer, run
from tests.cli.test_doctor import inodes
from tests.gateway.holders import client
from tests.gateway.process import running
from tests.support.legacy_layout import conversation, write_index, write_session

TOTALS = {
    *("targets", "legacyEntries", "sqliteEntries", "importedEntries", "importedTranscriptEvents", "validatedEntries"),
    *("validatedTranscriptEvents", "archivedFiles", "unreferencedJsonl", "issues"),
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two hot sessions, one of another agent, one that nobody names, and an entry without a file."""
    folder = tmp_path / "data"
    write_session(folder, "one", conversation("one", "my name is Ada", "hello"))
    write_session(folder, "two", conversation("two", "hi"))
    write_session(folder, "cold", conversation("cold", "long ago"))
    write_session(folder, "other", conversation("other", "a", "b", "c"), agent="second")
    write_index(folder, {"agent:main:one": "one", "agent:main:two": "two"})
    write_index(folder, {"agent:second:other": "other"}, agent="second")
    return folder


def ask(mode: str, data: Path, *more: str, code: int = 0) -> dict[str, Any]:
    """The report of a mode."""
    found: dict[str, Any] = answer("doctor", "--session-sqlite", mode, *more, data=data, code=code)
    assert found["mode"] == mode
    assert set(found["totals"]) == TOTALS
    assert found["totals"]["issues"] == len(found["issues"])
    assert all(set(issue) == {"code", "message", "sessionKey"} for issue in found["issues"])
    return found


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(each.relative_to(folder)): each.read_bytes() for each in sorted(folder.rglob("*")) if each.is_file()}


def test_looks_before_there_is_a_store_make_none(data: Path) -> None:
    before = files_below(data)
    inspected = ask("inspect", data)
    assert (inspected["totals"]["targets"], inspected["totals"]["legacyEntries"]) == (2, 3)
    assert (inspected["totals"]["unreferencedJsonl"], inspected["dbStats"]) == (1, None)
    planned = ask("dry-run", data)
    assert (planned["totals"]["importedEntries"], planned["totals"]["importedTranscriptEvents"]) == (3, 9)
    missing = ask("validate", data, code=1)
    assert [issue["code"] for issue in missing["issues"]].count("entry_missing") == 3
    assert files_below(data) == before
    (one,) = ask("inspect", data, "--agent", "second")["targets"]
    assert one["agentId"] == "second"


def test_an_import_moves_the_files_and_a_restore_moves_them_back(data: Path) -> None:
    before = files_below(data)
    done = ask("import", data)
    assert (done["totals"]["importedEntries"], done["totals"]["importedTranscriptEvents"]) == (3, 9)
    assert done["totals"]["archivedFiles"] == 5
    assert (done["dbStats"]["integrityCheck"], len(done["dbStats"]["largestSessions"])) == ("ok", 3)
    assert {each.name for each in (data / "agents").rglob("*.jsonl")} == {"cold.jsonl"}
    valid = ask("validate", data)
    assert (valid["totals"]["validatedEntries"], valid["totals"]["validatedTranscriptEvents"]) == (3, 9)
    back = ask("restore", data)
    assert len(back["done"]) == 5
    assert {name: each for name, each in files_below(data).items() if name.startswith("agents")} == before
    valid = ask("validate", data)
    assert (valid["totals"]["validatedEntries"], valid["totals"]["validatedTranscriptEvents"]) == (3, 9)
    assert ask("dry-run", data)["totals"]["importedEntries"] == 0


def test_a_restore_leaves_what_is_in_the_old_place(data: Path) -> None:
    ask("import", data)
    write_session(data, "one", conversation("one", "another"))
    taken = ask("restore", data, code=1)
    assert [issue["code"] for issue in taken["issues"]] == ["source_taken"]


def test_a_validation_sees_what_differs(data: Path) -> None:
    ask("import", data)
    ask("restore", data)
    write_session(data, "one", conversation("one", "my name is Ada", "hello", "more"))
    write_index(data, {"agent:main:one": "one", "agent:main:two": "one", "agent:main:new": "two"})
    found = ask("validate", data, code=1)
    codes = {(issue["code"], issue["sessionKey"]) for issue in found["issues"]}
    assert ("events_differ", "agent:main:one") in codes
    assert ("id_differs", "agent:main:two") in codes
    assert ("entry_missing", "agent:main:new") in codes


def test_a_validation_fails_for_entries_that_no_session_can_be_made_of(data: Path) -> None:
    ask("import", data)
    write_index(data, {"agent:main:gone": "gone", "agent:main:bad": {"sessionId": 5}, "agent:main:one": "one"})
    found = ask("validate", data, code=1)
    missing = {issue["sessionKey"] for issue in found["issues"] if issue["code"] == "entry_missing"}
    assert missing == {"agent:main:gone", "agent:main:bad"}, "the store has the third, whose file is in the record"
    write_index(data, "{")
    assert [issue["code"] for issue in ask("validate", data, code=1)["issues"]].count("store_unreadable") == 1
    assert ask("inspect", data)["totals"]["issues"] > 0


def test_sessions_whose_index_had_to_stay_are_looked_at_in_the_record(data: Path) -> None:
    """It names one that cannot be read, so it stays, though the files of the others have moved."""
    keys = {"agent:main:one": "one", "agent:main:also": "one", "agent:main:two": "two"}
    write_index(data, {**keys, "agent:main:bad": 5, "agent:main:gone": "gone"})
    done = ask("import", data, code=1)
    assert sorted(issue["code"] for issue in done["issues"]) == [
        "entry_invalid",
        "transcript_missing",
        "unreferenced_jsonl",
    ], "each is said once"
    told = [
        (each["importedEntries"], each["importedTranscriptEvents"], each["archivedFiles"]) for each in done["targets"]
    ]
    assert told == [(3, 5, 2), (1, 4, 2)]
    assert [sum(column) for column in zip(*told, strict=True)] == [
        done["totals"][name] for name in ("importedEntries", "importedTranscriptEvents", "archivedFiles")
    ]
    assert (data / "agents/main/sessions/sessions.json").exists()
    missing = [issue for issue in ask("inspect", data)["issues"] if issue["code"] == "transcript_missing"]
    assert [issue["sessionKey"] for issue in missing] == ["agent:main:gone"]
    valid = ask("validate", data, code=1)
    assert (valid["totals"]["validatedEntries"], valid["totals"]["validatedTranscriptEvents"]) == (4, 9)
    assert ask("dry-run", data)["totals"]["importedEntries"] == 0
    with running(data) as gateway, client(gateway.url) as asking:
        asking.post("/api/actions/two", json={"type": "note"}).raise_for_status()
    codes = {(issue["code"], issue["sessionKey"]) for issue in ask("validate", data, code=1)["issues"]}
    assert ("events_differ", "agent:main:two") in codes


def test_an_import_that_was_cut_off_is_finished_by_recover(data: Path) -> None:
    assert ask("recover", data)["done"] == ["no import was interrupted"]
    ask("import", data)
    (record,) = (data / "imports").iterdir()
    manifest = json.loads((record / "manifest.json").read_bytes())
    for name in ("endedAt", "made", "extended", "moved"):
        del manifest[name]
    (record / "manifest.json").write_text(json.dumps(manifest))
    (record / "files/agents/main/sessions/two.jsonl").rename(data / "agents/main/sessions/two.jsonl")
    ask("recover", data)
    assert "endedAt" in json.loads((record / "manifest.json").read_bytes())
    assert not (data / "agents/main/sessions/two.jsonl").exists()
    assert ask("recover", data)["done"] == ["no import was interrupted"]


def test_compact_writes_the_file_anew(data: Path) -> None:
    ask("import", data)
    database = apsw.Connection(str(data / "holdfast.db"))
    database.execute("CREATE TABLE ballast (bytes); INSERT INTO ballast VALUES (zeroblob(2000000)); DROP TABLE ballast")
    database.close()
    before = (data / "holdfast.db").stat().st_size
    assert "now" in ask("compact", data)["done"][0]
    assert (data / "holdfast.db").stat().st_size < before - 1_000_000
    assert run("doctor", "--session-sqlite", "compact", "--agent", "main", data=data).exit_code == 2


def test_beside_a_gateway_only_looks_are_allowed(data: Path) -> None:
    with running(data) as gateway:
        before = inodes(data)
        for mode in ("import", "compact", "recover", "restore"):
            refused = run("doctor", "--session-sqlite", mode, data=data)
            assert (refused.exit_code, gateway.url in refused.stderr) == (2, True), refused.stderr
        assert ask("inspect", data)["totals"]["sqliteEntries"] == 3
        assert ask("dry-run", data)["totals"]["importedEntries"] == 0
        assert ask("validate", data)["totals"]["validatedEntries"] == 3
        assert inodes(data) == before


def test_a_postgresql_store_takes_the_same(data: Path, postgres_url: str) -> None:
    store = ("--store", postgres_url)
    assert ask("import", data, *store)["totals"]["importedEntries"] == 3
    ask("restore", data, *store)
    assert ask("dry-run", data, *store)["totals"]["importedEntries"] == 0
    assert ask("validate", data, *store)["totals"]["validatedEntries"] == 3
    with running(data, *store):
        refused = run("doctor", "--session-sqlite", "import", *store, data=data)
        assert (refused.exit_code, "serves the store" in refused.stderr) == (2, True)
    assert run("doctor", "--session-sqlite", "compact", *store, data=data).exit_code == 2


def test_a_report_is_for_people_as_well(data: Path) -> None:
    said = run("doctor", "--session-sqlite", "inspect", data=data)
    assert (said.exit_code, "legacyEntries" in said.stdout, "unreferenced_jsonl: " in said.stdout) == (0, True, True)
