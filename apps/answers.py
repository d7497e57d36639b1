"""Answers: one file each, written whole and never a second time."""

from pathlib import Path
from typing import Any

from holdfast.core import strict_json
from holdfast.core.durable_files import make_folder, write_whole


class AnswerFolder:
    """A folder of answers, by the name of what was asked."""

    def __init__(self, folder: Path) -> None:
        make_folder(folder)
        self._folder = folder

    def write(self, name: str, document: dict[str, Any]) -> None:
        """Keep an answer; one that is there stays as it is, because whoever asked may have it."""
        path = self._folder / f"{name}.json"
        if not path.exists():
            write_whole(path, strict_json.dump(document) + b"\n")

    def get(self, name: str) -> dict[str, Any] | None:
        """The answer, if there is one."""
        path = self._folder / f"{name}.json"
        return strict_json.parse(path.read_bytes()) if path.exists() else None

    def count(self) -> int:
        """How many there are."""
        return sum(path.suffix == ".json" for path in self._folder.iterdir())
