"""`holdfast guard`: every line that is written to a guarded folder is kept, once, whatever happens to whom."""

import json
import os
import shutil
import signal
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.cli.command import answer, run
from tests.client.looking import free_port
from tests.gateway.process import running
from tests.support.eventually import wait_until
from tests.support.guard_kills import kept, kill_guards
from tests.support.processes import first_line, holdfast

from holdfast.cli import main
from holdfast.core.errors import HoldfastError

SESSION = "11111111-1111-4111-8111-111111111111"
OTHER = "22222222-2222-4222-8222-222222222222"
MANY = 25
"""More files than are looked at one by one."""
SECRET = "sk-ant-" + "a1b2c3d4" * 4


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "claude" / "projects" / "-work").mkdir(parents=True)
    return tmp_path / "claude"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def path_of(folder: Path, session_id: str = SESSION) -> Path:
    return folder / "projects" / "-work" / f"{session_id}.jsonl"


def line(number: int, **more: Any) -> bytes:
    """A line of Claude Code's: every other one has a uuid."""
    named = {"uuid": f"u{number}"} if number % 2 else {}
    said = {"role": "user", "content": f"word{number}"}
    return json.dumps({"type": "user", **named, "message": said, **more}).encode()


def write(path: Path, *lines: bytes, torn: bytes = b"") -> None:
    with path.open("ab") as file:
        file.write(b"".join(each + b"\n" for each in lines) + torn)


def once(folder: Path, data: Path, *options: str, code: int = 0) -> Any:
    return answer("guard", "--once", "--folder", str(folder), *options, data=data, code=code)


def test_what_there_is_is_kept_and_then_what_is_new(folder: Path, data: Path) -> None:
    write(path_of(folder), line(1), line(2))
    before = path_of(folder).read_bytes()
    assert once(folder, data) == {"sessions": 1, "lines": 2, "masked": 0, "notes": {}, "refused": []}
    assert path_of(folder).read_bytes() == before
    assert once(folder, data)["lines"] == 0
    write(path_of(folder), line(3))
    write(path_of(folder, OTHER), line(1))
    assert once(folder, data) | {"notes": {}} == {"sessions": 1, "lines": 2, "masked": 0, "notes": {}, "refused": []}
    assert kept(data, SESSION) == [line(1), line(2), line(3)]


def test_what_the_program_deletes_stays_kept(folder: Path, data: Path) -> None:
    write(path_of(folder), line(1), line(2))
    once(folder, data)
    shutil.rmtree(folder / "projects")
    assert once(folder, data)["lines"] == 0
    assert kept(data, SESSION) == [line(1), line(2)]


def test_files_that_are_known_are_kept_again_if_the_store_is_another_one(folder: Path, data: Path) -> None:
    sessions = [f"{number:08}-1111-4111-8111-111111111111" for number in range(MANY)]
    for each in sessions:
        write(path_of(folder, each), line(1))
        os.utime(path_of(folder, each), (1, 1))
    assert once(folder, data)["lines"] == MANY
    assert (once(folder, data)["lines"], len(list((data / "guard").iterdir()))) == (0, 1)
    write(path_of(folder, sessions[0]), line(2))
    assert once(folder, data)["lines"] == 1
    for file in data.glob("holdfast.db*"):
        file.unlink()
    assert once(folder, data)["lines"] == MANY + 1
    assert kept(data, sessions[0]) == [line(1), line(2)]


def test_a_line_is_kept_when_it_is_whole_and_not_before(folder: Path, data: Path) -> None:
    write(path_of(folder), line(1), torn=line(2)[:10])
    assert once(folder, data)["lines"] == 1
    write(path_of(folder), line(2)[10:])
    assert once(folder, data)["lines"] == 1
    assert kept(data, SESSION) == [line(1), line(2)]


@pytest.mark.parametrize("number", [1, 2], ids=["with a uuid", "by its place"])
def test_a_rewritten_file_loses_nothing_and_adds_what_is_new(folder: Path, data: Path, number: int) -> None:
    first, second = line(number), line(number, changed=True)
    write(path_of(folder), first, line(3))
    once(folder, data)
    path_of(folder).write_bytes(second + b"\n")
    done = once(folder, data)
    assert (done["lines"], done["notes"]) == (1, {"file_rewritten": 1})
    assert kept(data, SESSION) == [first, line(3), second]
    os.utime(path_of(folder))
    assert once(folder, data)["lines"] == 0


def test_secrets_are_masked_and_counted_and_stay_masked_in_that_session(folder: Path, data: Path) -> None:
    telling = line(1, key=f"my key is {SECRET}")
    write(path_of(folder), telling, line(2))
    assert once(folder, data)["masked"] == 1
    write(path_of(folder), telling.replace(b"u1", b"u5"))
    write(path_of(folder, OTHER), telling)
    assert once(folder, data, "--verbatim")["masked"] == 1
    masked = b"".join(kept(data, SESSION))
    assert SECRET.encode() not in masked and masked.count(b"***") == 2 and line(2) in masked
    assert kept(data, OTHER) == [telling]


@pytest.mark.parametrize("count", [1, MANY])
@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside a gateway"])
def test_an_import_keeps_no_copy_of_the_secrets_of_a_masked_session(
    folder: Path, data: Path, count: int, beside: bool
) -> None:
    telling = line(1, key=f"my key is {SECRET}")
    for number in range(count):
        write(path_of(folder, f"{number:08}-1111-4111-8111-111111111111"), telling)
    assert once(folder, data)["masked"] == count
    write(path_of(folder, OTHER), telling)
    with running(data) if beside else nullcontext():
        done = answer("sessions", "import", str(folder), "--verbatim", data=data)
    assert (len(done["thereBefore"]), done["sessions"]) == (count, [OTHER])
    copies = [path for path in Path(done["kept"]).rglob("*.jsonl") if SECRET.encode() in path.read_bytes()]
    assert [path.stem for path in copies] == [OTHER], "that one was begun verbatim"


def test_a_file_that_cannot_be_read_is_refused_and_the_others_are_kept(folder: Path, data: Path) -> None:
    path_of(folder).symlink_to("/etc/passwd")
    write(path_of(folder, OTHER), line(1))
    done = once(folder, data, code=2)
    assert done["lines"] == 1 and [each["file"] for each in done["refused"]] == [str(path_of(folder))]


def test_a_session_that_was_deleted_here_is_said_and_not_begun_again(folder: Path, data: Path) -> None:
    write(path_of(folder), line(1))
    once(folder, data)
    assert run("sessions", "rm", SESSION, "--yes", data=data).exit_code == 0
    write(path_of(folder), line(2))
    assert "deleted" in once(folder, data, code=2)["refused"][0]["reason"]


def test_what_cannot_be_kept_is_said_at_once_and_once(folder: Path, data: Path) -> None:
    write(folder / "elsewhere.jsonl", line(1))
    path_of(folder).symlink_to(folder / "elsewhere.jsonl")
    with holdfast("guard", "--folder", str(folder), "--data", str(data)) as guard:
        assert "guarding" in first_line(guard, of_stderr=True)
        assert guard.stderr is not None
        said = guard.stderr.readline()
        assert said.startswith("refused: ") and said.count(str(path_of(folder))) == 1 and "link" in said
        write(path_of(folder, OTHER), line(1))
        wait_until(lambda: data.exists() and _kept_now(data, OTHER), 0.05)
        guard.send_signal(signal.SIGINT)
        assert (guard.wait(), guard.stderr.read().count("refused")) == (2, 0)


def test_a_line_that_is_too_long_to_be_masked_is_said_once(folder: Path, data: Path) -> None:
    write(path_of(folder), line(1, more="x" * 9_000_000), line(2))
    done = run("guard", "--once", "--folder", str(folder), data=data)
    assert done.stderr.count("line refused") == 1
    assert done.stdout.startswith("1 new line")


def test_lines_are_kept_as_they_come_across_restarts_of_the_gateway(folder: Path, data: Path) -> None:
    with holdfast("guard", "--folder", str(folder), "--data", str(data), "--verbatim") as guard:
        write(path_of(folder), line(1))
        wait_until(lambda: data.exists() and _kept_now(data) == [line(1)], 0.05)
        with holdfast("serve", "--data", str(data), "--port", "0"):
            write(path_of(folder), line(2))
            wait_until(lambda: _kept_now(data) == [line(1), line(2)], 0.05)
        write(path_of(folder), line(3))
        wait_until(lambda: _kept_now(data) == [line(1), line(2), line(3)], 0.05)
        guard.send_signal(signal.SIGINT)
        assert guard.wait() == 0


def test_a_gateway_that_is_away_is_waited_for(folder: Path, data: Path) -> None:
    write(path_of(folder), line(1))
    port = str(free_port())
    gateway = ("--url", f"http://127.0.0.1:{port}")
    with holdfast("guard", "--folder", str(folder), "--verbatim", *gateway) as guard:
        assert "guarding" in first_line(guard, of_stderr=True)
        assert guard.stderr is not None and "waiting" in guard.stderr.readline()
        with holdfast("serve", "--data", str(data), "--port", port):
            wait_until(lambda: _kept_now(data) == [line(1)], 0.05)
        write(path_of(folder), line(2))
        with holdfast("serve", "--data", str(data), "--port", port):
            wait_until(lambda: _kept_now(data) == [line(1), line(2)], 0.05)
        guard.send_signal(signal.SIGTERM)
        assert guard.wait() == 0


def _kept_now(data: Path, session_id: str = SESSION) -> list[bytes]:
    try:
        return kept(data, session_id)
    except HoldfastError:
        return []


@pytest.mark.long
def test_a_guard_that_is_killed_again_and_again_misses_no_line_and_keeps_none_twice(folder: Path, data: Path) -> None:
    kill_guards(folder, data, kills=10, seed=1)


def test_the_unit_is_written_and_nothing_is_started(folder: Path, data: Path, monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    strange = folder / 'a "b" %n'
    for _ in range(2):
        done = answer("guard", "--install", "--folder", str(strange), data=data)
    unit = Path(done["unit"]).read_text()
    assert f'"{folder}/a \\"b\\" %%n"' in unit and "systemctl --user" in done["next"] and not data.exists()
    Path(done["unit"]).write_text("mine")
    refused = run("guard", "--install", data=data)
    assert refused.exit_code == 2 and Path(done["unit"]).read_text() == "mine"


def test_the_unit_guards_what_the_command_would_and_tells_nobody_a_secret(data: Path, tmp_path: Path) -> None:
    beside = tmp_path / "systemd" / "user" / "holdfast-guard.env"

    def unit(store: str, token: str | None = None) -> str:
        words = ["guard", "--install", "--json", "--store", store, "--data", str(data)]
        environment = {"XDG_CONFIG_HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": "/elsewhere", "HOLDFAST_URL": None}
        done = CliRunner().invoke(main, words, env={**environment, "HOLDFAST_TOKEN": token})
        return Path(json.loads(done.stdout)["unit"]).read_text()

    written = unit("postgresql://guard:tops3cretword@db/x", "hf_tops3cretword")
    assert "--folder /elsewhere " in written and "tops3cretword" not in written
    assert f"EnvironmentFile=-{beside}" in written and beside.stat().st_mode & 0o777 == 0o600
    assert beside.read_text().splitlines() == [
        'HOLDFAST_STORE="postgresql://guard:tops3cretword@db/x"',
        'HOLDFAST_TOKEN="hf_tops3cretword"',
    ]
    assert f"--store sqlite:///{Path.cwd()}/here.db " in unit("sqlite:///here.db")
    assert not beside.exists(), "it would be another store's"


def test_what_a_guard_kept_comes_out_as_the_file_and_one_that_was_rewritten_says_so(
    folder: Path, data: Path, tmp_path: Path
) -> None:
    path_of(folder).write_bytes(b'{"type":"a"}\r\n{"type":"b"}\r\n')
    once(folder, data, "--verbatim")
    out = tmp_path / "out"
    wrote = answer("sessions", "export", "--layout", "source", "-o", str(out), data=data)
    assert (path_of(out).read_bytes(), wrote["rewritten"]) == (path_of(folder).read_bytes(), [])
    path_of(folder).write_bytes(b'{"type":"c"}\r\n')
    once(folder, data, "--verbatim")
    wrote = answer("sessions", "export", "--force", "--layout", "source", "-o", str(out), data=data)
    assert wrote["rewritten"] == [SESSION]
