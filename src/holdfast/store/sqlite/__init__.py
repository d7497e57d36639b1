"""The SQLite engine: one file, one lane, write-ahead log, every commit synced.

What each method promises is said in `store.engine`; here it is said what is particular to SQLite.
"""

from holdfast.store.sqlite.engine import SqliteEngine

__all__ = ["SqliteEngine"]
