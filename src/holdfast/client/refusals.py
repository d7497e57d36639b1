"""Refusals: what the service will never take, set aside in a file with the reason, so that nothing waits behind it.

The file is shared by all programs of a folder. It counts towards the bound of the spool: what is set aside is on the
same disk, and is not forgotten.
"""

import errno
import fcntl
import os
from pathlib import Path
from typing import Any

from holdfast.core import Clock, strict_json
from holdfast.core.clock import to_iso
from holdfast.core.errors import InvalidJson

FILE = "refused.jsonl"


class Refusals:
    """The refusals in a folder."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self.path = folder / FILE
        self.size = self.path.stat().st_size if self.path.exists() else 0
        self._clock = clock

    def add(self, line: bytes, problem: dict[str, Any]) -> None:
        """Set a line of a spool aside, whatever it is; OSError if the disk does not take all of it."""
        try:
            entry: bytes = strict_json.check(line)
        except InvalidJson:
            entry = strict_json.dump(line.decode(errors="backslashreplace"))
        said = strict_json.dump({"at": to_iso(self._clock.now()), "problem": problem})
        record = said[:-1] + b',"entry":' + entry + b"}\n"
        file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            before = os.fstat(file).st_size
            if os.write(file, record) < len(record):
                os.ftruncate(file, before)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
            self.size = before + len(record)
        finally:
            os.close(file)
