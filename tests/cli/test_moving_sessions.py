"""Sessions out and in: archives come back byte for byte, files once however often, and bad ones not at all."""

import json
import zipfile
from pathlib import Path

import pytest
from tests.cli.command import answer, fill, run
from tests.gateway.process import running


def exported(data: Path, path: Path) -> bytes:
    answer("sessions", "export", "-o", str(path), data=data)
    return path.read_bytes()


def test_an_archive_comes_back_byte_for_byte(tmp_path: Path) -> None:
    fill(tmp_path / "a")
    first = exported(tmp_path / "a", tmp_path / "first")
    done = answer("sessions", "import", str(tmp_path / "first"), data=tmp_path / "b")
    assert (done["sessions"], done["events"]) == (["one", "two"], 12)
    assert exported(tmp_path / "b", tmp_path / "second") == first
    again = answer("sessions", "import", str(tmp_path / "first"), data=tmp_path / "b")
    assert (again["sessions"], again["thereBefore"], again["events"]) == ([], ["one", "two"], 0)
    with running(tmp_path / "c"):
        answer("sessions", "import", str(tmp_path / "first"), data=tmp_path / "c")
        assert exported(tmp_path / "c", tmp_path / "third") == first


def test_an_export_replaces_nothing_unless_it_is_told_to(tmp_path: Path) -> None:
    fill(tmp_path / "a")
    out = tmp_path / "out"
    out.write_text("mine")
    refused = run("sessions", "export", "-o", str(out), data=tmp_path / "a")
    assert (refused.exit_code, out.read_text()) == (2, "mine")
    assert run("sessions", "export", "none", "-o", str(out), "--force", data=tmp_path / "a").exit_code == 2
    assert out.read_text() == "mine"
    assert run("sessions", "export", "-o", str(out), "--force", data=tmp_path / "a").exit_code == 0
    assert zipfile.is_zipfile(out)
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".tmp")] == []


def folder(root: Path, name: str, *lines: str, responses: tuple[str, ...] = ()) -> Path:
    made = root / "sessions" / name
    made.mkdir(parents=True)
    (made / "actions.jsonl").write_text("".join(lines))
    (made / "responses.jsonl").write_text("".join(responses))
    return root


def note(number: int, kind: str = "note") -> str:
    line = {"type": kind, "timestamp": f"2026-01-01T00:00:{number:02}Z", "details": {"n": number}}
    return json.dumps(line) + "\n"


@pytest.mark.parametrize("served", [False, True])
def test_files_are_imported_once_however_often(tmp_path: Path, served: bool) -> None:
    data = tmp_path / "data"
    root = folder(tmp_path / "files", "old", note(1), note(3), responses=(note(2, "response"), note(4, "response")))

    def import_() -> dict[str, object]:
        if not served:
            return dict(answer("sessions", "import", str(root), data=data))
        with running(data):
            return dict(answer("sessions", "import", str(root), data=data))

    first, second = import_(), import_()
    assert (first["sessions"], first["thereBefore"], first["events"]) == (["old"], [], 4)
    assert (second["sessions"], second["thereBefore"], second["events"]) == ([], ["old"], 0)
    with (root / "sessions" / "old" / "actions.jsonl").open("a") as file:
        file.write(note(5))
    third = import_()
    assert (third["thereBefore"], third["events"]) == (["old"], 1)
    found = answer("sessions", "show", "old", data=data)["events"]
    assert [event["details"]["n"] for event in found] == [1, 2, 3, 4, 5]
    assert "0 new events" in run("sessions", "import", str(root), data=data).stdout


def test_a_torn_last_line_is_skipped_and_said(tmp_path: Path) -> None:
    root = folder(tmp_path / "files", "old", note(1), note(2)[:-20])
    done = answer("sessions", "import", str(root), data=tmp_path / "data")
    assert done["events"] == 1
    assert [(skipped["file"], skipped["line"]) for skipped in done["skipped"]] == [("old/actions.jsonl", 2)]
    said = run("sessions", "import", str(root), data=tmp_path / "data")
    assert "skipped: old/actions.jsonl line 2: torn" in said.stderr


def test_an_import_of_files_is_taken_back(tmp_path: Path) -> None:
    data = tmp_path / "data"
    fill(data)
    root = folder(folder(tmp_path / "files", "old", note(1), note(2)), "one", note(1))
    done = answer("sessions", "import", str(root), data=data)
    assert (done["sessions"], done["thereBefore"]) == (["old"], ["one"])
    kept = Path(done["kept"])
    assert (kept / "sessions" / "old" / "actions.jsonl").read_text() == note(1) + note(2)
    assert {path.stat().st_mode & 0o077 for path in (kept.parent, kept, kept / "sessions")} == {0}
    gone = answer("sessions", "import", "--undo", str(kept), data=data)
    assert (gone["deleted"], gone["events"]) == (["old"], 2)
    assert [each["sessionId"] for each in answer("sessions", "ls", data=data)["sessions"]] == ["two", "one"]
    assert answer("sessions", "import", "--undo", str(kept), data=data) == {"deleted": [], "events": 0}
    assert answer("sessions", "import", "--undo", str(root), data=data, code=2)["code"] == "invalid_input"


def test_an_import_that_has_gone_on_is_not_taken_back(tmp_path: Path) -> None:
    data = tmp_path / "data"
    done = answer("sessions", "import", str(folder(tmp_path / "files", "old", note(1))), data=data)
    run("sessions", "tag", "old", "kept", data=data)
    refused = answer("sessions", "import", "--undo", done["kept"], data=data, code=2)
    assert (refused["code"], refused["hint"]) == ("conflict", "delete it by name if you mean it")
    assert run("sessions", "show", "old", data=data).exit_code == 0


def test_an_import_that_breaks_off_can_be_taken_back(tmp_path: Path) -> None:
    data = tmp_path / "data"
    root = folder(folder(tmp_path / "files", "a", note(1)), "b", note(1))
    answer("sessions", "import", str(folder(tmp_path / "other", "b", note(1))), data=data)
    run("sessions", "rm", "b", "--yes", data=data)
    (refused,) = answer("sessions", "import", str(root), data=data, code=2)["refused"]
    assert (refused["session"], "deleted" in refused["reason"]) == ("b", True)
    kept = max((data / "imports").iterdir())
    assert answer("sessions", "import", "--undo", str(kept), data=data)["deleted"] == ["a"]


def test_bad_folders_are_refused_by_name_and_line_and_the_others_arrive(tmp_path: Path) -> None:
    data = tmp_path / "data"
    root = folder(tmp_path / "files", "a-good-one", note(1))
    (root / "sessions" / "linked").symlink_to(tmp_path)
    folder(root, "b-bad", note(1), '{"type": "note", "type": "twice"}\n', note(3))
    folder(root, "c-bad", note(1), responses=(note(1, "response"), "nonsense\n"))
    (folder(root, "d-bad", note(1)) / "sessions" / "d-bad" / "state.json").write_text(
        '{"goals": [{"goalId": "g", "x": 1}]}'
    )
    (folder(root, "e-bad", note(1)) / "sessions" / "e-bad" / "metadata.json").write_text('{"status": "odd"}')
    folder(root, "z-good-too", note(1))
    done = answer("sessions", "import", str(root), data=data, code=2)
    assert done["sessions"] == ["a-good-one", "z-good-too"]
    assert [(each["session"], each.get("file"), each.get("line")) for each in done["refused"]] == [
        ("b-bad", "b-bad/actions.jsonl", 2),
        ("c-bad", "c-bad/responses.jsonl", 2),
        ("d-bad", "d-bad/state.json", None),
        ("e-bad", "e-bad/metadata.json", None),
        ("linked", None, None),
    ]
    assert "`x`" in done["refused"][2]["reason"]
    assert len(answer("sessions", "ls", data=data)["sessions"]) == 2
    said = run("sessions", "import", str(root), data=data)
    assert "refused: b-bad: actions.jsonl, line 2" in said.stderr
    assert answer("sessions", "import", str(tmp_path / "data"), data=data, code=2)["code"] == "invalid_input"


def archive(path: Path, name: str, content: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr(name, content)
    return path


@pytest.mark.parametrize("served", [False, True])
def test_bad_archives_write_nothing(tmp_path: Path, served: bool) -> None:
    data = tmp_path / "data"
    fill(data)
    bad = [
        archive(tmp_path / "path", "../../etc/passwd", b"x"),
        archive(tmp_path / "bomb", "holdfast.json", b"0" * 50_000_000),
        tmp_path / "none",
    ]
    bad[-1].write_bytes(b"not an archive")
    whole = exported(data, tmp_path / "whole")
    (tmp_path / "torn").write_bytes(whole[:-30])
    (tmp_path / "changed").write_bytes(whole.replace(whole[400:404], b"\0\0\0\0"))
    bad += [tmp_path / "torn", tmp_path / "changed"]

    def refused() -> set[str]:
        return {answer("sessions", "import", str(path), data=data, code=2)["code"] for path in bad}

    if served:
        with running(data):
            assert refused() == {"bad_archive"}
    else:
        assert refused() == {"bad_archive"}
    assert len(answer("sessions", "ls", data=data)["sessions"]) == 2
