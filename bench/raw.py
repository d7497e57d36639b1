"""The yardstick: one row per commit into one table, with the store's file settings and nothing else."""

import tempfile
import time
from pathlib import Path

import apsw

from bench.material import payload

WARM_UP = 50


def commits_per_second(folder: Path, seconds: float) -> float:
    """How many commits of one payload a plain loop makes."""
    row = (payload(),)
    with tempfile.TemporaryDirectory(dir=folder) as place:
        connection = apsw.Connection(f"{place}/raw.db")
        connection.pragma("journal_mode", "wal")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("CREATE TABLE rows (number INTEGER PRIMARY KEY, payload BLOB NOT NULL) STRICT")
        insert = connection.cursor().execute
        for _ in range(WARM_UP):
            insert("INSERT INTO rows (payload) VALUES (?1)", row)
        count = 0
        start = now = time.perf_counter()
        while now - start < seconds:
            insert("INSERT INTO rows (payload) VALUES (?1)", row)
            count += 1
            now = time.perf_counter()
        connection.close()
    return count / (now - start)
