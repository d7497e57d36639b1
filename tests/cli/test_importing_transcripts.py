"""`sessions import FOLDER`: what lies there is recognised, arrives once, is taken back, and is found after a move."""

import json
from pathlib import Path

from tests.cli.command import answer, run
from tests.support.legacy_layout import conversation, write_index, write_session


def legacy(folder: Path) -> dict[Path, bytes]:
    write_session(folder, "one", conversation("one", "my name is Ada", "hello Ada"))
    write_session(folder, "cold", conversation("cold", "long ago"), torn='{"type"')
    write_index(folder, {"agent:main:chat": "one"})
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def files_in(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_another_folder_is_only_read_and_imported_once(tmp_path: Path) -> None:
    before = legacy(tmp_path / "old")
    done = answer("sessions", "import", str(tmp_path / "old"), data=tmp_path / "data")
    assert (done["source"], done["sessions"], done["events"], done["moved"]) == ("legacy", ["one", "cold"], 5, 0)
    assert [(note["code"], note["line"]) for note in done["notes"]] == [("line_unreadable", 3)]
    assert files_in(tmp_path / "old") == before
    again = answer("sessions", "import", str(tmp_path / "old"), data=tmp_path / "data")
    assert (again["sessions"], again["thereBefore"], again["events"]) == ([], ["one", "cold"], 0)
    found = answer("sessions", "search", "Ada", data=tmp_path / "data")
    assert {hit["sessionId"] for hit in found["hits"]} == {"one"}
    assert "my name is Ada" in run("sessions", "show", "one", data=tmp_path / "data").stdout


def test_our_own_older_files_move_to_the_record_and_come_back(tmp_path: Path) -> None:
    data = tmp_path / "data"
    before = legacy(data)
    done = answer("sessions", "import", str(data), data=data)
    assert (done["moved"], [path for path in before if path.exists()]) == (3, [])
    listed = json.loads((Path(done["kept"]) / "manifest.json").read_bytes())["files"]
    assert {Path(each["source"]): (Path(done["kept"]) / each["archive"]).read_bytes() for each in listed} == before
    undone = answer("sessions", "import", "--undo", done["kept"], data=data)
    assert (sorted(undone["deleted"]), len(undone["restored"]), undone["notRestored"]) == (["cold", "one"], 3, [])
    assert {path: path.read_bytes() for path in before} == before
    assert answer("sessions", "ls", data=data)["sessions"] == []


def test_a_folder_that_was_renamed_is_known_again(tmp_path: Path) -> None:
    data = tmp_path / "data"
    legacy(tmp_path / "old")
    answer("sessions", "import", str(tmp_path / "old"), data=data)
    (tmp_path / "old").rename(tmp_path / "new")
    relink = f"{tmp_path / 'old'}={tmp_path / 'new'}"
    for arguments in (("--relink", relink), ()):
        done = answer("sessions", "import", str(tmp_path / "new"), *arguments, data=data)
        assert (done["sessions"], done["thereBefore"], done["events"]) == ([], ["one", "cold"], 0)
        session = answer("sessions", "show", "one", data=data)["session"]
        assert session["metadata"]["source"]["folder"] == str(tmp_path / "new")
    assert len(answer("sessions", "ls", data=data)["sessions"]) == 2


def test_a_folder_with_nothing_is_refused_with_what_was_looked_for(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    refused = run("sessions", "import", str(tmp_path / "empty"), data=tmp_path / "data")
    assert refused.exit_code == 2
    assert "agents/<agent>/sessions/sessions.json" in refused.stderr
    assert run("sessions", "import", str(tmp_path / "empty"), "--relink", "x", data=tmp_path / "d").exit_code == 2
