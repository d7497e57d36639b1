"""The copies that tests get of a migrated store are what an empty database becomes when it is opened."""

import psycopg
from tests.support.postgres import Server

from holdfast.store import open_store

COLUMNS = """
    SELECT table_name, column_name, data_type, column_default, is_nullable
    FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 2"""
INDEXES = "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1"
EPOCHS = "SELECT epoch, history FROM epochs"
PLACE = "SELECT oid = (SELECT database FROM epochs) FROM pg_database WHERE datname = current_database()"


async def test_a_copy_is_as_new_as_an_empty_database(postgres: Server) -> None:
    urls = [postgres.new_database(), postgres.new_store(), postgres.new_store()]
    ids, found = set(), []
    for url in urls:
        async with await open_store(url) as store:
            ids.add(store.store_id)
        with psycopg.connect(url) as connection:
            found.append([connection.execute(sql).fetchall() for sql in (COLUMNS, INDEXES, EPOCHS, PLACE)])
    assert len(ids) == len(urls)
    assert found[0] == found[1] == found[2]
    assert found[0][2:] == [[(1, "")], [(True,)]]
