"""Which PostgreSQL server a connection has reached, and whether it may hold the store.

A cluster is named by its system identifier; a promotion or a restore to an earlier moment begins a new timeline of it.
Only a primary may be read or written: what a standby has is older, and what a former primary still takes is lost.
"""

from typing import Any, NamedTuple

import psycopg

from holdfast.core.errors import EngineRefused
from holdfast.store.engine import Seen

OLDEST_SERVER = 130000
IDENTITY = """
    SELECT (SELECT system_identifier::text FROM pg_control_system()),
      ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint"""
"""A primary's system identifier and the timeline that it writes; the control file has that only after a checkpoint."""
LOOK = """
    SELECT current_setting('server_version'), pg_is_in_recovery(), current_setting('transaction_read_only') = 'on',
      current_setting('fsync'), current_setting('full_page_writes'), current_setting('server_encoding'),
      pg_backend_pid(), (SELECT system_identifier::text FROM pg_control_system()),
      CASE WHEN pg_is_in_recovery() THEN 0
        ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint END"""
"""Columns of a `ServerReport`: one trip for all that is checked."""


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection to a store's server."""

    history = ""
    """The history of transaction ids that it sees; see `epochs`."""


class ServerIdentity(NamedTuple):
    """A cluster and its history."""

    system: str
    timeline: int


class ServerReport(NamedTuple):
    """What a server says of itself."""

    version: str
    recovering: bool
    read_only: bool
    fsync: str
    full_page_writes: str
    encoding: str
    backend: int
    system: str
    timeline: int

    @property
    def identity(self) -> ServerIdentity:
        """The cluster and its history, if it is a primary."""
        return ServerIdentity(self.system, self.timeline)


def identity(connection: Connection) -> ServerIdentity:
    """The cluster and the timeline of the primary that this connection has."""
    row = connection.execute(IDENTITY).fetchone()
    assert row is not None
    return ServerIdentity(*row)


def check_server(look: ServerReport, number: int, *, writes: bool) -> None:
    """EngineRefused if the server is no primary, or if its settings could lose what was acknowledged."""
    if number < OLDEST_SERVER:
        raise EngineRefused("PostgreSQL 13 or newer is needed", version=number)
    if look.recovering:
        raise EngineRefused(
            "the database server is a standby (it is in recovery): what it shows may be old, and it takes no writes",
            hint="use the primary's address, or name all hosts in the store URL; a standby that should be the primary "
            "is promoted with pg_ctl promote",
        )
    if look.read_only and writes:
        raise EngineRefused(
            "the database server takes no writes: default_transaction_read_only is on",
            hint="set it to off for this database and role, or use the primary's address",
        )
    for setting, value in (("fsync", look.fsync), ("full_page_writes", look.full_page_writes)):
        if value != "on":
            raise EngineRefused(
                f"the server runs with {setting}=off: a crash could lose acknowledged events",
                hint=f"set {setting}=on in postgresql.conf and restart the server",
            )
    if look.encoding != "UTF8":
        raise EngineRefused("the database's encoding is not UTF8", hint="create it WITH ENCODING 'UTF8'")


class KnownServer:
    """The newest history that this process has seen: no connection may go back behind it.

    Only a process that has seen the newer history can know it, and whoever it tells (`seen`). One that starts anew
    believes the server it finds.
    """

    def __init__(self, seen: Seen | None = None) -> None:
        self.identity = None if seen is None else ServerIdentity(*seen)

    def accept(self, found: ServerIdentity) -> None:
        """Remember it; EngineRefused if it is another cluster, or an older history of this one."""
        known = self.identity
        if known is not None and found.system != known.system:
            raise EngineRefused(
                f"the database server is another cluster (system identifier {found.system}) than before "
                f"({known.system})",
                hint="name only hosts of one cluster in the store URL; if the store was moved, restart the gateway",
            )
        if known is not None and found.timeline < known.timeline:
            raise EngineRefused(
                f"the database server is a former primary: it is on timeline {found.timeline}, "
                f"and timeline {known.timeline} was seen already",
                hint="stop that server, then bring it back as a standby of the new primary (pg_rewind)",
            )
        self.identity = found
