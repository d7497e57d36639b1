"""What long runs of commands have in common: a file of results to go on with, the code that ran, and a leash.

A result is one line of JSON, written when it is there. One process at a time writes to a file; a line that it was
killed in the midst of does not count.
"""

import fcntl
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from holdfast import __version__
from holdfast.prove import leash

CHECKOUT = Path(__file__).parents[2]


@contextmanager
def held(results: Path) -> Iterator[IO[str]]:
    """A file of results for one process; what a write that was cut short has left there is a line of its own."""
    results.parent.mkdir(parents=True, exist_ok=True)
    with results.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit(f"another process makes the runs of {results}") from None
        file.seek(0)
        if (said := file.read()) and not said.endswith("\n"):
            file.write("\n")
            file.flush()
        yield file


def documents(file: IO[str]) -> Iterator[dict[str, Any]]:
    """The results in a file that are whole, from the first to the newest."""
    file.seek(0)
    for line in file:
        with suppress(json.JSONDecodeError):
            yield json.loads(line)


def keep(file: IO[str], document: dict[str, Any]) -> None:
    """Add a result to a file, so that it is there whatever happens to this process."""
    file.write(json.dumps(document, ensure_ascii=False) + "\n")
    file.flush()


def said_on_a_leash(*command: str) -> tuple[int, str]:
    """The exit code of a command, and what it printed; it ends with this process, and so does all that it started."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        words = [sys.executable, "-I", "-S", leash.__file__, str(theirs.fileno()), "-", *command]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, pass_fds=(theirs.fileno(),)) as process:
            theirs.close()
            try:
                said, _ = process.communicate()
            finally:
                leash.let_go(ours)
    return process.returncode, said


def code_here(*parts: str) -> str:
    """The commit that is checked out, and whether something of these parts, or of all, was changed since.

    Where nobody knows that, the version.
    """
    git = ("git", "-C", str(CHECKOUT))
    with suppress(OSError, subprocess.CalledProcessError):
        words = (*git, "rev-parse", "--short", "HEAD")
        commit = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
        changed = subprocess.run((*git, "diff", "--quiet", "HEAD", "--", *parts), check=False).returncode
        return f"{commit}-dirty" if changed else commit
    return __version__
