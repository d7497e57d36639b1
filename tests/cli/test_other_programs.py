"""Sessions of another program: imported, shown, searched, verified, and written as its files again."""

import asyncio
import json
import shutil
from pathlib import Path

import pytest
from tests.cli.command import answer, run
from tests.transcripts.test_sources import CLAUDE, FIRST

from holdfast.store import NewEvent, open_store

SECRET = "sk-ant-" + "a1b2c3d4" * 4


@pytest.fixture
def claude(tmp_path: Path) -> Path:
    folder = tmp_path / "claude"
    shutil.copytree(CLAUDE, folder)
    return folder


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.jsonl"))}


def test_a_recorded_folder_comes_out_as_it_went_in(claude: Path, tmp_path: Path) -> None:
    data, before = tmp_path / "data", files_in(claude)
    done = answer("sessions", "import", str(claude), data=data)
    assert (done["source"], len(done["sessions"]), done["refused"]) == ("claude-code", 4, [])
    shown = run("sessions", "show", FIRST, "-n", "100", data=data).stdout
    assert "Nice to meet you, Ada." in shown and '"parentUuid"' not in shown.partition("assistant")[2].split("\n")[0]
    assert FIRST in {hit["sessionId"] for hit in answer("sessions", "search", "nice", "to", "meet", data=data)["hits"]}
    assert answer("sessions", "verify", data=data)["ok"]
    wrote = answer("sessions", "export", "--layout", "source", "-o", str(tmp_path / "out"), data=data)
    assert (wrote["sessions"], wrote["masked"], wrote["rewritten"], wrote["others"]) == (4, [], [], [])
    assert files_in(tmp_path / "out") == before == files_in(claude)


def test_any_bytes_come_out_as_they_went_in(claude: Path, tmp_path: Path) -> None:
    path = next(claude.rglob(f"{FIRST}.jsonl"))
    for odd in (
        b'{"type":"a"}\r\n{"type":"b"}\r\n\r\n{"type":"c"}\n',
        b'\xff\xfe\n{"a":NaN}\n{"a":1,"a":2}\n   \n[1]\n{"uuid":"u"}\n{"uuid":"u"}\n',
        b'{"type":"line_text","text":"mine"}\n' + b"[" * 100 + b"]" * 100 + b"\n",
    ):
        path.write_bytes(odd)
        data = tmp_path / f"data{len(odd)}"
        answer("sessions", "import", str(claude), data=data)
        out = tmp_path / f"out{len(odd)}"
        wrote = answer("sessions", "export", FIRST, "--layout", "source", "-o", str(out), data=data)
        assert (next(out.rglob("*.jsonl")).read_bytes(), wrote["rewritten"]) == (odd, [])


def test_a_file_that_is_there_is_left_alone(claude: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    answer("sessions", "import", str(claude), data=data)
    before = files_in(claude)
    next(claude.rglob(f"{FIRST}.jsonl")).write_bytes(b"mine\n")
    answer("sessions", "export", "--layout", "source", "-o", str(claude), data=data, code=2)
    assert next(claude.rglob(f"{FIRST}.jsonl")).read_bytes() == b"mine\n"
    answer("sessions", "export", "--layout", "source", "--force", "-o", str(claude), data=data)
    assert files_in(claude) == before


def test_masked_sessions_come_out_masked_and_say_so_and_no_copy_has_the_secret(claude: Path, tmp_path: Path) -> None:
    data, path = tmp_path / "data", next(claude.rglob(f"{FIRST}.jsonl"))
    with path.open("ab") as file:
        file.write(json.dumps({"type": "user", "message": {"content": f"key {SECRET}"}}).encode() + b"\n")
    done = answer("sessions", "import", "--mask", str(claude), data=data)
    assert done["masked"] == 1
    wrote = answer("sessions", "export", FIRST, "--layout", "source", "-o", str(tmp_path / "out"), data=data)
    assert wrote["masked"] == [FIRST]
    written = next((tmp_path / "out").rglob("*.jsonl")).read_bytes()
    assert SECRET.encode() not in written and b"sk-***" in written
    assert all(SECRET.encode() not in each.read_bytes() for each in data.rglob("*") if each.is_file())


@pytest.mark.parametrize("file", ["../escaped.jsonl", "/escaped.jsonl", "a/../../escaped.jsonl", "x\0.jsonl", 7])
def test_a_session_cannot_name_a_file_outside(tmp_path: Path, file: object) -> None:
    data, out = tmp_path / "data", tmp_path / "a" / "out"

    async def fill() -> None:
        async with await open_store(f"sqlite:///{data}/holdfast.db") as store:
            await store.sessions.create("evil", metadata={"source": {"name": "x", "file": file}})
            await store.append("evil", [NewEvent("line", {}, "line-@0")])

    data.mkdir()
    asyncio.run(fill())
    run("sessions", "export", "--layout", "source", "-o", str(out), data=data)
    assert [path for path in tmp_path.rglob("*.jsonl") if not path.is_relative_to(out)] == []
    assert not Path("/escaped.jsonl").exists()
