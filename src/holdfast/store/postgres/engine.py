"""A PostgreSQL database as an Engine."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from holdfast.core import Clock, HoldfastError, TimeOrderedIds
from holdfast.core.errors import SchemaNewer, StoreUnavailable
from holdfast.store.engine import FeedOrder, Reader, Seen, Writer
from holdfast.store.lanes.chores import Chore, chore_of
from holdfast.store.migrations import migrate, newest, read_only_meta, version_of
from holdfast.store.postgres import backup
from holdfast.store.postgres.connection import explain, lock_number, without_password
from holdfast.store.postgres.database import PostgresDatabase, ServerRefused
from holdfast.store.postgres.epochs import Epochs
from holdfast.store.postgres.frozen_clients import end_frozen_step
from holdfast.store.postgres.notices import CHANNEL, SCHEMA, Notices
from holdfast.store.postgres.server import Connection
from holdfast.store.postgres.text import TEXT
from holdfast.store.postgres.transaction import PostgresReader, PostgresTx, PostgresWriter
from holdfast.store.tuning import DEFAULT_TUNING, StoreTuning

log = logging.getLogger("holdfast.store")

MIGRATE_LOCK = lock_number("migrate")
MIGRATE_WAIT = "15min"
"""For another gateway that migrates, and for whoever reads the tables meanwhile, such as a backup."""
FIGURES = """
    SELECT pg_database_size(current_database()), coalesce((
      SELECT max(extract(epoch FROM clock_timestamp() - since))::float8 FROM (
        SELECT xact_start FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND pid <> pg_backend_pid()
        UNION ALL SELECT prepared FROM pg_prepared_xacts) open (since)), 0)"""


class PostgresEngine:
    """One PostgreSQL database, migrated; every gateway on it has its own.

    To open it shows that the server is there and good enough. Its writers and readers connect when they are first used.
    """

    name = "postgresql"
    lanes = 4
    feed_order = FeedOrder(
        cursor="e.xid::text::bigint, e.pos",
        after="""e.epoch = newest_epoch() AND (e.xid, e.pos) > (?1::text::xid8, ?2)
          AND e.xid < pg_snapshot_xmin(pg_current_snapshot())""",
        order="e.xid, e.pos",
        end="""SELECT e.xid::text::bigint, e.pos FROM transcript_events e
          WHERE e.epoch = newest_epoch() AND e.xid < pg_snapshot_xmin(pg_current_snapshot())
          ORDER BY e.xid DESC, e.pos DESC LIMIT 1""",
        ahead="SELECT ?1::text::xid8 >= pg_snapshot_xmax(pg_current_snapshot()) OR ?2 < 0",
        heads="""
          SELECT pg_current_snapshot()::text, s.tenant, s.session_id, e.seq
          FROM (SELECT 1) one LEFT JOIN (
            SELECT session_no, max(seq) AS seq FROM (
                (SELECT session_no, seq FROM transcript_events
                WHERE epoch = newest_epoch() AND xid >= pg_snapshot_xmax(?1::text::pg_snapshot)
                ORDER BY xid DESC, pos DESC LIMIT 10000)
              UNION ALL
                SELECT session_no, seq FROM transcript_events
                WHERE epoch = newest_epoch() AND xid = ANY (ARRAY(SELECT pg_snapshot_xip(?1::text::pg_snapshot)))) e
            GROUP BY session_no) e ON true
          LEFT JOIN LATERAL (
            SELECT tenant, session_id FROM sessions WHERE session_no = e.session_no OFFSET 0) s ON true""",
    )
    moment_sql: str | None = "SELECT pg_current_snapshot()::text || ' ' || pg_postmaster_start_time()::text"
    text = TEXT

    def __init__(
        self,
        url: str,
        clock: Clock,
        *,
        read_only: bool = False,
        seen: Seen | None = None,
        tuning: StoreTuning = DEFAULT_TUNING,
    ) -> None:
        self.url = without_password(url)
        self.chores: tuple[Chore, ...] = (chore_of(end_frozen_step, tuning),)  # the server's vacuum looks after files
        self._tuning = tuning
        self._read_only = read_only
        ids = TimeOrderedIds(clock)
        self._database = PostgresDatabase(url, seen, tuning)
        self._schema = newest("postgres")
        self._refusal: HoldfastError | None = None
        self._notices = Notices(self._connect_to_write, ids(), self._look_at_schema, tuning)
        self._epochs = Epochs(ids, read_only=read_only)
        self._figures: PostgresReader | None = None
        self._asking = threading.Lock()
        with _told(), self._database.connect(read_only=read_only, patient=True) as connection:
            self.version = (connection.info.parameter_status("server_version") or "").split()[0]
            tx = PostgresTx(connection)
            with connection.transaction():
                if read_only:
                    self.store_id = read_only_meta(tx, "postgres")
                else:
                    connection.execute(f"SET LOCAL lock_timeout = '{MIGRATE_WAIT}'")
                    connection.execute("SELECT pg_advisory_xact_lock($1)", (MIGRATE_LOCK,))
                    before = version_of(tx, "postgres")
                    self.store_id = migrate(tx, "postgres")
                    if before < self._schema:
                        connection.execute("SELECT pg_notify($1, $2)", (CHANNEL, SCHEMA))
            self._epochs.enter(connection)

    def writer(self) -> Writer:
        if self._read_only:
            raise StoreUnavailable("the store was opened read-only")
        return PostgresWriter(self._epochs.entering(self._connect_to_write), lambda: self._refusal, self._tuning)

    def reader(self) -> Reader:
        return PostgresReader(self._epochs.entering(lambda: self._database.connect(read_only=True)), self._tuning)

    def _connect_to_write(self) -> Connection:
        connection = self._database.connect()
        try:
            self._look_at_schema(connection)
        except psycopg.Error:
            connection.close()
            raise
        return connection

    def _look_at_schema(self, connection: Connection) -> None:
        """Once a newer Holdfast has changed the schema, refuse every write from then on."""
        found = version_of(PostgresTx(connection), "postgres")
        if found > self._schema and self._refusal is None:
            self._refusal = SchemaNewer(
                f"a newer Holdfast has brought the store to schema {found}, this one knows {self._schema}",
                found=found,
                known=self._schema,
            )
            log.critical("the store stops acknowledging: %s", self._refusal)

    def moment(self) -> str | None:
        """Only the server can tell."""
        return None

    def announce(self) -> None:
        self._notices.announce()

    def listen(self, heard: Callable[[], None]) -> None:
        self._notices.listen(heard)

    def check(self, within: float | None = None) -> list[str]:
        """The server looks after its own files; its checksums raise when a page is read."""
        return []

    def copy_to(self, path: Path, told: Callable[[int, int], None]) -> None:
        """Copy the store, as it is at one moment, to a new file."""
        try:
            backup.copy(lambda: self._database.connect(patient=True), path, told)
        except psycopg.Error as error:
            raise explain(error) from error

    def seen(self) -> Seen | None:
        """The system identifier and the timeline of the newest primary."""
        return self._database.seen

    def figures(self) -> dict[str, Any]:
        """The size, and for how long the oldest transaction that writes, open or prepared, has held the feed."""
        try:
            with self._asking:
                if self._figures is None:
                    self._figures = PostgresReader(lambda: self._database.connect(read_only=True), self._tuning)
                size, held = self._figures.snapshot(lambda tx: tx.one(FIGURES), lambda: False)
        except psycopg.Error as error:
            raise explain(error, self._tuning) from error
        return {"sizeBytes": size, "feedHeldSeconds": held}

    def let_go(self) -> None:
        """Wait for the database no longer: every connection ends, and whoever waits on one gets an error."""
        self._database.let_go()

    def close(self) -> None:
        """End what is left; the writers and readers are closed already."""
        self._database.let_go()
        self._notices.close()
        if self._figures is not None:
            self._figures.close()


@contextmanager
def _told() -> Iterator[None]:
    """Errors in our words, for one who opens the store: a server that must not hold it is refused for good."""
    try:
        yield
    except ServerRefused as error:
        raise error.refusal from None
    except psycopg.Error as error:
        raise explain(error) from error
