"""The next version of Holdfast: this one with one more migration, in a folder of its own.

All that does not differ is a link to this version, so nothing is compiled again.
"""

from pathlib import Path

import holdfast
from holdfast.store.migrations import newest

CHANGE = "ALTER TABLE sessions ADD COLUMN colour text NOT NULL DEFAULT 'blue';"


def next_version(folder: Path, engine: str) -> int:
    """Put the package into the folder, to be the first on the path of whoever is to run it; its schema's number."""
    package, number = Path(holdfast.__file__).parent, newest(engine) + 1
    migrations = _beside(package, folder / "holdfast", "store", engine, "migrations")
    (migrations / f"{number:04d}_colours.sql").write_text(CHANGE)
    return number


def _beside(original: Path, copy: Path, *way: str) -> Path:
    """A folder of links to what is in the original, and such folders along the way; the last of them."""
    copy.mkdir(parents=True)
    for entry in original.iterdir():
        if not way or entry.name != way[0]:
            (copy / entry.name).symlink_to(entry)
    return _beside(original / way[0], copy / way[0], *way[1:]) if way else copy
