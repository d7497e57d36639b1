"""What a proof made in a container engine is removed although the proof was killed, and never by two."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.eventually import wait_until

from holdfast.prove.targets.containers.cleanup import Cleanup

HOLDER = """
import subprocess, sys, time
from pathlib import Path
from holdfast.prove.targets.containers.cleanup import Cleanup

cleanup = Cleanup(("sh", "-c", sys.argv[1]), {"WORD": "by $WORD"}, Path("secret"))
subprocess.Popen(["sh", "-c", sys.argv[2]], pass_fds=cleanup.held)
print("held", flush=True)
time.sleep(600)
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "environment").write_text("A_TOKEN=x")
    return tmp_path


def kill_holder(place: Path, command: str, making: str = "true") -> None:
    """Kill a process that holds a cleanup with this command, and has started another that makes something."""
    words = [sys.executable, "-c", HOLDER, command, making]
    with subprocess.Popen(words, cwd=place, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        holder.kill()


def test_what_a_killed_process_made_is_removed(place: Path) -> None:
    kill_holder(place, "echo removed $WORD > said")
    wait_until(lambda: not (place / "secret").exists())
    assert (place / "said").read_text() == "removed by $WORD\n"


def test_it_waits_for_a_command_that_is_still_at_work(place: Path) -> None:
    kill_holder(place, "cat made > said", "until test -e go; do sleep 0.01; done; echo a container > made")
    assert (place / "secret").exists()
    (place / "go").touch()
    wait_until(lambda: not (place / "secret").exists())
    assert (place / "said").read_text() == "a container\n"


def test_nothing_is_done_when_it_is_called_off(place: Path) -> None:
    cleanup = Cleanup(("sh", "-c", f"touch {place}/said"), {}, place / "secret")
    cleanup.call_off()
    assert (place / "secret").exists()
    assert not (place / "said").exists()
