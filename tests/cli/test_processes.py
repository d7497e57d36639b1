"""How tests start commands: one that is forked is, from outside, the same as a new process."""

import signal
import subprocess
from pathlib import Path

import pytest
from tests.support.processes import PATIENCE, ended, first_line, holdfast, python


@pytest.mark.parametrize("words", [["--version"], ["sessions", "ls", "--data", "none"], ["nonsense"]])
def test_it_says_and_ends_the_same(words: list[str]) -> None:
    with python("-m", "holdfast", *words) as new:
        out, err = new.communicate(timeout=PATIENCE)
    forked = ended(*words)
    assert (forked.returncode, forked.stdout, forked.stderr) == (new.returncode, out, err)


def test_it_has_its_own_environment_and_folder_and_dies_of_signals(tmp_path: Path) -> None:
    (tmp_path / "script").write_text('["from here"]')
    with holdfast("sim", "--json", "--port", "0", "--script", "script", folder=tmp_path) as process:
        assert first_line(process).startswith('{"url":')
        assert process.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0)
        process.kill()
        assert process.wait(PATIENCE) == process.returncode == -signal.SIGKILL
        assert process.communicate(PATIENCE) == ("", "")
    refused = ended("serve", "--data", str(tmp_path / "data"), variables={"HOLDFAST_PORT": "none"})
    assert (refused.returncode, "'none' is not a valid integer" in refused.stderr) == (2, True)


def test_what_is_not_caught_is_seen() -> None:
    done = ended("raise OSError('oh no')", module="tests.docs.program")
    assert (done.returncode, "OSError: oh no" in done.stderr) == (1, True)
