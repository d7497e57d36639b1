"""A session made long at once: rows put into the database directly, sealed as the store seals them."""

import sqlite3
from collections.abc import Iterator
from itertools import islice

import psycopg

from holdfast.core.chain import seal

TYPE, PAYLOAD, AT = "note", b"{}", 1_700_000_000_000
EVENT = "session_no, seq, created_at, event_id, hash, payload"
IDENTITY = "session_no, seq, event_id, type"
HEAD = "SELECT session_no, head_seq, head_hash, updated_at FROM sessions WHERE session_id = '{}'"
ADVANCE = """
    UPDATE sessions SET head_seq = {seq}, head_hash = {mark}, size_bytes = size_bytes + {size}
    WHERE session_no = {session_no}"""

Rows = Iterator[tuple[tuple[object, ...], tuple[object, ...]]]


class _Notes:
    """So many notes after a head, as rows, and the hash of the last one."""

    def __init__(self, session_no: int, seq: int, hash_: bytes, count: int) -> None:
        self.session_no, self.seq, self.hash, self.count = session_no, seq, hash_, count

    def __iter__(self) -> Rows:
        for _ in range(self.count):
            self.seq += 1
            event_id = f"note-{self.session_no}-{self.seq:08}"
            self.hash = seal(self.hash, self.seq, event_id, TYPE, None, AT, PAYLOAD)
            event = (self.session_no, self.seq, AT, event_id, self.hash, PAYLOAD)
            yield event, (self.session_no, self.seq, event_id, TYPE)


def lengthen(url: str, session_id: str, count: int) -> None:
    """Add so many notes to a session that nobody has open."""
    if url.startswith("sqlite:///"):
        _lengthen_file(url.removeprefix("sqlite:///"), session_id, count)
    else:
        _lengthen_database(url, session_id, count)


def _lengthen_file(path: str, session_id: str, count: int) -> None:
    with sqlite3.connect(path) as database:
        session_no, seq, hash_, _ = database.execute(HEAD.format(session_id)).fetchone()
        notes = _Notes(session_no, seq, hash_, count)
        rows = iter(notes)
        while part := list(islice(rows, 50_000)):
            database.executemany(
                f"INSERT INTO transcript_events ({EVENT}) VALUES (?, ?, ?, ?, ?, ?)", [event for event, _ in part]
            )
            database.executemany(
                f"INSERT INTO transcript_event_identities ({IDENTITY}) VALUES (?, ?, ?, ?)",
                [identity for _, identity in part],
            )
        size = count * len(PAYLOAD)
        advance = ADVANCE.format(seq=notes.seq, mark="?", size=size, session_no=session_no)
        database.execute(advance, (notes.hash,))
    database.close()


def _lengthen_database(url: str, session_id: str, count: int) -> None:
    with psycopg.connect(url) as database:
        found = database.execute(HEAD.format(session_id)).fetchone()
        assert found is not None
        notes = _Notes(found[0], found[1], found[2], count)
        rows = iter(notes)
        while part := list(islice(rows, 50_000)):
            for table, columns, values in (
                ("transcript_events", EVENT, [event for event, _ in part]),
                ("transcript_event_identities", IDENTITY, [identity for _, identity in part]),
            ):
                with database.cursor().copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
                    for row in values:
                        copy.write_row(row)
        size = count * len(PAYLOAD)
        advance = ADVANCE.format(seq=notes.seq, mark="%s", size=size, session_no=found[0])
        database.execute(advance, (notes.hash,))
