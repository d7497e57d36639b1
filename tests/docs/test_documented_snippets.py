"""What the README and the docs show is run, as printed, in an empty folder.

A `python` block is a program. An `sh` block is a script; the port 9000 is exchanged for a free one, and every
`# → text` line must be found in the output, in order. A block after `<!-- not run: why -->` is left out, and says why.
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


@pytest.mark.parametrize("snippet", snippets(), ids=lambda snippet: snippet.name)
def test_snippet_works_as_printed(snippet: Snippet, tmp_path: Path) -> None:
    if snippet.language == "python":
        command = [sys.executable, "-c", snippet.code]
        script = snippet.code
    else:
        if "curl" in snippet.code and not shutil.which("curl"):
            pytest.skip("NOT RUN: this snippet needs curl")
        script = snippet.code.replace("9000", free_port())
        command = ["bash", "-euo", "pipefail", "-c", script]
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "NO_COLOR": "1"}
    if "localhost" in script:
        environment |= {"no_proxy": "*", "HOLDFAST_PORT": re.findall(r"localhost:(\d+)", script)[0]}
    log = tmp_path.parent / f"{tmp_path.name}.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            code = process.wait(timeout=90)
        finally:
            with contextlib.suppress(ProcessLookupError):  # whatever the snippet left running
                os.killpg(process.pid, signal.SIGKILL)
    said = log.read_text()
    assert code == 0, said
    at = 0
    for expected in re.findall(r"^# → (.*)$", script, re.M):
        at = said.find(expected, at)
        assert at >= 0, f"{expected!r} is not in what follows:\n{said}"


@pytest.mark.parametrize("snippet", snippets(), ids=lambda snippet: snippet.name)
def test_a_snippet_stops_what_it_starts(snippet: Snippet) -> None:
    _, started, rest = snippet.code.rpartition(" &\n")
    assert not started or re.search(r"^kill ", rest, re.M), "the next snippet of the page would talk to its gateway"


def test_the_pages_have_snippets() -> None:
    assert len(snippets()) >= 8
