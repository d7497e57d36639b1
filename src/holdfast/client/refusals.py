"""Refusals: what the service will never take, set aside in a file with the reason, so that nothing waits behind it.

The file is shared by all programs of a folder. It counts towards the bound of the spool: what is set aside is on the
same disk, and is not forgotten.
"""

import os
from pathlib import Path
from typing import Any

from msgspec import Raw

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
        """Set a line of a spool aside, whatever it is."""
        try:
            entry: Any = Raw(strict_json.check(line))
        except InvalidJson:
            entry = line.decode(errors="backslashreplace")
        said = {"at": to_iso(self._clock.now()), "problem": problem, "entry": entry}
        file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(file, strict_json.dump(said) + b"\n")
            self.size = os.fstat(file).st_size
        finally:
            os.close(file)
