"""`python -m holdfast` and `holdfast` are the command line.

Two verbs begin before anything else is imported. `holdfast hook` records, because a program waits for it at every step
that it takes. `holdfast doctor` lets everything else on the machine go first, because importing is most of its work.
"""

import os
import sys
from contextlib import suppress

LOOKS = frozenset({"-h", "--help", "--status", "--flush", "--plugin", "--courier"})
"""What `hook` does beside recording, and may take its time for."""
CHANGES = frozenset({"--fix", "import", "compact", "recover", "restore"})
"""What `doctor` does beside looking; nobody else has the store then."""
LOWEST = 19


def main() -> None:
    """Run the verb that the arguments name."""
    words = sys.argv[1:]
    if words[:1] == ["hook"] and not LOOKS & set(words):
        from holdfast.hook.command import run

        run(words[1:])
        return
    if words[:1] == ["doctor"] and not CHANGES & {word.rpartition("=")[2] for word in words}:
        give_way(os.getloadavg()[0])
    from holdfast.cli import main as verbs

    verbs()


def give_way(load: float) -> None:
    """Let every other process have the processor first.

    On a machine whose processors are all taken, as its load tells, a process that only runs when they are idle might
    never end what it reads, and a read that stays open keeps the write-ahead log from being emptied. There it only
    takes the smallest share.
    """
    with suppress(OSError):
        os.nice(LOWEST)
    if sys.platform == "linux" and load < len(os.sched_getaffinity(0)):
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


if __name__ == "__main__":
    main()
