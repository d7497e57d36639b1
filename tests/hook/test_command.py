"""`holdfast hook` as programs run it: it is over at once, ends with 0, and what went wrong is in its journal."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.client.looking import free_port
from tests.gateway.process import running
from tests.hook.hooks import Hooks, hook
from tests.support.eventually import wait_until

from holdfast.client import segments
from holdfast.hook import inbox, payload

LIGHT = """
import sys
sys.argv = ["holdfast", "hook", "--session", "s"]
import holdfast.__main__
holdfast.__main__.main()
HEAVY = "asyncio click http msgspec httpx2 socket subprocess threading logging dataclasses holdfast.core holdfast.cli"
print(sorted(set(HEAVY.split()) & set(sys.modules)))
"""


@pytest.fixture
def environ(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A gateway that is not there. No courier is started, which takes longer than all else: the test is one."""
    found = {**os.environ, "SESSION_SERVICE_URL": f"http://127.0.0.1:{free_port()}"}
    folder = inbox.folder_of(found)
    folder.mkdir(parents=True)
    with inbox.only_courier(folder):
        yield found


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The same, and hooks start couriers: these wait for their gateway for long, so the last one ends with the test."""
    found = {**os.environ, "SESSION_SERVICE_URL": f"http://127.0.0.1:{free_port()}"}
    yield found
    folder = inbox.folder_of(found)
    if folder.is_dir() and inbox.has_courier(folder):
        os.kill(courier(folder), signal.SIGKILL)


def courier(folder: Path) -> int:
    """The courier that a hook has started, once it runs."""
    return wait_until(lambda: inbox.courier_of(folder))


def waiting(environ: dict[str, str]) -> list[dict[str, object]]:
    """What the inbox holds."""
    folder = inbox.folder_of(environ)
    lines = segments.read_lines(folder, segments.read_position(folder), None, 100)
    return [json.loads(line.raw) for line in lines]


def test_a_hook_is_recorded_though_no_gateway_is_there(environ: dict[str, str]) -> None:
    ended = hook({"session_id": "s1", "hook_event_name": "Stop"}, environ=environ)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
    (record,) = waiting(environ)
    assert (record["session"], record["masks"]) == ("s1", True)
    assert record["said"] == {"session_id": "s1", "hook_event_name": "Stop"}


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (b"", "not JSON"),
        (b"garbage \xff\x00", "not JSON"),
        (b"[1, 2]", "not a JSON object"),
        (b'{"hook_event_name": "Stop"}', "no session"),
        (b'{"session_id": 7}', "no session"),
        (b"[" * 200_000, "not JSON"),
        (b'{"session_id": "s", "n": ' + b"9" * 5_000 + b"}", "not JSON"),
    ],
)
def test_what_is_no_event_is_refused_in_the_journal_only(environ: dict[str, str], said: bytes, why: str) -> None:
    ended = hook(said, environ=environ)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
    folder = inbox.folder_of(environ)
    assert why in (folder / "hook.log").read_text()
    assert segments.numbers(folder) == []


def test_a_huge_payload_is_read_to_its_end_and_kept_by_its_beginning(environ: dict[str, str]) -> None:
    huge = {"session_id": "s1", "hook_event_name": "PostToolUse", "tool_response": "x" * (payload.MOST + 10)}
    assert hook(huge, environ=environ).returncode == 0
    (record,) = waiting(environ)
    said = record["said"]
    assert isinstance(said, dict) and said["tooLong"] > payload.MOST
    assert (said["hook_event_name"], len(said["beginning"])) == ("PostToolUse", payload.HEAD)


def test_an_inbox_that_cannot_be_written_is_said_and_stops_nobody(tmp_path: Path, environ: dict[str, str]) -> None:
    (tmp_path / "spool").write_text("a file, where a folder should be")
    environ |= {"HOLDFAST_SPOOL": str(tmp_path / "spool")}
    ended = hook({"session_id": "s1", "hook_event_name": "Stop"}, environ=environ)
    assert (ended.returncode, ended.stdout) == (0, b"") and b"not recorded" in ended.stderr


@pytest.mark.parametrize("streams", ["ulimit -f 0;", "exec <&-;", "exec >&- 2>&-;", "exec <&- >&- 2>&-;"])
def test_neither_a_full_disk_nor_closed_streams_stop_anybody(environ: dict[str, str], streams: str) -> None:
    said = b'{"session_id": "s1", "hook_event_name": "SessionStart", "source": "startup", "cwd": "/work"}'
    ended = subprocess.run(
        ["/bin/sh", "-c", f'{streams} exec "{sys.executable}" -m holdfast hook'],
        input=said,
        env=environ,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (0, b"")
    folder = inbox.folder_of(environ)
    if "ulimit" in streams:
        assert b"not recorded: OSError" in ended.stderr
    elif "<" in streams:
        assert "not recorded: OSError" in (folder / "hook.log").read_text()
    else:
        assert len(waiting(environ)) == 1


def test_an_address_that_is_none_keeps_what_was_said(alone: dict[str, str]) -> None:
    alone |= {"SESSION_SERVICE_URL": "http://[nowhere"}
    assert hook({"session_id": "s1", "hook_event_name": "Stop"}, environ=alone).returncode == 0
    assert len(waiting(alone)) == 1
    wait_until(lambda: "not a service's address" in _journal(alone))


def test_an_unknown_option_records_nothing_and_blocks_nobody(environ: dict[str, str]) -> None:
    ended = hook({"session_id": "s1", "hook_event_name": "Stop"}, "--from-the-future", environ=environ)
    assert ended.returncode == 0, "Claude Code takes 2 for a refusal"
    assert b"--from-the-future" in ended.stderr


def test_a_program_that_never_ends_its_json_is_not_waited_for(environ: dict[str, str]) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "holdfast", "hook", "--session", "s1"], stdin=subprocess.PIPE, env=environ
    ) as process:
        assert process.stdin is not None
        process.stdin.write(b'{"type": ')
        process.stdin.flush()
        assert process.wait(60) == 0
    assert "took too long" in (inbox.folder_of(environ) / "hook.log").read_text()


def test_options_and_environment_name_the_session(environ: dict[str, str]) -> None:
    hook({"type": "a", "session_id": "mine"}, "--session=given", "--verbatim", environ=environ)
    hook({"type": "b", "session_id": "mine"}, environ=environ | {"SESSION_ID": "around"})
    hook({"type": "c"}, environ=environ | {"SESSION_ID": "around"})
    assert [(each["session"], each["around"], each["masks"]) for each in waiting(environ)] == [
        ("given", None, False),
        ("mine", "around", True),
        ("around", "around", True),
    ]


def test_a_spool_that_is_named_from_where_the_program_is_is_the_couriers_too(
    environ: dict[str, str], tmp_path: Path
) -> None:
    said = {"session_id": "s1", "hook_event_name": "Stop"}
    assert hook(said, environ=environ | {"HOLDFAST_SPOOL": "near"}, folder=tmp_path).returncode == 0
    os.kill(courier(tmp_path / "near" / inbox.INBOX), signal.SIGKILL)


def test_recording_imports_nothing_that_takes_long(environ: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIGHT], input=b'{"type": "a"}', env=environ, capture_output=True, check=True, timeout=60
    )
    assert (done.stdout, done.stderr) == (b"[]\n", b"")


def test_a_projects_folder_is_no_place_for_modules(alone: dict[str, str], tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "holdfast").mkdir(parents=True)
    trap = f"open({str(tmp_path / 'sprung')!r}, 'w')"
    for name in ("json.py", "holdfast/__init__.py", "holdfast/__main__.py"):
        (project / name).write_text(trap)
    program = Path(sys.executable).parent / "holdfast"
    ended = subprocess.run(
        [program, "hook"],
        input=b'{"session_id": "s1", "hook_event_name": "Stop"}',
        env=alone,
        cwd=project,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert ended.returncode == 0
    wait_until(lambda: "waiting" in _journal(alone))
    assert not (tmp_path / "sprung").exists()


def _journal(environ: dict[str, str]) -> str:
    file = inbox.folder_of(environ) / "hook.log"
    return file.read_text() if file.exists() else ""


def test_what_was_recorded_while_the_gateway_was_away_or_killed_arrives_once(
    tmp_path: Path, alone: dict[str, str], session: str
) -> None:
    port = int(alone["SESSION_SERVICE_URL"].rpartition(":")[2])
    hooks = Hooks(tmp_path, alone["SESSION_SERVICE_URL"], session)

    def say(*numbers: int) -> None:
        for number in numbers:
            ended = hook({"session_id": session, "hook_event_name": "Stop", "number": number}, environ=alone)
            assert ended.returncode == 0

    say(0, 1)
    with running(tmp_path / "data", port=port) as gateway:
        say(2)
        wait_until(lambda: inbox.is_empty(hooks.folder), pause=0.05)
        gateway.process.kill()
        gateway.process.wait()
    say(3, 4)
    os.kill(courier(hooks.folder), signal.SIGKILL)
    wait_until(lambda: not inbox.has_courier(hooks.folder))
    say(5)
    with running(tmp_path / "data", port=port):
        flushed = hook(b"", "--flush", "--json", environ=alone)
        assert (flushed.returncode, json.loads(flushed.stdout)["waiting"]) == (0, 0), flushed.stderr
        assert [each["details"]["number"] for each in hooks.events()] == list(range(6))


def test_the_courier_lives_on_without_the_program_and_holds_none_of_its_files(alone: dict[str, str]) -> None:
    read, write = os.pipe()
    started = time.monotonic()
    with subprocess.Popen(
        [sys.executable, "-m", "holdfast", "hook"],
        stdin=subprocess.PIPE,
        stdout=write,
        stderr=write,
        env=alone,
        pass_fds=(write,),
        start_new_session=True,
    ) as process:
        os.close(write)
        process.communicate(b'{"session_id": "s1", "hook_event_name": "Stop"}', timeout=60)
    assert os.read(read, 1) == b"", "nobody holds the pipe any more"
    os.close(read)
    folder = inbox.folder_of(alone)
    found = courier(folder)
    assert os.getsid(found) == found and time.monotonic() - started < 60
