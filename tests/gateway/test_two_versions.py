"""Two versions of Holdfast on one PostgreSQL: the older one notices that the schema is newer, and writes nothing more.

The newer version is that of tests/support/next_version.py, run as a process of its own.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import psycopg
import pytest
from tests.gateway.process import PATIENCE, Running, running
from tests.gateway.test_problems import check
from tests.support.next_version import CHANGE, next_version
from tests.support.web import web_client

from holdfast.core.errors import SchemaNewer, SchemaUnknown
from holdfast.store import NewEvent, StoreTuning, open_store
from holdfast.store.migrations import newest

NEXT = newest("postgres") + 1


@contextmanager
def newer_version(folder: Path) -> Iterator[None]:
    """Gateways that are started here are of the next version."""
    assert next_version(folder, "postgres") == NEXT
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


def change_schema(url: str) -> None:
    """What a newer version does when it starts."""
    with psycopg.connect(url) as connection:
        connection.execute(CHANGE.encode())
        connection.execute("UPDATE schema_meta SET value = %s WHERE key = 'version'", (str(NEXT),))


async def test_a_store_under_which_the_schema_became_newer_writes_nothing_more(postgres_url: str) -> None:
    async with await open_store(postgres_url) as store:
        await store.append("s", [NewEvent("n", {})])
        change_schema(postgres_url)
        deadline = time.monotonic() + PATIENCE
        with pytest.raises(SchemaNewer) as refused:
            while time.monotonic() < deadline:
                await store.append("s", [NewEvent("n", {})])
        assert (refused.value.details["found"], refused.value.status) == (NEXT, 503)
        kept = len(await store.read("s"))
        for number in range(8):
            with pytest.raises(SchemaNewer):
                await store.append(f"other-{number}", [NewEvent("n", {})])
        assert len(await store.read("s")) == kept
        assert store.failure is not None
    with pytest.raises(SchemaUnknown):
        await open_store(postgres_url)


async def test_a_connection_that_is_made_again_looks_before_it_writes(postgres_url: str) -> None:
    async with await open_store(postgres_url, tuning=StoreTuning(schema_look_seconds=3600.0)) as store:
        await store.append("s", [NewEvent("n", {})])
        change_schema(postgres_url)
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        with pytest.raises(SchemaNewer):
            await store.append("s", [NewEvent("n", {})])


@pytest.mark.long
def test_the_newer_gateway_takes_over_from_the_older_one(postgres_url: str, tmp_path: Path) -> None:
    with (
        running(tmp_path / "old", "--store", postgres_url) as old,
        web_client() as client,
    ):
        assert write(client, old, 1).status_code == 201
        with newer_version(tmp_path / "next"), running(tmp_path / "new", "--store", postgres_url, as_child=True) as new:
            number, answered = 2, write(client, old, 2)
            while answered.status_code == 201 and number < 10_000:  # until it has noticed: a second at the most
                number += 1
                answered = write(client, old, number)
            assert (answered.status_code, check(answered)["code"]) == (503, "schema_newer")
            assert "newer version" in answered.json()["hint"]
            ready = client.get(f"{old.url}/readyz")
            assert (ready.status_code, check(ready)["code"]) == (503, "schema_newer")
            assert client.get(f"{old.url}/health").status_code == 200
            assert client.get(f"{new.url}/readyz").json()["schemaVersion"] == NEXT
            assert write(client, new, number).json()["seq"] == number
            found = client.get(f"{new.url}/api/actions/s?limit=1000").json()["actions"]
            assert [entry["details"]["n"] for entry in found] == list(range(1, number + 1))
            verified = client.post(f"{new.url}/api/verify", json={"sessions": ["s"]}).text
            assert '"bad": 0' in verified or '"bad":0' in verified


def write(client: httpx2.Client, gateway: Running, number: int) -> httpx2.Response:
    body = {"type": "n", "details": {"n": number}, "idempotencyKey": f"k{number}"}
    return client.post(f"{gateway.url}/api/actions/s", json=body)
