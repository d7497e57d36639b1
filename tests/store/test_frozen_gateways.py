"""A gateway that stands still holds neither its sessions nor the feeds, and what it had begun is refused afterwards."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import psycopg
from tests.support.frozen_process import is_stopped, stop_in_a_group
from tests.support.material import numbered, values
from tests.support.opening import store_with
from tests.support.processes import spawn

from holdfast.core.errors import OutcomeUnknown, StoreUnavailable
from holdfast.store import Store, StoreTuning, open_store
from holdfast.store.postgres.frozen_clients import end_frozen

PATIENCE = 0.3
IMPATIENT = StoreTuning(frozen_seconds=PATIENCE, lock_seconds=1.0)
REFUSED = (StoreUnavailable.__name__, OutcomeUnknown.__name__)


@asynccontextmanager
async def stopped(url: str, answers: Path) -> AsyncIterator[int]:
    """The pid of a process that stands still in the middle of a group."""
    child = spawn(stop_in_a_group, url, "s", str(answers), PATIENCE)
    assert child.pid is not None
    try:
        async with asyncio.timeout(60):
            while not is_stopped(child.pid):
                await asyncio.sleep(0.01)
        yield child.pid
        await asyncio.to_thread(child.join, 60)
    finally:
        child.kill()
        child.join()


async def go_on(pid: int, answers: Path) -> list[object]:
    """Let the process go on; what its callers were told."""
    os.kill(pid, signal.SIGCONT)
    async with asyncio.timeout(60):
        while not answers.exists() or not answers.read_text():
            await asyncio.sleep(0.01)
    told = json.loads(answers.read_text())
    assert isinstance(told, list)
    return told


async def test_others_write_to_the_session_of_a_stopped_process_and_what_it_had_begun_is_refused(
    postgres_url: str, tmp_path: Path
) -> None:
    """It is the one who waits that ends the frozen one: the lane does not look."""
    answers = tmp_path / "answers"
    async with await open_store(postgres_url, tuning=replace(IMPATIENT, look_seconds=1_000.0)) as store:
        await store.append("s", numbered(0))
        async with stopped(postgres_url, answers) as pid:
            done = await store.append("s", numbered(7))
            assert done.first_seq == 2
            begun, queued, again = await go_on(pid, answers)
            assert begun in REFUSED, "what it had begun"
            assert queued in (*REFUSED, "acknowledged"), "what came after"
            assert again == 3
        assert await values(store, "s") == [{"n": 0}, {"n": 7}, {"n": 2}]
        assert (await store.verification.session("s")).problem is None


async def test_several_writers_in_one_group_get_through(postgres_url: str, tmp_path: Path) -> None:
    answers = tmp_path / "answers"
    async with await open_store(postgres_url, tuning=IMPATIENT) as store:
        await store.append("s", numbered(0))
        async with stopped(postgres_url, answers) as pid:
            await asyncio.gather(*(store.append("s", numbered(n)) for n in range(1, 9)))
            await go_on(pid, answers)
        assert sorted(value["n"] for value in await values(store, "s")) == sorted([*range(9), 2])


async def test_a_stopped_process_does_not_hold_the_feed(postgres_url: str, tmp_path: Path) -> None:
    """Nobody wants its session: others look now and then all the same."""
    answers = tmp_path / "answers"
    async with await open_store(postgres_url, tuning=replace(IMPATIENT, look_seconds=0.2)) as store:
        start = await store.feed.now()
        async with stopped(postgres_url, answers) as pid:
            await store.append("other", numbered(1))
            assert await first_of_feed(store, start) == "other"
            await go_on(pid, answers)


async def first_of_feed(store: Store, cursor: str) -> str:
    async with asyncio.timeout(20):
        async for entry in store.feed.everything(cursor):
            return entry.session_id
    raise AssertionError("the feed has ended")


async def test_another_programs_transaction_is_left_alone(postgres_url: str) -> None:
    async with store_with(postgres_url, (), IMPATIENT) as store:
        with psycopg.connect(postgres_url, application_name="another") as other:
            other.execute("SELECT pg_advisory_xact_lock(1)")
            await asyncio.sleep(2 * PATIENCE)
            assert list(await store.sessions.workers.write(lambda tx: end_frozen(tx, IMPATIENT), ())) == []
            assert other.execute("SELECT 1").fetchone() == (1,)
        with suppress(psycopg.OperationalError), psycopg.connect(postgres_url, application_name="holdfast") as ours:
            ours.execute("SELECT pg_advisory_xact_lock(1)")
            await asyncio.sleep(2 * PATIENCE)
            assert list(await store.sessions.workers.write(lambda tx: end_frozen(tx, IMPATIENT), ())) == [(True,)]
