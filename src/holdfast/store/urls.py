"""From a store's URL to its engine. Each engine's driver is imported only when it is asked for."""

from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote

from holdfast.core import Clock
from holdfast.core.errors import InvalidInput, MissingExtra
from holdfast.store.engine import Engine, Seen
from holdfast.store.lock import Claim

HINT = "sqlite:///relative/path.db, sqlite:////absolute/path.db or postgresql://user@host/database"


def sqlite_path(url: str) -> Path | None:
    """The file behind a SQLite URL; None if the URL is another engine's, InvalidInput if SQLite has no such names."""
    if not url.startswith("sqlite:///") or len(url) == len("sqlite:///") or "?" in url:
        return None
    name = unquote(url.removeprefix("sqlite:///"), errors="surrogateescape")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{name!r:.200} is not a name in UTF-8", hint="rename the file or the folder") from None
    if "\0" in name:
        raise InvalidInput(f"{name!r:.200} is not the name of a file", hint=HINT)
    return Path(name)


def open_engine(
    url: str, clock: Clock, *, read_only: bool = False, claim: Claim | None = None, seen: Seen | None = None
) -> Engine:
    """The engine behind a URL, open and migrated; read-only: never changes anything; with a claim, a SQLite file's
    only server; never a database server of an older history than the one `seen`."""
    path = sqlite_path(url)
    if path is not None:
        from holdfast.store.sqlite import SqliteEngine

        return SqliteEngine(path, clock, read_only=read_only, claim=claim)
    if url.startswith(("postgresql://", "postgres://")):
        if find_spec("psycopg") is None:
            raise MissingExtra("a PostgreSQL store needs psycopg", hint="pip install 'holdfast[postgres]'")
        from holdfast.store.postgres import PostgresEngine

        return PostgresEngine(url, clock, read_only=read_only, seen=seen)
    raise InvalidInput(f"{url!r:.80} is not a store's URL", hint=HINT)
