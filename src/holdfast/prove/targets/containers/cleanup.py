"""Removes what a proof made in a container engine, should the proof die before it does so itself, kill -9 included.

Started as a script with a folder, or `-`, and a command, it waits until nobody holds the other end of its standard
input. A word that came there says that nothing is left to do. Without one it runs the command and removes the folder.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

CALL_OFF = b"removed"


class Cleanup:
    """The command that removes everything, and the folder that goes with it, once whoever holds this is dead."""

    def __init__(self, command: Sequence[str], settings: Mapping[str, str], folder: Path | None = None) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(folder or "-"), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **settings},
            start_new_session=True,  # what ends a terminal's processes, or a job's, is not meant for it
        )
        assert self._process.stdin is not None
        self._end = self._process.stdin

    @property
    def held(self) -> tuple[int, ...]:
        """What a command inherits that makes something: the cleanup waits for it, too."""
        return (self._end.fileno(),)

    def call_off(self) -> None:
        """Say that all is removed."""
        self._process.communicate(CALL_OFF)


def main(folder: str, command: list[str]) -> None:
    """Wait, and remove what is left."""
    if os.read(0, len(CALL_OFF)):
        return
    subprocess.run(command, check=False)
    if folder != "-":
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
