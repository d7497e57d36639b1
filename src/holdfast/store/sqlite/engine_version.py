"""Which SQLite versions may hold the store.

From 3.7.0 to 3.51.2 two checkpointers in different processes can drop committed rows from the write-ahead log,
with no crash involved. The fix was ported back to 3.50.7 and 3.44.6.
"""

import apsw

from holdfast.core.errors import EngineRefused

FIXED = (3, 51, 3)
BACKPORTS = {(3, 50): 7, (3, 44): 6}


def check_engine(version: str) -> str:
    """The version itself, or EngineRefused."""
    major, minor, patch = (int(part) for part in version.split(".")[:3])
    backport = BACKPORTS.get((major, minor))
    if (major, minor, patch) >= FIXED or (backport is not None and patch >= backport):
        return version
    raise EngineRefused(
        f"SQLite {version} can lose acknowledged rows (the WAL-reset bug, 3.7.0 to 3.51.2)",
        hint="install the apsw wheel, which brings its own SQLite: pip install 'apsw>=3.51.3'",
        version=version,
    )


def linked_version() -> str:
    """The version of the SQLite library that this process really runs."""
    return str(apsw.sqlite_lib_version())
