"""The pages of the store say what is there: every table, and every event that the store writes itself."""

import re
import runpy
from pathlib import Path

import apsw
import psycopg

from holdfast.core.event_bodies import BODIES
from holdfast.store import open_store

ROOT = Path(__file__).parents[2]
HOLDFAST = ROOT / "src" / "holdfast"
ROW = re.compile(r"^\| `(\w+)` \| (.*) \| (.*) \| (.*) \|$", re.MULTILINE)


def test_the_list_of_events_is_what_their_types_say() -> None:
    written = (ROOT / "docs" / "store.md").read_text()
    assert runpy.run_path(str(ROOT / "scripts" / "event-types"))["page"](written) == written, "run scripts/event-types"
    for kind in BODIES:
        assert f"\n| `{kind.removeprefix('holdfast.')}` |" in written, kind


async def test_every_table_is_on_the_map_and_no_other(sqlite_url: str, postgres_url: str) -> None:
    for url in (sqlite_url, postgres_url):
        await (await open_store(url)).close()
    connection = apsw.Connection(sqlite_url.removeprefix("sqlite:///"))
    tables = connection.execute("SELECT name, type FROM pragma_table_list WHERE schema = 'main'").fetchall()
    connection.close()
    on_sqlite = {name for name, kind in tables if kind in {"table", "virtual"} and not str(name).startswith("sqlite_")}
    with psycopg.connect(postgres_url) as other:
        rows = other.execute(
            "SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = current_schema()"
        ).fetchall()
    on_postgres = {name for (name,) in rows}

    said = {name: purpose for name, purpose, _, _ in ROW.findall((ROOT / "docs" / "schema.md").read_text())}
    assert set(said) == on_sqlite | on_postgres
    assert {name for name in said if said[name].startswith("SQLite only")} == on_sqlite - on_postgres
    assert {name for name in said if said[name].startswith("PostgreSQL only")} == on_postgres - on_sqlite


def test_the_modules_that_the_map_names_are_there() -> None:
    page = (ROOT / "docs" / "schema.md").read_text()
    for path in re.findall(r"`([a-z_]+/[a-z_/]*(?:\.py)?)`", page):
        assert any((base / path).exists() for base in (ROOT, HOLDFAST, HOLDFAST / "store")), path
