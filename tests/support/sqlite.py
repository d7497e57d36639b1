"""A new SQLite store as a copy of a file that was migrated once.

Like its sibling in `postgres`, the copy has no id yet: whoever opens it first draws one.
"""

import tempfile
from functools import cache
from pathlib import Path

import apsw

from holdfast.core import SystemClock
from holdfast.store.sqlite import SqliteEngine
from holdfast.store.urls import sqlite_path


def make_store(url: str) -> str:
    """Put a store that nobody has opened where this URL of a SQLite file points; the URL."""
    path = sqlite_path(url)
    assert path is not None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600, exist_ok=False)
    path.write_bytes(_template())
    return url


@cache
def _template() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "template.db"
        engine = SqliteEngine(path, SystemClock(), reserve_bytes=0)
        engine.writer().close()
        engine.close()
        connection = apsw.Connection(str(path))
        connection.execute("DELETE FROM schema_meta WHERE key = 'store_id'")
        connection.close()
        return path.read_bytes()
