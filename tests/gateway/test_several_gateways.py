"""Several gateways on one PostgreSQL are one service: live, exact, and not in need of any one of them."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
from tests.a2a.harness import Client, words
from tests.gateway.process import PATIENCE, Running, running
from tests.support.postgres import Server
from tests.support.web import async_web_client
from websockets.asyncio.client import ClientConnection, connect

from holdfast.a2a.turns.keys import session_key
from holdfast.core.ids import session_id_for
from holdfast.store.part import session_lock
from holdfast.store.postgres.connection import lock_number


@pytest.fixture(scope="module")
def database(postgres: Server) -> str:
    """One database for all tests of this file: they use sessions of their own."""
    return postgres.new_database()


@pytest.fixture(scope="module")
def two(database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A gateway that stays."""
    with running(tmp_path_factory.mktemp("two"), "--store", database) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def one(database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Another one beside it."""
    with running(tmp_path_factory.mktemp("one"), "--store", database) as gateway:
        yield gateway


@pytest.fixture
def mortal(database: str, tmp_path: Path) -> Iterator[Running]:
    """A third one, to be killed."""
    with running(tmp_path / "mortal", "--store", database) as gateway:
        yield gateway


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with async_web_client() as client:
        yield client


def kill(gateway: Running) -> None:
    """kill -9, and wait until it is gone."""
    os.kill(gateway.process.pid, signal.SIGKILL)
    gateway.process.wait(PATIENCE)


async def next_of(live: ClientConnection) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE):
        found: dict[str, Any] = json.loads(await live.recv())
    return found


async def actions(http: httpx2.AsyncClient, gateway: Running, session_id: str) -> list[dict[str, Any]]:
    """All actions of a session, as one gateway shows them."""
    found: list[dict[str, Any]] = []
    while True:
        after = found[-1]["seq"] if found else 0
        page = (await http.get(f"{gateway.url}/api/actions/{session_id}?after={after}&limit=1000")).json()["actions"]
        if not page:
            return found
        found += page


async def test_a_write_through_one_appears_live_on_the_other(
    one: Running, two: Running, http: httpx2.AsyncClient
) -> None:
    made = await http.post(f"{one.url}/api/sessions", json={"sessionId": "live", "userId": "live-ada"})
    assert made.status_code == 201
    queries = ("session=live", "user=live-ada", "")
    feeds = [await connect(f"{two.live}?{query}", proxy=None) for query in queries]
    for live in feeds:
        assert (await next_of(live))["type"] == "connected"
    for seq in range(2, 12):
        written = await http.post(f"{one.url}/api/actions/live", json={"type": "n", "details": {"n": seq}})
        assert written.json()["seq"] == seq
        for live in feeds:
            message = await next_of(live)
            assert (message["sessionId"], message["seq"], message["data"]["details"]) == ("live", seq, {"n": seq})
    for live in feeds:
        await live.close()


async def test_what_one_acknowledged_the_other_shows_at_once(
    one: Running, two: Running, http: httpx2.AsyncClient
) -> None:
    """Nothing that a gateway remembers may be older than what another has acknowledged."""

    async def shown(path: str) -> Any:
        answer = await http.get(two.url + path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    before = (await shown("/api/query/stats"))["events"]
    for number in range(1, 6):
        session_id = f"seen-{number}"
        await http.post(f"{one.url}/api/sessions", json={"sessionId": session_id, "userId": "seen-ada"})
        assert (await shown("/api/query/recent?limit=1"))["sessions"][0]["sessionId"] == session_id
        assert len((await shown("/api/sessions/user/seen-ada"))["sessions"]) == number
        await http.post(f"{one.url}/api/actions/{session_id}", json={"type": "n", "details": {"text": f"kite{number}"}})
        assert len((await shown(f"/api/actions/{session_id}"))["actions"]) == 1
        await http.patch(f"{one.url}/api/state/{session_id}", json={"number": number})
        assert (await shown(f"/api/state/{session_id}"))["number"] == number
        found = await shown(f"/api/query/search?q=kite{number}")
        assert [hit["sessionId"] for hit in found["hits"]] == [session_id]
        assert (await shown("/api/query/stats"))["events"] == before + 3 * number
    await http.delete(f"{one.url}/api/sessions/seen-5")
    assert (await http.get(f"{two.url}/api/sessions/seen-5")).status_code == 410


async def test_writers_through_both_make_one_log_without_gaps(
    one: Running, two: Running, http: httpx2.AsyncClient
) -> None:
    async def write(number: int) -> list[int]:
        seqs: list[int] = []
        for step in range(15):
            gateway = (one, two)[(number + step) % 2]
            body = {"type": "n", "details": {"by": number, "step": step}}
            seqs.append((await http.post(f"{gateway.url}/api/actions/woven", json=body)).json()["seq"])
        return seqs

    told = await asyncio.gather(*(write(number) for number in range(8)))
    assert sorted(seq for seqs in told for seq in seqs) == list(range(1, 121))
    assert all(seqs == sorted(seqs) for seqs in told)
    for gateway in (one, two):
        found = await actions(http, gateway, "woven")
        assert [entry["seq"] for entry in found] == list(range(1, 121))
        for number, seqs in enumerate(told):
            own = [entry for entry in found if entry["details"]["by"] == number]
            assert [(entry["seq"], entry["details"]["step"]) for entry in own] == list(
                zip(seqs, range(15), strict=True)
            )
        verified = (await http.post(f"{gateway.url}/api/verify", json={"sessions": ["woven"]})).text.splitlines()
        assert json.loads(verified[-1]) == {"done": True, "verified": 1, "bad": 0}


async def test_state_patches_through_both_lose_no_update(one: Running, two: Running, http: httpx2.AsyncClient) -> None:
    """Eight clients count up one number, each patch made from what one gateway showed and sent to the other."""
    rounds, refusals = 5, 0

    async def count(number: int) -> None:
        nonlocal refusals
        for step in range(rounds):
            shown, sent = (one, two) if (number + step) % 2 else (two, one)
            state = (await http.get(f"{shown.url}/api/state/counter")).json()
            while True:
                body = {"total": state["total"] + 1, "expectedVersion": state["version"]}
                answer = await http.patch(f"{sent.url}/api/state/counter", json=body)
                if answer.status_code == 200:
                    break
                assert answer.json()["code"] == "stale_state", answer.text
                refusals += 1
                state = answer.json()["state"]

    await http.patch(f"{one.url}/api/state/counter", json={"total": 0})
    await asyncio.gather(*(count(number) for number in range(8)))
    final = (await http.get(f"{two.url}/api/state/counter")).json()
    assert (final["total"], final["version"]) == (8 * rounds, 8 * rounds + 1)
    assert refusals, "no patch met another: the run proved nothing"


async def test_one_key_sent_to_both_at_once_is_one_write(one: Running, two: Running, http: httpx2.AsyncClient) -> None:
    for number in range(20):
        body = {"type": "n", "details": {"n": number}, "idempotencyKey": f"k{number}"}
        answers = await asyncio.gather(
            *(http.post(f"{gateway.url}/api/actions/twice", json=body) for gateway in (one, two))
        )
        assert sorted(answer.status_code for answer in answers) == [200, 201]
        assert {answer.json()["seq"] for answer in answers} == {number + 1}
    assert len(await actions(http, one, "twice")) == 20


async def test_writes_of_a_gateway_that_died_are_written_once(
    mortal: Running, two: Running, database: str, http: httpx2.AsyncClient
) -> None:
    """Those it had answered, and one that still waits in the database: that may yet be committed, before or after
    its retry through the other gateway."""
    body = {"type": "n", "details": {"n": 1}, "idempotencyKey": "k"}
    lines = [{"type": "n", "details": {"n": number}} for number in range(2, 5)]
    first = await http.post(f"{mortal.url}/api/actions/moved", json=body)
    batch = await http.post(f"{mortal.url}/api/actions/moved/batch", json=lines, headers={"Idempotency-Key": "b"})
    state = await http.patch(f"{mortal.url}/api/state/moved", json={"n": 1}, headers={"Idempotency-Key": "s"})
    left = {"type": "n", "details": {"n": 5}, "idempotencyKey": "left"}
    lock = lock_number(session_lock("default", "moved"))
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as other:
        await other.execute("SELECT pg_advisory_lock(%s)", (lock,))
        sent = asyncio.create_task(http.post(f"{mortal.url}/api/actions/moved", json=left))
        await until_waiting(other, 1)
        kill(mortal)
        with pytest.raises(httpx2.TransportError):
            await sent
        retried = asyncio.create_task(http.post(f"{two.url}/api/actions/moved", json=left))
        await until_waiting(other, 2)
        await other.execute("SELECT pg_advisory_unlock(%s)", (lock,))
        answer = await retried
    assert answer.status_code in {200, 201}
    assert (await http.post(f"{two.url}/api/actions/moved", json=body)).json() == first.json()
    again = await http.post(f"{two.url}/api/actions/moved/batch", json=lines, headers={"Idempotency-Key": "b"})
    assert (again.status_code, again.json()["seqs"]) == (200, batch.json()["seqs"])
    again = await http.patch(f"{two.url}/api/state/moved", json={"n": 1}, headers={"Idempotency-Key": "s"})
    assert again.json()["version"] == state.json()["version"] == 1
    found = [(entry["seq"], entry["details"]["n"]) for entry in await actions(http, two, "moved")]
    assert found == [(1, 1), (2, 2), (3, 3), (4, 4), (answer.json()["seq"], 5)]
    assert answer.json()["seq"] == 6, "the state's change is event 5"


async def until_waiting(connection: psycopg.AsyncConnection[Any], count: int) -> None:
    """Wait until so many transactions wait for an advisory lock."""
    asked = (
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    async with asyncio.timeout(PATIENCE):
        while (await (await connection.execute(asked)).fetchone() or (0,))[0] < count:
            await asyncio.sleep(0.01)


async def test_a_turn_of_a_gateway_that_died_is_begun_again_by_another_and_the_conversation_goes_on(
    mortal: Running, two: Running, http: httpx2.AsyncClient
) -> None:
    there, here = Client(mortal.url, http), Client(two.url, http)
    assert words(await there.send("My name is Ada.", "turns", "m1"))
    cut = await there.send("Think for 2 seconds.", "turns", "m2", wait=False)
    queued = await there.send("Say: heard after all", "turns", "m3", wait=False)
    async with asyncio.timeout(PATIENCE):
        while (await here.get(cut["id"]))["status"]["state"] != "working":
            await asyncio.sleep(0.01)
    polled = asyncio.create_task(here.ended(cut["id"]))
    asked = asyncio.create_task(here.send("Think for 2 seconds.", "turns", "m2"))
    following = asyncio.create_task(here.send("What is my name?", "turns", "m4"))
    kill(mortal)
    ended = await polled
    assert ended["status"]["state"] == "completed"
    assert "heard after all" in words(await here.ended(queued["id"]))
    assert (await asked)["id"] == cut["id"], "delivered again, it is the same turn"
    assert "Ada" in words(await following)


@pytest.mark.long
async def test_a_gateway_that_was_only_asleep_does_not_write_to_a_turn_that_another_has_taken_up(
    mortal: Running, two: Running, http: httpx2.AsyncClient
) -> None:
    """Stopped for longer than its lease; when it wakes, its answer comes too late and is refused."""
    there, here = Client(mortal.url, http), Client(two.url, http)
    cut = await there.send("Think for 3 seconds.", "asleep", "m1", wait=False)
    async with asyncio.timeout(PATIENCE):
        while (await here.get(cut["id"]))["status"]["state"] != "working":
            await asyncio.sleep(0.01)
    os.kill(mortal.process.pid, signal.SIGSTOP)
    try:
        ended = await here.ended(cut["id"])
    finally:
        os.kill(mortal.process.pid, signal.SIGCONT)
    assert ended["status"]["state"] == "completed", "the other one has begun it again"
    assert "awake" in words(await there.send("Say: awake", "asleep", "m2"))
    assert await there.get(cut["id"]) == await here.get(cut["id"]) == ended
    log = (await http.get(f"{two.url}/api/sessions/{session_id_for(session_key('main', 'asleep'))}/log")).text
    said = [line for line in log.splitlines() if cut["id"] in line and '"role":"agent"' in line]
    assert len(said) == 2, "the note that it is begun again, and one answer"
