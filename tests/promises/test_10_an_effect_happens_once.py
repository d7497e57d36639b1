"""Promise 10: an effect happens once."""

import asyncio
import random
import time
from pathlib import Path

import pytest
from tests.support.changes import assert_verified
from tests.support.effects import SESSION, lines, run_races, send, work_through
from tests.support.processes import spawn

from holdfast.core.errors import EffectUnresolved
from holdfast.store import open_store

AFTER_THE_KILL = {
    "opened": ("run", 1),
    "started": ("unresolved", 0),
    "sent": ("unresolved", 1),
    "finished": ("finished sent c", 1),
}


async def test_a_process_that_is_killed_never_runs_an_effect_twice(store_url: str, tmp_path: Path) -> None:
    """Killed before, between and after the steps; two restarts, and each is told what can be known."""
    async with await open_store(store_url):
        pass
    for die, (told, sent) in AFTER_THE_KILL.items():
        outbox, answers = tmp_path / f"{die}-outbox", tmp_path / f"{die}-answers"
        url = store_url
        call = f"call-{die}"
        for attempt in (die, "", ""):
            child = spawn(send, url, call, str(outbox), str(answers), attempt)
            await asyncio.to_thread(child.join, 60)
            assert child.exitcode == (-9 if attempt else 0)
        first = told.replace(" c", f" {call}")
        second = f"finished sent {call}" if told == "run" else first
        assert lines(answers) == [first, second], die
        assert lines(outbox) == [call] * sent, die
    async with await open_store(store_url) as store:
        open_calls = [effect.call_id for effect in await store.effects.unresolved(SESSION)]
        assert open_calls == ["call-started", "call-sent"]
        assert [effect.call_id for effect in (await store.resume(SESSION)).effects] == open_calls
        await store.effects.finish(SESSION, "call-started", "failed", note="the outbox has no such mail")
        await store.effects.finish(SESSION, "call-sent", result="sent", note="the outbox has it")
        assert await store.effects.unresolved(SESSION) == []
        assert not (await store.effects.start(SESSION, "call-started", "mail", {"to": "ada"})).run
        await assert_verified(store, SESSION)


AGAIN = 20
"""Calls of the process before that the next one tries, too."""
MORE_THAN_CAN_BE_DONE = 100_000


async def kill_at_random(url: str, folder: Path, kills: int) -> int:
    """Kill a process that brings about effects, `kills` times; how often it was caught between start and end."""
    chance = random.Random(10)
    outbox = folder / "outbox"
    caught = 0
    async with await open_store(url):
        pass
    for number in range(kills):
        answers = folder / f"answers-{number}"
        reached = max((int(call_id) for call_id in lines(outbox)), default=0)
        calls = range(max(reached - AGAIN, 0), reached + MORE_THAN_CAN_BE_DONE)
        child = spawn(work_through, url, calls, str(outbox), str(answers))
        deadline = time.monotonic() + 60
        wanted = " run"
        while not any(wanted in line for line in lines(answers)) and time.monotonic() < deadline:
            await asyncio.sleep(0.002)
        await asyncio.sleep(chance.random() * 0.05)
        child.kill()
        child.join()
        async with await open_store(url) as store:
            caught += len(await store.effects.unresolved(SESSION)) > caught
    sent = lines(outbox)
    assert len(sent) == len(set(sent)), "an effect happened twice"
    async with await open_store(url) as store:
        unresolved = {effect.call_id for effect in await store.effects.unresolved(SESSION)}
        for call_id in unresolved:
            with pytest.raises(EffectUnresolved):
                await store.effects.start(SESSION, call_id, "mail", {"to": "ada"})
        for call_id in sorted(set(sent) - unresolved):
            started = await store.effects.start(SESSION, call_id, "mail", {"to": "ada"})
            assert (started.run, started.effect.result) == (False, f"sent {call_id}")
        await assert_verified(store, SESSION)
    return caught


async def test_a_process_that_is_killed_anywhere_never_runs_an_effect_twice(store_url: str, tmp_path: Path) -> None:
    await kill_at_random(store_url, tmp_path, 3)


@pytest.mark.long
async def test_fifty_kills_anywhere_and_no_effect_twice(store_url: str, tmp_path: Path) -> None:
    assert await kill_at_random(store_url, tmp_path, 50) > 5, "hardly ever killed between start and end"


async def test_of_two_processes_that_start_the_same_call_one_runs_it(store_url: str) -> None:
    await run_races(store_url, 2, 20)


@pytest.mark.long
@pytest.mark.parametrize("processes", [2, 5, 8])
async def test_of_many_processes_that_start_the_same_call_one_runs_it(store_url: str, processes: int) -> None:
    await run_races(store_url, processes, 150)
