"""Processes that bring about effects outside the store, and are killed at a chosen place or race each other."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

from tests.support.processes import CONTEXT, spawn

from holdfast.core.errors import EffectUnresolved
from holdfast.store import Store, open_store

SESSION = "s"


def note(path: str, line: str) -> None:
    """Add a line that outlives this process."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(file, f"{line}\n".encode())
    os.close(file)


def lines(path: Path) -> list[str]:
    """What was noted."""
    return path.read_text().splitlines() if path.exists() else []


async def bring_about(store: Store, call_id: str, outbox: str, die: str = "") -> str:
    """Send a mail as a tool should: start, send, finish; killed right after the step `die`. What it was told."""

    def reached(step: str) -> None:
        if step == die:
            os.kill(os.getpid(), signal.SIGKILL)

    reached("opened")
    try:
        started = await store.effects.start(SESSION, call_id, "mail", {"to": "ada"})
    except EffectUnresolved:
        return "unresolved"
    if not started.run:
        return f"{started.effect.status} {started.effect.result}"
    reached("started")
    note(outbox, call_id)
    reached("sent")
    await store.effects.finish(SESSION, call_id, result=f"sent {call_id}")
    reached("finished")
    return "run"


def send(url: str, call_id: str, outbox: str, answers: str, die: str) -> None:
    """Bring about one effect and note what was said."""

    async def run() -> None:
        async with await open_store(url) as store:
            note(answers, await bring_about(store, call_id, outbox, die))

    asyncio.run(run())


def work_through(url: str, calls: range, outbox: str, answers: str) -> None:
    """Bring about many effects, one after the other, until all are done or the process is killed."""

    async def run() -> None:
        async with await open_store(url) as store:
            note(answers, "open")
            for number in calls:
                note(answers, f"{number} {await bring_about(store, str(number), outbox)}")
        note(answers, "done")

    asyncio.run(run())


def race_to_start(url: str, rounds: int, start: Any, results: Any) -> None:
    """Meet the others at the start of every round and start the same call; report the rounds that were ours to run."""

    async def run() -> list[int]:
        ours = []
        async with await open_store(url) as store:
            for number in range(rounds):
                start.wait(60)
                try:
                    if (await store.effects.start(SESSION, str(number), "mail")).run:
                        ours.append(number)
                except EffectUnresolved:
                    continue
        return ours

    results.put(asyncio.run(run()))


async def run_races(url: str, processes: int, rounds: int) -> None:
    """Let processes race for every call; each must be one process's to run."""
    async with await open_store(url):
        pass
    results, start = CONTEXT.Queue(), CONTEXT.Barrier(processes)
    racers = [spawn(race_to_start, url, rounds, start, results) for _ in range(processes)]
    won = [results.get(timeout=120) for _ in racers]
    for racer in racers:
        racer.join()
    assert sorted(number for ours in won for number in ours) == list(range(rounds)), "run by nobody, or by two"
    assert sum(bool(ours) for ours in won) > 1, "one process won every race: there was no contest"
    async with await open_store(url) as store:
        assert len(await store.effects.unresolved(SESSION)) == rounds
        assert (await store.verification.session(SESSION)).problem is None
