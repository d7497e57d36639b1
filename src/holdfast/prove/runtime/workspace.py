"""The target's workspace as the proof sees it: a folder, or nothing at all."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

NO_EFFECT_SEEN = (
    "the target needs a tool that writes files into its workspace; "
    "with --command or --url, --workspace names that folder"
)
"""What to do where nothing of what was asked for came into the workspace."""


class Workspace:
    """Looks at files and puts some there, which it can take out again.

    Of some targets the folder is known only once they have started, so it is asked for each time.
    """

    def __init__(self, folder: Callable[[], Path | None]) -> None:
        self._ask = folder
        self._put: list[Path] = []

    @property
    def _folder(self) -> Path | None:
        return self._ask()

    @property
    def seen(self) -> bool:
        """Whether there is a folder to look at."""
        return self._folder is not None

    def seed(self, file: str, content: str) -> str:
        """Put a file there; its whole path."""
        assert self._folder is not None
        path = self._folder / file
        for folder in reversed(path.relative_to(self._folder).parents):
            made = self._folder / folder
            if not made.exists():
                made.mkdir(parents=True)
                self._put.append(made)
        path.write_text(content)
        self._put.append(path)
        return str(path)

    def count(self, file: str, line: str) -> tuple[str, int | None]:
        """A file's path and how often a line is in it; None where it cannot be read."""
        path = (self._folder or Path()) / file
        try:
            return str(path), sum(found.strip() == line for found in path.read_text(errors="replace").splitlines())
        except OSError:
            return str(path), None

    def tidy(self) -> None:
        """Remove what was put there, and the folders made for it unless something else is in them."""
        for path in reversed(self._put):
            with suppress(OSError):
                path.rmdir() if path.is_dir() else path.unlink()
        self._put.clear()
