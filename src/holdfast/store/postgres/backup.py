"""A PostgreSQL store as one file: its tables, copied in one snapshot while others write, and put back.

The file is a ZIP with `backup.json` first and a member of COPY text for each table; the last member, `manifest.json`,
has each table's rows and SHA-256, and how many sessions there are. Three things are not copied: transaction ids, which
mean nothing in another cluster, the words of events, which are indexed again, and which servers live. Tables that are
not ours are left alone. A backup is loaded into the schema that it had, and brought up to date there.
"""

import hashlib
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from holdfast.core import TimeOrderedIds, strict_json
from holdfast.core.errors import Corrupt, InvalidInput, InvalidJson, SchemaUnknown
from holdfast.store.migrations import migrate, newest, tables, version_of
from holdfast.store.postgres.connection import connect, explain
from holdfast.store.postgres.server import Connection
from holdfast.store.postgres.transaction import PostgresTx

FORMAT = "holdfast-postgres-backup"
ABOUT = "backup.json"
MANIFEST = "manifest.json"
DAMAGED = "damaged.json"
"""Only in a backup of a store with damaged sessions: which they are."""
CHUNK = 256 * 1024
LEFT_OUT = frozenset({"event_text", "servers"})
OURS = tables("postgres") - LEFT_OUT
TRANSACTION_ID = "xid"

Progress = Callable[[int, int], None]

TABLES = """
    SELECT c.relname FROM pg_catalog.pg_class c
    WHERE c.relkind = 'r' AND c.relnamespace = (
      SELECT relnamespace FROM pg_catalog.pg_class WHERE oid = 'schema_meta'::regclass)
    ORDER BY c.relname"""
IN_THE_WAY = """
    SELECT c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = current_schema() AND c.relname = ANY($1::text[]) ORDER BY c.relname LIMIT 1"""
COLUMNS = """
    SELECT a.attname, a.attidentity::text FROM pg_catalog.pg_attribute a
    WHERE a.attrelid = $1::text::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"""
SESSIONS = "SELECT count(*) FROM sessions WHERE life = 'live'"
PARENTS_FIRST = ("schema_meta", "sessions", "archives", "attachments", "memories")
AGAIN = (
    "UPDATE search_progress SET epoch = 0, major = 0, minor = 0 WHERE name IN ('events', 'event_days')",
    "DELETE FROM event_days",
)
"""What follows the order of the log, which begins anew: words and days are gone through once more."""
SET_ID = "UPDATE schema_meta SET value = $1 WHERE key = 'store_id'"


def copy(connect: Callable[[], Connection], target: Path, told: Progress) -> None:
    """Copy the store as it is now to a new or empty file, over a connection that may take its time."""
    if target.exists() and target.stat().st_size:
        raise InvalidInput(f"{target} is not empty")
    target.touch(mode=0o600)
    listed: list[dict[str, Any]] = []
    with connect() as connection, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        schema = version_of(PostgresTx(connection), "postgres")
        archive.writestr(ABOUT, strict_json.dump({"format": FORMAT, "version": 1, "schema": schema}))
        named = _tables(connection)
        for done, table in enumerate(named):
            told(done, len(named))
            columns = _columns(connection, table)
            digest, size, rows = hashlib.sha256(), 0, 0
            with (
                archive.open(f"{table}.copy", "w", force_zip64=True) as member,
                connection.cursor().copy(_copy(table, columns, "TO STDOUT")) as source,
            ):
                for block in source:
                    digest.update(block)
                    size += len(block)
                    rows += bytes(block).count(b"\n")
                    member.write(block)
            about = {"table": table, "columns": columns, "rows": rows, "size": size, "sha256": digest.hexdigest()}
            listed.append(about)
        sessions = connection.execute(SESSIONS).fetchall()[0][0]
        connection.execute("COMMIT")
        archive.writestr(MANIFEST, strict_json.dump({"tables": listed, "sessions": sessions}))
        told(len(named), len(named))


def check(path: Path, told: Progress) -> int:
    """How many sessions there are, without those that were deleted, if the file is whole; Corrupt if not."""
    with _opened(path) as archive:
        manifest = _manifest(archive)
        listed = manifest["tables"]
        for done, table in enumerate(listed):
            told(done, len(listed))
            for _ in _member(archive, table):
                pass
        return int(manifest.get("sessions", 0))


def note(path: Path, damage: str) -> None:
    """Write down inside a backup which of its sessions were damaged when it was made."""
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(DAMAGED, damage)


def noted(path: Path) -> str | None:
    """What was written down so."""
    with _opened(path) as archive:
        try:
            return archive.read(DAMAGED).decode() if DAMAGED in archive.namelist() else None
        except (zipfile.BadZipFile, zlib.error, UnicodeDecodeError, OSError) as error:
            raise Corrupt(f"the backup's {DAMAGED} cannot be read: {error}") from None


def restore(path: Path, url: str, told: Progress) -> None:
    """Put a backup into a database without a store, in one transaction, under an id of its own."""
    try:
        _restore(path, url, told)
    except psycopg.Error as error:
        raise explain(error) from error


def _restore(path: Path, url: str, told: Progress) -> None:
    with _opened(path) as archive, connect(url) as connection:
        schema = _schema(archive)
        listed = [each for each in _manifest(archive)["tables"] if each["table"] in OURS]
        listed.sort(key=lambda each: PARENTS_FIRST.index(each["table"]) if each["table"] in PARENTS_FIRST else 99)
        connection.execute("BEGIN")
        tx = PostgresTx(connection)
        _refuse_occupied(connection, tx)
        migrate(tx, "postgres", schema)
        made = _tables(connection)
        for table in ("search_progress", "schema_meta"):
            if table in made:
                connection.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(table)))
        for done, table in enumerate(listed):
            told(done, len(listed))
            _load(connection, archive, table)
        migrate(tx, "postgres")
        for statement in AGAIN:
            connection.execute(statement)
        connection.execute(SET_ID, (TimeOrderedIds()(),))
        connection.execute("COMMIT")


def _schema(archive: zipfile.ZipFile) -> int:
    """The version of the schema that a backup has; SchemaUnknown if we do not know it."""
    found = strict_json.parse(archive.read(ABOUT)).get("schema")
    if not isinstance(found, int) or not 0 < found <= newest("postgres"):
        raise SchemaUnknown(f"the backup has schema {found}, this Holdfast knows {newest('postgres')}")
    return found


def _refuse_occupied(connection: Connection, tx: PostgresTx) -> None:
    """InvalidInput if there is a store in the database, or something by the name of one of its tables."""
    if version_of(tx, "postgres"):
        raise InvalidInput("there is a store in that database already", hint="restore into an empty database")
    found = connection.execute(IN_THE_WAY, (sorted(tables("postgres")),)).fetchall()
    if found:
        raise InvalidInput(
            f"there is a {found[0][0]} in that database already, and it is not a store's",
            hint="restore into an empty database, or name another schema in the URL",
        )


def _load(connection: Connection, archive: zipfile.ZipFile, table: dict[str, Any]) -> None:
    names = _columns(connection, table["table"])
    if table["columns"] != names:
        raise Corrupt(f"the backup's table {table['table']} has other columns than it should")
    with connection.cursor().copy(_copy(table["table"], names, "FROM STDIN")) as into:
        for block in _member(archive, table):
            into.write(block)
    _continue_numbers(connection, table["table"])


def is_backup(path: Path) -> bool:
    """Whether the file is one of these."""
    try:
        with zipfile.ZipFile(path) as archive:
            return bool(strict_json.parse(archive.read(ABOUT)).get("format") == FORMAT)
    except (zipfile.BadZipFile, zlib.error, KeyError, InvalidJson, AttributeError, OSError):
        return False


def _tables(connection: Connection) -> list[str]:
    return [row[0] for row in connection.execute(TABLES) if row[0] in OURS]


def _columns(connection: Connection, table: str) -> list[str]:
    return [row[0] for row in connection.execute(COLUMNS, (table,)) if row[0] != TRANSACTION_ID]


def _copy(table: str, columns: list[str], direction: str) -> sql.Composed:
    names = sql.SQL(", ").join(sql.Identifier(name) for name in columns)
    return sql.SQL("COPY {} ({}) " + direction).format(sql.Identifier(table), names)


def _continue_numbers(connection: Connection, table: str) -> None:
    """Let a table's own numbers go on after those that came with the backup."""
    for name, identity in connection.execute(COLUMNS, (table,)).fetchall():
        if identity:
            statement = sql.SQL("SELECT setval(pg_get_serial_sequence({}, {}), max({})) FROM {} HAVING max({}) > 0")
            column = sql.Identifier(name)
            connection.execute(
                statement.format(sql.Literal(table), sql.Literal(name), column, sql.Identifier(table), column)
            )


def _opened(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError) as error:
        raise Corrupt(f"the backup cannot be read: {error}") from None


def _manifest(archive: zipfile.ZipFile) -> dict[str, Any]:
    try:
        found: dict[str, Any] = strict_json.parse(archive.read(MANIFEST))
        expected = {ABOUT, MANIFEST, *(f"{each['table']}.copy" for each in found["tables"])}
        names = [name for name in archive.namelist() if name != DAMAGED]
        if set(names) != expected or len(names) != len(expected):
            raise Corrupt("the backup's members are not those of its manifest")
        return found
    except (zipfile.BadZipFile, zlib.error, KeyError, TypeError, InvalidJson, OSError) as error:
        raise Corrupt(f"the backup's manifest cannot be read: {error}") from None


def _member(archive: zipfile.ZipFile, table: dict[str, Any]) -> Iterator[bytes]:
    digest, size = hashlib.sha256(), 0
    try:
        with archive.open(f"{table['table']}.copy") as member:
            while block := member.read(CHUNK):
                digest.update(block)
                size += len(block)
                yield block
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError) as error:
        raise Corrupt(f"the backup's table {table['table']} cannot be read: {error}") from None
    if (size, digest.hexdigest()) != (table["size"], table["sha256"]):
        raise Corrupt(f"the backup's table {table['table']} is not what was written")
