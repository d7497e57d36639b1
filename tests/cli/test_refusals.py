"""What cannot be done is said with an error, a hint and exit code 2, and leaves everything as it was."""

import asyncio
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.cli.command import fill, run
from tests.gateway.process import PATIENCE, running
from tests.support.processes import holdfast, python
from tests.support.scripted_server import Answer, endpoint

from holdfast.cli.errors import GatewayRefusal
from holdfast.cli.options import Location
from holdfast.cli.service import _patient, serving
from holdfast.core.problem import problem
from holdfast.core.store_file import StoreLock, lock_path


def test_a_store_that_another_command_holds_is_refused(tmp_path: Path) -> None:
    fill(tmp_path)
    lock = StoreLock(lock_path(tmp_path / "holdfast.db"))
    with lock:
        lock.say({"pid": os.getpid(), "command": True})
        for command in (["sessions", "ls"], ["sessions", "tag", "one", "x"], ["db", "status"]):
            refused = run(*command, data=tmp_path)
            assert refused.exit_code == 2
            assert f"error: another command (pid {os.getpid()}) is at work on" in refused.stderr
            assert "hint: try again when it is done" in refused.stderr
    assert run("sessions", "tag", "one", "x", data=tmp_path).exit_code == 0


async def test_who_has_only_just_taken_the_store_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "holdfast.db"
    with ExitStack() as stack:
        with StoreLock(lock_path(path)):
            waiting = asyncio.create_task(_patient(lambda: stack.enter_context(StoreLock(lock_path(path)))))
            await asyncio.sleep(0)
            assert not waiting.done()
        async with asyncio.timeout(PATIENCE):
            assert (await waiting).path == lock_path(path)


@pytest.mark.parametrize("name", ["a?b", "../status", "one/log", "", "..", "a\udcffb", "\x1b[31m"])
@pytest.mark.parametrize("verb", [["show"], ["fork"], ["rm", "--yes"], ["tail", "--no-follow"]])
def test_a_name_that_is_no_session_id_goes_nowhere(tmp_path: Path, verb: list[str], name: str) -> None:
    fill(tmp_path)
    refused = run("sessions", *verb, name, data=tmp_path)
    assert refused.exit_code == 2
    assert "is not a session id" in refused.stderr
    assert "\x1b" not in refused.output


@pytest.mark.parametrize("url", ["nonsense", "localhost:9000", "http://[::1", "ftp://localhost", ""])
def test_a_url_that_is_none_is_said(url: str) -> None:
    refused = run("sessions", "ls", "--url", url, "--json")
    assert (refused.exit_code, json.loads(refused.stdout)["code"]) == (2, "invalid_input")
    assert "hint: for example http://" in refused.stderr


def test_a_gateway_that_does_not_answer_is_said(tmp_path: Path) -> None:
    with running(tmp_path) as gateway:
        url = gateway.url
        gateway.stop()
    refused = run("sessions", "ls", "--url", url)
    assert (refused.exit_code, f"error: the gateway at {url} does not answer" in refused.stderr) == (2, True)


def test_a_tenant_is_named_to_the_gateway(tmp_path: Path) -> None:
    """Whoever is on this machine may; a token is for its own (see `test_token_command`)."""
    fill(tmp_path, sessions=("one",))
    with running(tmp_path) as gateway:
        for where in (["--url", gateway.url], ["--data", str(tmp_path)]):
            assert "one" in run("sessions", "ls", *where).stdout
            assert "one" in run("sessions", "ls", "--tenant", "default", *where).stdout
            empty = run("sessions", "ls", "--tenant", "other", *where)
            assert (empty.exit_code, empty.stdout) == (0, "")
            refused = run("sessions", "ls", "--tenant", "an other", *where)
            assert (refused.exit_code, "is not a tenant" in refused.stderr) == (2, True)


def test_words_that_are_not_text_are_refused(tmp_path: Path) -> None:
    fill(tmp_path)
    refused = run("sessions", "search", "\udcff", data=tmp_path)
    assert (refused.exit_code, "is not text" in refused.stderr) == (2, True)


def test_nothing_found_is_an_answer(tmp_path: Path) -> None:
    fill(tmp_path)
    for flags in ([], ["--json"]):
        assert run("sessions", "search", "nowhere", *flags, data=tmp_path).exit_code == 1
    empty = run("sessions", "ls", "--tag", "none", data=tmp_path)
    assert (empty.exit_code, empty.stdout, empty.stderr) == (0, "", "no sessions\n")


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    for command in (["sessions", "ls"], ["sessions", "tag", "one", "x"], ["db", "status"], ["db", "migrate"]):
        refused = run(*command, data=tmp_path / "none")
        assert (refused.exit_code, "there is no store at" in refused.stderr) == (2, True)
    assert not (tmp_path / "none").exists()


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A temporary folder whose path is short enough for a socket, wherever the tests' own files are."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


@pytest.mark.parametrize("number", [2, 15])
def test_a_signal_ends_a_command_and_leaves_nothing(
    tmp_path: Path, scratch: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path / "data")
    monkeypatch.setenv("TMPDIR", str(scratch))
    with holdfast("sessions", "tail", "one", "--data", str(tmp_path / "data")) as process:
        assert process.stdout is not None
        assert "note" in process.stdout.readline()
        assert list(scratch.iterdir())
        process.send_signal(number)
        _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (128 + number, "")
    assert list(scratch.iterdir()) == []


def test_temporary_files_may_lie_deeper_than_a_socket_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path / "data")
    deep = tmp_path / ("deep" * 30)
    deep.mkdir()
    monkeypatch.setenv("TMPDIR", str(deep))
    with holdfast("sessions", "ls", "--data", str(tmp_path / "data")) as process:
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err, "one" in out) == (0, "", True)


@pytest.mark.parametrize(
    "command", [["ls"], ["show", "one", "-n", "2000"], ["tail", "one", "-n", "2000", "--no-follow"]]
)
def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path, command: list[str]) -> None:
    fill(tmp_path, sessions=("one",), events=2000)
    with python("-m", "holdfast", "sessions", *command, "--data", str(tmp_path)) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""
        process.wait(PATIENCE)


@pytest.mark.parametrize("body", [b'{"message": "no upstream"}', b"[]", b"<html>", b'{"status": "bad", "code": 7}'])
async def test_what_stands_before_a_gateway_refuses_in_its_own_words(body: bytes) -> None:
    with endpoint(Answer(body, status=502)) as server:
        async with serving(Location(Path("none"), None, server.origin, None)) as service:
            with pytest.raises(GatewayRefusal, match="HTTP 502") as refused:
                await service.call("GET", "/api/status")
    assert (refused.value.is_missing, problem(refused.value)["status"], problem(refused.value)["code"]) == (
        False,
        502,
        "internal",
    )
