"""The hooks' journal: what went wrong, in a file, because nobody reads what a hook says on its streams."""

import os
import time
from pathlib import Path

FILE = "hook.log"
BEFORE = "hook.log.1"
LONGEST = 1024 * 1024
"""A journal of so many bytes is set aside for a new one, in the place of the one that was set aside before."""


def note(folder: Path, text: str) -> None:
    """Write a line; what cannot be written is said on stderr."""
    line = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} [{os.getpid()}] {' '.join(text.split())[:2000]}\n"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(folder / FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(file, line.encode("utf-8", "backslashreplace"))
            if os.fstat(file).st_size > LONGEST:
                (folder / FILE).replace(folder / BEFORE)
        finally:
            os.close(file)
    except OSError as error:
        say(f"{line.rstrip()} (and the journal cannot be written: {error.strerror})\n")


def say(text: str) -> None:
    """Write to stderr, if that leads anywhere."""
    try:
        os.write(2, text.encode("utf-8", "backslashreplace"))
    except OSError:
        return
