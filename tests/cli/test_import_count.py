"""Whoever waits for an import at a terminal sees how many sessions have arrived."""

import re
from pathlib import Path

import pytest
from tests.cli.command import fill, run
from tests.cli.test_terminal import on_terminal

SESSIONS = 300


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """An archive of so many sessions that its import takes a while."""
    source = tmp_path / "source"
    fill(source, [f"s{number}" for number in range(SESSIONS)], events=120)
    path = tmp_path / "all.holdfast"
    assert run("sessions", "export", "-o", str(path), data=source).exit_code == 0
    return path


def test_an_import_counts_what_arrives(archive: Path, tmp_path: Path) -> None:
    code, seen = on_terminal("sessions", "import", str(archive), "--data", str(tmp_path / "target"))
    assert code == 0, seen
    assert re.search(r"\d+ sessions? imported", seen), seen
    assert f"imported: {SESSIONS} sessions" in seen


def test_so_does_an_import_of_plain_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        folder = tmp_path / "files" / "sessions" / name
        folder.mkdir(parents=True)
        (folder / "actions.jsonl").write_text('{"type":"note"}\n')
    code, seen = on_terminal("sessions", "import", str(tmp_path / "files"), "--data", str(tmp_path / "target"))
    assert code == 0, seen
    assert "0 of 2 sessions imported" in seen
    assert "imported: 2 sessions" in seen
