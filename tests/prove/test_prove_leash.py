"""Nothing that a target ever started is alive once its leash is gone, whoever let go of it and how."""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from tests.prove.prover import alive, command, gone
from tests.support.eventually import wait_until

from holdfast.prove import leash
from holdfast.prove.targets.process import Launch, ProcessTarget, free_port

FAMILIES = Path(__file__).with_name("families.py")
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="NOT RUN: only Linux has subreapers"),
    pytest.mark.usefixtures("new_interpreters"),
]


def family(log: Path) -> list[int] | None:
    """The pids of a server and all its children, once they are all in its log."""
    words = log.read_text().split() if log.exists() else []
    return [int(word) for word in words[words.index("family") + 1 : words.index("end")]] if "end" in words else None


def launch(port: int) -> Launch:
    return Launch("families", (sys.executable, str(FAMILIES), str(port)), port, ("/",), None)


async def started(tmp_path: Path) -> tuple[ProcessTarget, list[int]]:
    target = ProcessTarget(launch(free_port()), tmp_path, start_seconds=20)
    await target.start()
    members = family(target.logs()[0])
    assert members is not None
    assert len(members) == 5
    assert all(alive(pid) for pid in members)
    assert target.pid == members[0]
    return target, members


@pytest.mark.parametrize("how", ["stop", "kill", "abandon"])
async def test_a_target_takes_its_whole_family_along(how: str, tmp_path: Path) -> None:
    target, members = await started(tmp_path)
    if how == "stop":
        assert await target.stop() == ""
    elif how == "kill":
        await target.kill()
    else:
        target.abandon()
    assert [pid for pid in members if alive(pid)] == []


async def test_a_target_that_dies_by_itself_takes_its_family_along(tmp_path: Path) -> None:
    target, members = await started(tmp_path)
    os.kill(members[0], signal.SIGSEGV)
    assert await target.ended(within=20)
    assert [pid for pid in members if alive(pid)] == []
    await target.start()
    again = target.pid
    assert again != members[0]
    target.abandon()
    assert not alive(again or 0)


def test_kill_9_of_the_proof_leaves_nobody_of_the_family(tmp_path: Path) -> None:
    line = f"{sys.executable} {FAMILIES} {{port}}"
    arguments = command("--command", line, "--timeout", "60", artifacts=tmp_path)
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as prover:
        # It has no agent card, so it is never ready: the proof waits for it.
        members = wait_until(lambda: family(tmp_path / "prove" / "latest" / "target-1.log"))
        assert all(alive(pid) for pid in members)
        prover.kill()
    for pid in members:
        assert wait_until(partial(gone, pid))


@contextmanager
def on_a_leash(*words: str) -> Iterator[tuple[subprocess.Popen[bytes], socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        arguments = [sys.executable, "-I", "-S", leash.__file__, str(theirs.fileno()), "-", *words]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, pass_fds=(theirs.fileno(),)) as process:
            yield process, ours
            ours.close()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("raise SystemExit(0)", 0),
        ("raise SystemExit(42)", 42),
        ("import os; os.kill(os.getpid(), 11)", -11),
        ("import os; os.kill(os.getpid(), 9)", -9),
        ("import os; os.killpg(0, 9)", -9),
    ],
)
def test_the_leash_ends_as_the_command_did(text: str, code: int) -> None:
    with on_a_leash(sys.executable, "-c", text) as (process, _):
        assert process.wait(timeout=20) == code


def test_a_sigterm_is_passed_on_and_the_command_may_take_its_time() -> None:
    text = "import signal,sys; signal.signal(15, lambda *_: sys.exit(7)); print('up', flush=True); signal.pause()"
    with on_a_leash(sys.executable, "-c", text) as (process, _):
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        process.terminate()
        assert process.wait(timeout=20) == 7


@pytest.mark.parametrize(
    "words", [("ls", "/proc/self/fd"), ("grep", "-E", "SigBlk|SigIgn", "/proc/self/status")], ids=["files", "signals"]
)
def test_the_command_starts_as_if_nobody_stood_in_between(words: tuple[str, ...]) -> None:
    """It holds nothing of ours, and no signal is blocked or ignored that was not before."""
    with on_a_leash(*words) as (process, _):
        said = process.communicate(timeout=20)[0]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as plain:
        assert said == plain.communicate(timeout=20)[0]


def test_a_killed_leash_takes_the_command_along() -> None:
    with on_a_leash(sys.executable, "-c", "import time; time.sleep(600)") as (process, ours):
        pid = int(ours.recv(32))
        process.kill()
        assert wait_until(lambda: gone(pid))


async def test_a_forked_child_of_the_prover_keeps_no_target_alive(tmp_path: Path) -> None:
    target, members = await started(tmp_path)
    child = os.fork()
    if child == 0:  # it has our end of the leash too, and does not close it
        signal.pause()
        os._exit(0)
    try:
        leaving = threading.Thread(target=target.abandon, daemon=True)
        leaving.start()
        leaving.join(20)
        assert not leaving.is_alive()
        assert [pid for pid in members if alive(pid)] == []
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


FORKING = """
import asyncio, os, pathlib, signal, sys
from tests.prove.test_prove_leash import started
target, members = asyncio.run(started(pathlib.Path(sys.argv[1])))
child = os.fork()
if child == 0:
    signal.pause()
print(child, *members, flush=True)
signal.pause()
"""


def test_kill_9_of_a_prover_that_has_forked_leaves_nobody_of_the_family(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", FORKING, str(tmp_path)], stdout=subprocess.PIPE) as prover:
        assert prover.stdout is not None
        child, *members = map(int, prover.stdout.readline().split())
        prover.kill()
        try:
            assert len(members) == 5
            for pid in members:
                assert wait_until(partial(gone, pid))
        finally:
            os.kill(child, signal.SIGKILL)


def is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


async def test_a_pause_is_one_of_the_whole_family(tmp_path: Path) -> None:
    target, members = await started(tmp_path)
    try:
        target.pause()
        assert wait_until(lambda: all(is_stopped(pid) for pid in members) or None)
        target.resume()
        assert wait_until(lambda: not any(is_stopped(pid) for pid in members) or None)
    finally:
        target.abandon()
