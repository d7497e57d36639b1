"""The SQLite engine: one file, one lane, write-ahead log, every commit synced."""

from holdfast.store.sqlite.engine import SqliteEngine

__all__ = ["SqliteEngine"]
