"""An interrupt that comes late, to the reader of somebody who has gone, is never the trouble of the next."""

from typing import Any

import psycopg
import pytest

from holdfast.store.engine import Tx
from holdfast.store.postgres.connection import connect
from holdfast.store.postgres.server import Connection
from holdfast.store.postgres.transaction import PostgresReader


def broken(tx: Tx) -> None:
    tx.one("SELECT 1 / 0")


def test_an_interrupt_that_meets_the_end_of_a_transaction_leaves_nothing_of_it(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = PostgresReader(lambda: connect(postgres_url, read_only=True))
    execute = Connection.execute
    met: list[str] = []

    def meet(self: Connection, query: Any, *args: Any, **options: Any) -> Any:
        if query == "ROLLBACK" and not met:
            met.append(query)
            raise psycopg.errors.QueryCanceled("canceling statement due to user request")
        return execute(self, query, *args, **options)

    monkeypatch.setattr(Connection, "execute", meet)
    try:
        with pytest.raises(psycopg.Error):
            reader.snapshot(broken, lambda: False)
        assert met
        assert reader.snapshot(lambda tx: tx.one("SELECT 2"), lambda: False) == (2,)
    finally:
        reader.close()
