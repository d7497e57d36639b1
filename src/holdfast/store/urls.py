"""From a store's URL to its engine. Each engine's driver is imported only when it is asked for."""

from importlib.util import find_spec

from holdfast.core import Clock
from holdfast.core.errors import InvalidInput, MissingExtra
from holdfast.core.store_file import HINT, Claim, sqlite_path
from holdfast.store.engine import Engine, Seen
from holdfast.store.tuning import DEFAULT_TUNING, StoreTuning


def open_engine(
    url: str,
    clock: Clock,
    *,
    read_only: bool = False,
    claim: Claim | None = None,
    seen: Seen | None = None,
    tuning: StoreTuning = DEFAULT_TUNING,
) -> Engine:
    """The engine behind a URL, open and migrated; read-only: never changes anything; with a claim, a SQLite file's
    only server; never a database server of an older history than the one `seen`."""
    path = sqlite_path(url)
    if path is not None:
        from holdfast.store.sqlite import SqliteEngine

        return SqliteEngine(path, clock, read_only=read_only, claim=claim, tuning=tuning)
    if url.startswith(("postgresql://", "postgres://")):
        if find_spec("psycopg") is None:
            raise MissingExtra("a PostgreSQL store needs psycopg", hint="pip install 'holdfast[postgres]'")
        from holdfast.store.postgres import PostgresEngine

        return PostgresEngine(url, clock, read_only=read_only, seen=seen, tuning=tuning)
    raise InvalidInput(f"{url!r:.80} is not a store's URL", hint=HINT)
