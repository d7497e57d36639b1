"""Epochs: how far the transaction ids of a store can be compared.

Feeds and the index go by transaction ids, which only one history of one cluster gives out in order. A promotion, a
restore to an earlier moment and pg_dump into another database each lead to another history, in which ids that were
seen already are given to other events. So each connection compares where it is with where the newest epoch began,
before anything else is done with it. If that differs, it begins a new epoch, while nobody writes. After a crash or a
restart the history is the same, and so is the epoch.
"""

from collections.abc import Callable
from typing import NamedTuple

from holdfast.core import IdSource
from holdfast.store.postgres.connection import lock_number
from holdfast.store.postgres.server import Connection, identity

LOCK = lock_number("epoch")
LOOK = """
    SELECT d.oid::bigint, 'transcript_events'::regclass::oid::bigint,
      coalesce(greatest(e.epoch, (SELECT max(epoch) FROM transcript_events), w.epoch), 0), w.epoch = e.epoch,
      e.history, e.system, e.timeline, e.database, e.relation,
      EXISTS (
        SELECT 1 FROM transcript_events
        WHERE epoch = newest_epoch() AND xid >= pg_snapshot_xmax(pg_current_snapshot()))
    FROM pg_database d CROSS JOIN (SELECT pg_sequence_last_value('epoch_number'::regclass) AS epoch) w
    LEFT JOIN (SELECT * FROM epochs ORDER BY epoch DESC LIMIT 1) e ON true
    WHERE d.datname = current_database()"""
BEGIN = """
    INSERT INTO epochs (epoch, history, system, timeline, database, relation, created_at)
    VALUES ($1, $2, $3, $4, $5, $6, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)"""


class HistoryPlace(NamedTuple):
    """Where a history of transaction ids is: a cluster and its timeline, a database and its table of events."""

    system: str
    timeline: int
    database: int
    relation: int


class EpochReport(NamedTuple):
    """Where a connection is, and the newest epoch: its history and place are None before one was begun."""

    here: HistoryPlace
    epoch: int
    written: bool
    """Whether what is written now belongs to it."""
    history: str | None
    place: HistoryPlace
    ahead: bool
    """Whether that epoch has events with ids that this server has not given out yet."""

    @property
    def is_known(self) -> bool:
        """Whether the newest epoch goes on here."""
        return self.place == self.here and self.written and not self.ahead


class Epochs:
    """Tells each connection of one open store its history."""

    def __init__(self, ids: IdSource, *, read_only: bool = False) -> None:
        self._ids = ids
        self._read_only = read_only

    def enter(self, connection: Connection) -> Connection:
        """The connection, which now knows its history; in a new place, an epoch begins."""
        found = _look(connection)
        known = found.is_known or self._read_only
        connection.history = (found.history or "") if known else self._begin(connection)
        return connection

    def entering(self, connect: Callable[[], Connection]) -> Callable[[], Connection]:
        """How to connect so that the connection knows its history."""

        def enter() -> Connection:
            connection = connect()
            try:
                return self.enter(connection)
            except BaseException:
                connection.close()
                raise

        return enter

    def _begin(self, connection: Connection) -> str:
        with connection.transaction():
            connection.execute("SET TRANSACTION READ WRITE")
            connection.execute("SET LOCAL statement_timeout = 0")
            connection.execute("SELECT pg_advisory_xact_lock($1)", (LOCK,))
            found = _look(connection)
            if found.is_known:
                return found.history or ""  # another process was first
            connection.execute("LOCK TABLE transcript_events IN SHARE ROW EXCLUSIVE MODE")
            first = found.history is None and found.epoch <= 1 and not found.ahead
            history = "" if first else f"-{self._ids()}"
            number = 1 if first else found.epoch + 1
            connection.execute(BEGIN, (number, history, *found.here))
            connection.execute("SELECT setval('epoch_number', $1)", (number,))
            return history


def _look(connection: Connection) -> EpochReport:
    server = identity(connection)
    row = connection.execute(LOOK).fetchone()
    assert row is not None
    database, relation, epoch, written, history, *place, ahead = row
    return EpochReport(
        HistoryPlace(*server, database, relation), epoch, bool(written), history, HistoryPlace(*place), ahead
    )
