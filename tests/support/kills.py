"""Kill a writing process again and again, then compare what it was told with what is there."""

import asyncio
import random
import time
from pathlib import Path

from tests.support.children import write_until_killed
from tests.support.history import History, violations
from tests.support.processes import spawn

from holdfast.store import open_store


async def kill_cycles(
    url: str, folder: Path, cycles: int, *, ack_early: bool = False, seed: int = 20261115
) -> tuple[History, list[str]]:
    """Kill a writing process `cycles` times at random moments; its history and what is wrong with the store."""
    chance = random.Random(seed)
    history = History()
    for cycle in range(cycles):
        journal = folder / f"c{cycle}"
        child = spawn(_child, url, str(journal), history.unsure(), ack_early)
        deadline = time.monotonic() + 30
        while not (journal.exists() and b"ack" in journal.read_bytes()) and time.monotonic() < deadline:
            await asyncio.sleep(0.002)
        await asyncio.sleep(chance.random() * 0.05)
        child.kill()
        child.join()
        history.read_journal(journal)
    assert history.opened == cycles
    async with await open_store(url) as store:
        found = violations(history, await store.read("s"))
        verified = await store.verification.session("s")
    return history, found + ([verified.problem] if verified.problem else [])


def _child(url: str, journal: str, again: list[str], ack_early: bool) -> None:
    write_until_killed(url, "s", journal, again, ack_early=ack_early)
