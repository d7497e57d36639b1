"""What the proof reads of rows, as the store writes them."""

import sqlite3
from pathlib import Path

from holdfast.prove.live.proof_rows import end_of
from holdfast.store import open_store


async def test_the_archive_of_a_session_without_events_ends_where_its_log_did(tmp_path: Path) -> None:
    path = tmp_path / "holdfast.db"
    async with await open_store(f"sqlite:///{path}") as store:
        await store.keys.resolve("agent:main:a2a:cut", session_id="cut")
        await store.deletion.delete("cut")
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as probe:
            (found,) = probe.execute("SELECT last_seq, last_hash FROM archives").fetchall()
        probe.close()
    assert end_of([]) == found
