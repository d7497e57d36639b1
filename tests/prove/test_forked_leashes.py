"""How proofs are run here: what is forked is, from outside, the same as what is started as a new interpreter."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
from tests.prove.prover import gone
from tests.support.command_server import command_in
from tests.support.eventually import wait_until

from holdfast.prove.leash import descendants, let_go
from holdfast.prove.targets import TargetNotReady
from holdfast.prove.targets.broken import broken
from holdfast.prove.targets.process import ProcessTarget, free_port, port_answers

pytestmark = pytest.mark.skipif(os.name != "posix", reason="NOT RUN: only POSIX has forks")


def stat_of(pid: int) -> list[str]:
    """What the kernel says of a process, from its state on."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


async def test_a_forked_target_is_on_a_leash_and_dies_with_it(tmp_path: Path) -> None:
    port = free_port()
    target = ProcessTarget(broken("none", tmp_path / "data", port), tmp_path, start_seconds=20)
    await target.start()
    assert target.pid is not None
    leash = int(stat_of(target.pid)[1])
    assert target.pid in descendants(leash)
    _, _, group, session = stat_of(target.pid)[:4]
    assert (int(group), int(session)) == (target.pid, leash)
    opened = {str(entry.readlink()) for entry in Path(f"/proc/{target.pid}/fd").iterdir() if entry.is_symlink()}
    assert not [name for name in opened if name.startswith("pipe:")]
    os.kill(leash, signal.SIGKILL)
    wait_until(lambda: gone(target.pid or 0))
    assert not port_answers(port)
    await target.kill()


async def test_a_forked_target_dies_when_its_holder_lets_go(tmp_path: Path) -> None:
    target = ProcessTarget(broken("none", tmp_path / "data", free_port()), tmp_path, start_seconds=20)
    await target.start()
    assert target.pid is not None
    assert target._leash is not None
    let_go(target._leash)
    wait_until(lambda: gone(target.pid or 0))
    assert await target.ended(20)
    target.abandon()


async def test_a_forked_target_ends_with_its_exit_code_and_its_last_words(tmp_path: Path) -> None:
    target = ProcessTarget(broken("no-such-kind", tmp_path / "data", free_port()), tmp_path, start_seconds=20)
    with pytest.raises(TargetNotReady, match=r"exit code 2 before it was ready; its last words: .*invalid choice"):
        await target.start()


def test_a_forked_command_of_a_script_has_its_streams_and_folder_and_ends_as_it_does(tmp_path: Path) -> None:
    with command_in(tmp_path):
        (tmp_path / "here").mkdir()
        script = "holdfast --version && holdfast nonsense 2>err || echo $?; holdfast sessions ls --data none; echo $?"
        words = ["bash", "-c", script]
        path = f"{tmp_path}:{os.environ['PATH']}"
        done = subprocess.run(
            words, cwd=tmp_path / "here", capture_output=True, text=True, env=os.environ | {"PATH": path}, check=True
        )
    assert done.stdout.startswith("holdfast")
    assert done.stdout.splitlines()[1:] == ["2", "2"]
    assert "No such command" in (tmp_path / "here" / "err").read_text()
    assert "hint: " in done.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGKILL, -signal.SIGKILL)])
def test_a_forked_command_of_a_script_gets_its_signals(number: signal.Signals, code: int, tmp_path: Path) -> None:
    with command_in(tmp_path):
        words = [str(tmp_path / "holdfast"), "sim", "--json", "--port", "0"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline().startswith('{"url":')
            process.send_signal(number)
            assert process.wait(60) == code
            # The command's own end of the pipe is closed too, for it has ended.
            assert process.stdout.read() == ""
