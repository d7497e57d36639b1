"""A file of JSON lines that only grows; what `append` has returned from is on the disk."""

import os
import time
from pathlib import Path
from typing import Any

from holdfast.core import strict_json


class LineLog:
    """One append-only file. A torn last line, which nobody was told of, is cut off at open."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        content = path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        os.truncate(self._file, len(whole))
        self.entries: list[dict[str, Any]] = [strict_json.parse(line) for line in whole.splitlines()]

    def append(self, *entries: dict[str, Any]) -> None:
        """Write the entries and wait for the disk."""
        os.write(self._file, b"".join(strict_json.dump(entry) + b"\n" for entry in entries))
        os.fsync(self._file)

    def rewrite(self, *, pause: float) -> None:
        """Empty the file and write anew, after a pause, what was in it. No honest runtime does that."""
        content = os.pread(self._file, os.fstat(self._file).st_size, 0)
        os.truncate(self._file, 0)
        time.sleep(pause)
        os.write(self._file, content)
