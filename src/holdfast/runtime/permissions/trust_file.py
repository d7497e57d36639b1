"""What a user has said of folders, in a file of their own outside of every project: by the folder's real path."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from holdfast.core import strict_json
from holdfast.core.durable_files import alone_in, make_folder, write_whole
from holdfast.core.errors import HoldfastError


class TrustFile:
    """The file, as far as it is about one folder. All of it blocks."""

    def __init__(self, path: Path, folder: Path) -> None:
        self._path = path
        self._folder = folder

    def said(self) -> Any:
        """What the user has said of the folder; None if nothing, or if it cannot be read: they are asked again."""
        return self._all().get(self._name)

    def say(self, word: Callable[[Any], Any]) -> None:
        """Keep what follows from what was said of the folder; what is kept of others stays."""
        make_folder(self._path.parent)
        with alone_in(self._path.parent):
            known = self._all()
            write_whole(self._path, strict_json.dump(known | {self._name: word(known.get(self._name))}) + b"\n")

    @property
    def _name(self) -> str:
        return str(self._folder.resolve())

    def _all(self) -> dict[str, Any]:
        try:
            found = strict_json.parse(self._path.read_bytes())
        except (HoldfastError, OSError):
            return {}
        return found if isinstance(found, dict) else {}
