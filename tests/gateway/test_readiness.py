"""`/readyz` tries a read and a durable write, says why one does not work, and costs the store next to nothing."""

import asyncio
import time
from pathlib import Path

import apsw
import httpx2
import pytest
from tests.gateway.process import PATIENCE, running
from tests.gateway.test_problems import check
from tests.support.disks import small_disk
from tests.support.web import web_client

from holdfast.gateway.app import create_app
from holdfast.gateway.gateway import Gateway
from holdfast.gateway.operations.readiness import Readiness
from holdfast.store import NewEvent, Store, open_store


def commits(store: Store) -> int:
    return store.commits


async def test_it_says_all_that_an_operator_needs(client: httpx2.AsyncClient) -> None:
    answer = (await client.get("/readyz")).json()
    assert (answer["status"], answer["storage"]["engine"]) == ("ready", "sqlite")
    assert (answer["schemaVersion"] >= 4, answer["feedLagSeconds"]) == (True, 0)
    figures = answer["figures"]
    assert figures["sizeBytes"] > 0
    assert (figures["walSizeBytes"] >= 0, figures["diskFreeBytes"] > 0, figures["shortOfRoom"]) == (True, True, False)
    assert "path" not in figures


async def test_it_writes_for_real_and_however_many_ask_only_once_a_second(
    client: httpx2.AsyncClient, store: Store
) -> None:
    before, began = commits(store), time.monotonic()
    answers = await asyncio.gather(*(client.get("/readyz") for _ in range(300)))
    seconds = int(time.monotonic() - began)
    assert {answer.status_code for answer in answers} == {200}
    assert before + 1 <= commits(store) <= before + 1 + seconds


async def test_a_write_that_somebody_made_is_proof_enough(client: httpx2.AsyncClient, store: Store) -> None:
    await store.append("s", [NewEvent("n", {})])
    before = commits(store)
    assert (await client.get("/readyz")).status_code == 200
    assert commits(store) == before


async def test_asking_makes_nothing_grow(store: Store) -> None:
    for _ in range(20):
        await store.check_writable()
    assert await store.sessions.workers.read(lambda tx: tx.one("SELECT count(*) FROM holders")) == (1,)
    assert (await store.feed.now()).endswith(".0.0")


async def test_a_store_that_another_process_has_locked_is_not_ready(store: Store, tmp_path: Path) -> None:
    gateway = Gateway(store)
    gateway.readiness = Readiness(store, None, lambda: None, answer_seconds=0.2)
    transport = httpx2.ASGITransport(create_app(store, gateway=gateway))
    other = apsw.Connection(str(tmp_path / "holdfast.db"))
    other.set_busy_timeout(int(PATIENCE * 1000))
    other.execute("BEGIN IMMEDIATE")
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost", trust_env=False) as client:
        answer = await client.get("/readyz")
        assert (answer.status_code, check(answer)["code"]) == (503, "store_unavailable")
        assert answer.headers["retry-after"] == "1"
        other.execute("ROLLBACK")
        other.close()
        await until_ready(client)


async def until_ready(client: httpx2.AsyncClient) -> None:
    async with asyncio.timeout(PATIENCE):
        while (await client.get("/readyz")).status_code != 200:
            await asyncio.sleep(0.05)


async def test_a_store_that_no_longer_acknowledges_is_not_ready(
    client: httpx2.AsyncClient, store: Store, tmp_path: Path
) -> None:
    """The write-ahead log is replaced under the gateway: what it writes would not be where others look."""
    await store.append("s", [NewEvent("n", {})])
    wal = tmp_path / "holdfast.db-wal"
    wal.rename(tmp_path / "elsewhere")
    wal.write_bytes(b"")
    assert (await client.post("/api/actions/s", json={"type": "n"})).status_code == 503
    answer = await client.get("/readyz")
    assert (answer.status_code, check(answer)["code"]) == (503, "store_failed")
    assert check(answer)["hint"]


async def test_a_store_that_is_only_read_is_ready_when_it_can_be_read(sqlite_url: str) -> None:
    async with await open_store(sqlite_url):
        pass
    async with await open_store(sqlite_url, read_only=True) as store:
        figures = await Readiness(store, None, lambda: None).look()
    assert figures["sizeBytes"] > 0


def test_a_full_disk_is_not_ready_and_says_so_and_is_ready_again_with_room(tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    with (
        small_disk(folder, 40) as disk,
        running(tmp_path / "data", "--store", f"sqlite:///{disk}/holdfast.db") as gateway,
        web_client(base_url=gateway.url) as client,
    ):
        assert client.get("/readyz").json()["figures"]["diskFreeBytes"] < 40 * 1024 * 1024
        assert client.post("/api/actions/s", json={"type": "n"}).status_code == 201
        (disk / "ballast").write_bytes(bytes(1024))
        with (disk / "ballast").open("ab", buffering=0) as ballast, pytest.raises(OSError, match="No space"):
            while True:
                ballast.write(bytes(1024 * 1024))
        body = {"type": "n", "details": {"text": "x" * 100_000}}
        while client.post("/api/actions/s", json=body).status_code == 201:
            pass
        answer = until(client, 503)
        assert (check(answer)["code"], answer.json()["reason"]) == ("not_ready", "storage_full")
        assert "room" in answer.json()["detail"]
        assert client.get("/api/sessions/s").status_code == 200
        (disk / "ballast").unlink()
        until(client, 200)


def until(client: httpx2.Client, status: int) -> httpx2.Response:
    """The answer, once it has this status; what was found before is kept for a second."""
    for _ in range(int(PATIENCE / 0.1)):
        answer = client.get("/readyz")
        if answer.status_code == status:
            return answer
        time.sleep(0.1)
    raise AssertionError(answer.text)
