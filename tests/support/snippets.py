"""What the README and the docs show, run as printed, in an empty folder.

A `python` block is a program. An `sh` block is a script; the port 9000 is exchanged for a free one, and every
`# → text` line must be found in the output, in order. A block after `<!-- not run: why -->` is left out, and says why.
The README runs the command that is installed, other pages a fork of it, which is quicker and the same otherwise.
"""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support.command_server import command_in
from tests.support.processes import ended

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"(<!-- not run: [^>]+-->\n)?```(python|sh)\n(.*?)```", re.S)


@dataclass(frozen=True)
class Snippet:
    """One block of a page."""

    name: str
    language: str
    code: str


def snippets() -> list[Snippet]:
    """Every block that is to be run."""
    found = []
    for page in PAGES:
        for number, (excuse, language, code) in enumerate(BLOCK.findall(page.read_text())):
            if not excuse:
                found.append(Snippet(f"{page.relative_to(ROOT)}#{number}", language, code))
    return found


def free_port() -> str:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def run_as_printed(snippet: Snippet, folder: Path, installed: Path | None = None) -> None:
    """Run a snippet in a folder; it succeeds and says what the page says. Commands are ours, or those `installed`."""
    script = snippet.code
    if snippet.language == "python" and installed:
        code, said = in_a_shell(f"python - <<'PROGRAM'\n{script}\nPROGRAM\n", folder, installed)
    elif snippet.language == "python":
        done = ended(script, module="tests.docs.program", folder=folder)
        code, said = done.returncode, done.stdout + done.stderr
    else:
        if "curl" in script and not shutil.which("curl"):
            pytest.skip("NOT RUN: this snippet needs curl")
        script = script.replace("9000", free_port())
        ours = Path(sys.executable).parent if snippet.name.startswith("README") else None
        code, said = in_a_shell(script, folder, installed or ours)
    assert code == 0, said
    at = 0
    for expected in re.findall(r"^# → (.*)$", script, re.M):
        at = said.find(expected, at)
        assert at >= 0, f"{expected!r} is not in what follows:\n{said}"


def in_a_shell(script: str, folder: Path, installed: Path | None) -> tuple[int, str]:
    """The exit code of a script that is run in this folder, and what was said; whatever it left running is killed.

    Without a folder of commands that are installed, `holdfast` is a fork of a process that has imported it.
    """
    beside = folder.parent / f"{folder.name}.beside"
    beside.mkdir(exist_ok=True)
    curl_at_once(beside)
    path = f"{beside}:{installed or Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "NO_COLOR": "1", "XDG_STATE_HOME": str(beside / "state")}
    if "localhost" in script:
        environment |= {"no_proxy": "*", "HOLDFAST_PORT": re.findall(r"localhost:(\d+)", script)[0]}
    commands = contextlib.nullcontext() if installed else command_in(beside)
    with commands, (beside / "log").open("w") as output:
        process = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=folder,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = process.wait(timeout=90)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    return code, (beside / "log").read_text()


def curl_at_once(folder: Path) -> None:
    """Make a curl that, told to retry while nobody listens, begins as soon as somebody does, and is curl from there on.

    As printed it waits for a second after the first refusal, which is longer than most starts take.
    """
    curl = folder / "curl"
    curl.write_text(f"""#!/bin/bash
if [[ " $* " == *" --retry-connrefused "* ]]; then
  for _ in $(seq 1000); do (: > /dev/tcp/127.0.0.1/$HOLDFAST_PORT) 2>/dev/null && break; sleep 0.03; done
fi
exec {shutil.which("curl")} "$@"
""")
    curl.chmod(0o755)
