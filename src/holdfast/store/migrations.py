"""Numbered, forward-only changes of the schema: `<engine>/migrations/NNNN_name.sql`, each run once, in order.

The version reached is in `schema_meta`, with the id that names this store: cursors carry it, so that one store's
cursor is never read by another.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from importlib import resources

import msgspec

from holdfast.core import TimeOrderedIds, strict_json, types
from holdfast.core.errors import SchemaUnknown
from holdfast.core.event_bodies import SessionCreated, decode
from holdfast.store.engine import Tx
from holdfast.store.log.projection import SessionFacts, created
from holdfast.store.log.rows import put_tags
from holdfast.store.sql_script import statements

EXISTS = {
    "sqlite": "SELECT count(*) FROM sqlite_schema WHERE name = 'schema_meta'",
    "postgres": """
        SELECT count(*) FROM pg_catalog.pg_class
        WHERE relname = 'schema_meta' AND pg_catalog.pg_table_is_visible(oid)""",
}
GET = "SELECT value FROM schema_meta WHERE key = ?1"
CREATIONS = """
    SELECT s.session_no, s.tenant, e.payload FROM sessions s
    JOIN transcript_event_identities i ON i.session_no = s.session_no AND i.idempotency_key = ?1
    JOIN transcript_events e ON e.session_no = i.session_no AND e.seq = i.seq
    WHERE s.session_no > ?2 ORDER BY s.session_no LIMIT 500"""
DESCRIBE = """
    UPDATE sessions SET agent = ?2, user_id = ?3, status = ?4, held = ?5, document = ?6 WHERE session_no = ?1"""
"""As the schema was then."""
CREATE_TABLE = re.compile(r"^CREATE TABLE (\w+)", re.MULTILINE)
PUT = "INSERT INTO schema_meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value"


@cache
def scripts(engine: str) -> tuple[tuple[int, str], ...]:
    """The engine's migrations as (number, SQL), in order."""
    folder = resources.files("holdfast.store") / engine / "migrations"
    named = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return tuple((int(name.split("_")[0]), (folder / name).read_text("utf-8")) for name in named)


@cache
def steps(engine: str) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """The engine's migrations as (number, statements), in order."""
    return tuple((number, tuple(statements(script, engine))) for number, script in scripts(engine))


def newest(engine: str) -> int:
    """The number of the newest migration that we know."""
    return scripts(engine)[-1][0]


def tables(engine: str) -> frozenset[str]:
    """The names of all our tables: what else is in the database is somebody else's."""
    return frozenset(name for _, script in scripts(engine) for name in CREATE_TABLE.findall(script))


def migrate(tx: Tx, engine: str, until: int | None = None) -> str:
    """Bring the schema up to date, or up to an older version, inside the open transaction; the store's id."""
    found = version_of(tx, engine)
    known = newest(engine)
    refuse_newer(found, known)
    for number, changes in steps(engine) if found < known else ():
        if found < number <= (until or known):
            for statement in changes:
                tx.run(statement)
            if number in AFTER_SCRIPT:
                AFTER_SCRIPT[number](tx)
            tx.run(PUT, "version", str(number))
    row = tx.one(GET, "store_id")
    if row is not None:
        return str(row[0])
    store_id = TimeOrderedIds()()
    tx.run(PUT, "store_id", store_id)
    return store_id


def describe_again(tx: Tx) -> None:
    """Derive the sessions' rows again from how they were created: the first schema kept their tags nowhere else."""
    last = 0
    while rows := tx.all(CREATIONS, types.SESSION_CREATED, last):
        for last, tenant, payload in rows:
            with suppress(msgspec.ValidationError):  # not of our making: its row stays as the first schema had it
                facts = created(SessionFacts(), decode(SessionCreated, payload))
                document = strict_json.dump(dict(facts.document))
                tx.run(DESCRIBE, last, facts.agent, facts.user_id, facts.status, int(facts.held), document)
                put_tags(tx, tenant, last, facts)


def read_only_meta(tx: Tx, engine: str) -> str:
    """The store's id, or SchemaUnknown if its schema is not exactly ours."""
    found = version_of(tx, engine)
    refuse_newer(found, newest(engine))
    if found < newest(engine):
        raise SchemaUnknown(
            f"the store has schema {found}, this Holdfast needs {newest(engine)}",
            hint="holdfast db migrate brings it up to date; a gateway does so when it starts",
        )
    row = tx.one(GET, "store_id")
    if row is None:
        raise SchemaUnknown("the store has no id")
    return str(row[0])


def version_of(tx: Tx, engine: str) -> int:
    """The number of the last migration that was run; 0 for an empty database."""
    there = tx.one(EXISTS[engine])
    if there is None or not there[0]:
        return 0
    row = tx.one(GET, "version")
    return int(row[0]) if row is not None else 0


def refuse_newer(found: int, known: int) -> None:
    """SchemaUnknown if a newer Holdfast has been here."""
    if found > known:
        raise SchemaUnknown(f"the store has schema {found}, this Holdfast knows {known}", found=found, known=known)


AFTER_SCRIPT: Mapping[int, Callable[[Tx], None]] = {2: describe_again}
"""What SQL cannot say: run in the transaction of the migration of this number, after its script."""
