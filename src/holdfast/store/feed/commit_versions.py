"""Commit versions: whether anything was committed since something was read, so that it needs not be read again.

Two equal moments have no commit between them, of whichever process: what was read at the one is what there is at the
other. SQLite tells the moment at once, before the read; PostgreSQL tells it inside the read, as the snapshot that the
read sees.
"""

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from holdfast.store.engine import Engine, Tx
from holdfast.store.lanes.shares import ReadLength
from holdfast.store.part import Workers
from holdfast.store.sessions.snapshot import StoreSnapshot

Result = TypeVar("Result")


class VersionedResult(NamedTuple, Generic[Result]):
    """What was read, which is never None, and the moment that it holds for; None if that was known already."""

    moment: str
    found: Result | None


class CommitVersions:
    """The moments of one open store, and what a tenant's sessions were at them."""

    def __init__(self, tenant: str, engine: Engine, workers: Workers) -> None:
        self._tenant = tenant
        self._engine = engine
        self._workers = workers

    def now(self) -> str | None:
        """The moment, if it can be told without waiting."""
        return self._engine.moment()

    async def reread(
        self, known: str | None, run: Callable[[StoreSnapshot], Result], length: ReadLength = ReadLength.LONG
    ) -> VersionedResult[Result]:
        """Run a read over one snapshot, unless the known moment lasts."""

        def read(tx: Tx) -> Result:
            return run(StoreSnapshot(tx, self._tenant))

        sql = self._engine.moment_sql
        if sql is None:
            now = self._engine.moment()
            assert now is not None
            # Told before the snapshot: a commit in between is seen, and has ended the moment all the same.
            return VersionedResult(now, None if now == known else await self._workers.read(read, length))

        def look(tx: Tx) -> VersionedResult[Result]:
            row = tx.one(sql)
            assert row is not None
            return VersionedResult(row[0], None if row[0] == known else read(tx))

        return await self._workers.read(look, length)
