"""What a person sees: tables that fit, progress that goes away, and nothing in the data that drives the terminal."""

import asyncio
import fcntl
import json
import os
import pty
import re
import struct
import termios
from pathlib import Path

import pytest
from tests.cli.command import answer, fill, run
from tests.gateway.process import PATIENCE
from tests.support.processes import holdfast, python

from holdfast.store import NewEvent, open_store
from holdfast.terminal.text import width_of

HOSTILE = "\x1b[31mred\x1b]0;title\x07\x1b[2J\x9b31m\u202eback\u2066\x7f\x08"
STYLES = re.compile(r"\x1b\[[0-9;]*m")
LONG_ID = "a-session-with-a-long-name-0123456789"


def on_terminal(*arguments: str, columns: int = 100, **variables: str) -> tuple[int, str]:
    """The exit code, and all that the command wrote to a terminal of this width."""
    own, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    seen = b""
    with holdfast(*arguments, terminal=theirs, variables={"TERM": "xterm"} | variables) as process:
        os.close(theirs)
        try:
            while data := os.read(own, 65536):
                seen += data
        except OSError:  # the other end is closed
            pass
        finally:
            os.close(own)
        return process.wait(PATIENCE), seen.decode().replace("\r\n", "\n")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose content would like to take over the terminal, to be looked at only."""
    folder = tmp_path_factory.mktemp("data")

    async def write() -> None:
        async with await open_store(f"sqlite:///{folder}/holdfast.db") as store:
            await store.sessions.create(LONG_ID, user_id="日本語" * 20, tags=[HOSTILE, "x" * 100])
            await store.append(LONG_ID, [NewEvent(HOSTILE, {HOSTILE: HOSTILE, "word": "findme"})])
            await store.append(LONG_ID, [NewEvent("wide", {"text": "日本語" * 200 + "x" * 5_000})])
            await store.state.patch(LONG_ID, {"phase": HOSTILE})

    asyncio.run(write())
    return folder


COMMANDS = [["ls"], ["show", LONG_ID], ["tail", LONG_ID, "--no-follow"], ["search", "findme"], ["verify"]]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("flags", [[], ["--json"]], ids=["words", "json"])
def test_content_does_not_drive_the_terminal(data: Path, command: list[str], flags: list[str]) -> None:
    code, seen = on_terminal("sessions", *command, *flags, "--data", str(data))
    assert (code, "Traceback" in seen, len(seen) > 100) == (0, False, True)
    left = STYLES.sub("", seen) if not flags else seen
    left = left.replace("\r\x1b[2K", "")
    assert [char for char in left if not char.isprintable() and char != "\n"] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_a_dumb_terminal_gets_nothing_but_text(data: Path, command: list[str]) -> None:
    code, seen = on_terminal("sessions", *command, "--data", str(data), TERM="dumb")
    assert (code, "Traceback" in seen, len(seen) > 100) == (0, False, True)
    assert [char for char in seen if not char.isprintable() and char != "\n"] == []


def test_json_says_what_was_written_all_the_same(data: Path) -> None:
    found = answer("sessions", "show", LONG_ID, data=data)
    assert found["session"]["tags"][0] == HOSTILE
    assert found["events"][1]["details"] == {HOSTILE: HOSTILE, "word": "findme"}
    lines = run("sessions", "tail", LONG_ID, "--no-follow", "--json", data=data).stdout.splitlines()
    assert [json.loads(line)["seq"] for line in lines] == [1, 2, 3, 4]


@pytest.mark.parametrize("columns", [140, 80, 50])
@pytest.mark.parametrize("command", [["ls"], ["tail", LONG_ID, "--no-follow"]])
def test_lines_fit_the_terminal(data: Path, command: list[str], columns: int) -> None:
    _, seen = on_terminal("sessions", *command, "--data", str(data), columns=columns, NO_COLOR="1")
    lines = seen.splitlines()
    assert max(width_of(line) for line in lines) <= columns
    assert command != ["ls"] or lines[1].startswith(f"{LONG_ID}  active")


def test_no_colour_means_none(data: Path) -> None:
    search = ["sessions", "search", "findme", "--data", str(data)]
    assert "\x1b[" in on_terminal(*search)[1]
    assert "\x1b[" not in on_terminal(*search, NO_COLOR="1")[1]


def test_in_a_pipe_there_are_tabs_and_no_headings(data: Path) -> None:
    done = run("sessions", "ls", data=data)
    assert done.stdout.split("\t")[:3] == [LONG_ID, "active", "4"]
    assert (done.stdout.count("\n"), "\x1b" in done.stdout) == (1, False)


def test_progress_is_for_people_and_goes_away(tmp_path: Path) -> None:
    fill(tmp_path / "data")
    out = tmp_path / "out"
    code, seen = on_terminal("sessions", "export", "-o", str(out), "--data", str(tmp_path / "data"))
    assert (code, "written" in seen) == (0, True)
    assert seen.rpartition("\r\x1b[2K")[2].startswith("2 sessions, 12 events: ")
    quiet = run("sessions", "export", "-o", str(out), "--force", data=tmp_path / "data")
    assert quiet.stderr == ""


def test_a_question_can_be_answered_with_no(tmp_path: Path) -> None:
    fill(tmp_path)
    own, theirs = pty.openpty()
    os.write(own, b"n\n")
    with python("-m", "holdfast", "sessions", "rm", "one", "--data", str(tmp_path), stdin=theirs) as process:
        _, err = process.communicate(timeout=PATIENCE)
    os.close(own)
    os.close(theirs)
    assert (process.returncode, "Delete 1 session?" in err) == (1, True)
    assert len(answer("sessions", "ls", data=tmp_path)["sessions"]) == 2
