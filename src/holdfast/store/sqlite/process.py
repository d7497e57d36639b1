"""Which process this is, and whether another one still lives, as far as that can be told from here.

A pid means something within its boot and its pid namespace only, and comes again: so a process is known by all of
them and by when it began.
"""

import os
from pathlib import Path
from typing import NamedTuple

DEAD_STATES = ("Z", "X", "x")


class Process(NamedTuple):
    """A process, by what it is known by."""

    pid: int
    started: int
    boot: str
    namespace: str


def this_process() -> Process:
    """The one that asks; empty words where the system does not tell."""
    pid = os.getpid()
    return Process(pid, _started(pid) or 0, _text("/proc/sys/kernel/random/boot_id"), _namespace())


def is_alive(other: Process, here: Process) -> bool | None:
    """Whether a process lives; None if that cannot be seen from here."""
    if other.boot != here.boot or other.namespace != here.namespace:
        return None
    if here.started:
        return _started(other.pid) == other.started
    try:
        os.kill(other.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return None  # a pid that comes again cannot be told from one that stayed


def _started(pid: int) -> int | None:
    """When a process began, in ticks since the boot; None if there is none, or it has ended and waits to be buried."""
    fields = _text(f"/proc/{pid}/stat").rpartition(")")[2].split()  # a name may have blanks and brackets
    return int(fields[19]) if len(fields) > 19 and fields[0] not in DEAD_STATES else None


def _namespace() -> str:
    try:
        return Path("/proc/self/ns/pid").readlink().name
    except OSError:
        return ""


def _text(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace").strip()
    except OSError:
        return ""
