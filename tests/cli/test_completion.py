"""Shell completion: the scripts are printed, and bash really completes with them."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.command import run
from tests.support.processes import environment

from holdfast.cli.sessions import VERBS


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_printed(shell: str) -> None:
    done = run("completion", shell)
    assert (done.exit_code, done.stderr) == (0, "")
    assert f"_HOLDFAST_COMPLETE={shell}_complete" in done.stdout
    assert run("completion", "tcsh").exit_code == 2


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("holdfast sess", {"sessions"}),
        ("holdfast sessions ", set(VERBS)),
        ("holdfast db re", {"restore"}),
        ("holdfast sessions rm --older", {"--older-than"}),
        ("holdfast sessions export --layout ", {"archive", "files", "seed", "source"}),
    ],
)
def test_bash_completes(line: str, expected: set[str]) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    words = line.split(" ")
    script = (
        'eval "$(holdfast completion bash)"\n'
        f"COMP_WORDS=({' '.join(words[:-1])} '{words[-1]}') COMP_CWORD={len(words) - 1}\n"
        f"_holdfast_completion holdfast '{words[-1]}' '{words[-2]}'\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    path = f"{Path(sys.executable).parent}:{environment()['PATH']}"
    done = subprocess.run(
        [bash, "--norc", "-c", script], capture_output=True, text=True, check=True, env=environment() | {"PATH": path}
    )
    assert (set(done.stdout.split()), done.stderr) == (expected, "")
