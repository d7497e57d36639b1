"""What the processes do that tests start with `spawn` and kill."""

import asyncio
import os
from pathlib import Path
from typing import Any

from holdfast.core.errors import StaleWriter
from holdfast.store import NewEvent, open_store


def write_until_killed(url: str, session_id: str, journal: str, again: list[str], *, ack_early: bool) -> None:
    """Append with one key each, by eight tasks, noting every attempt and acknowledgement, until killed.

    `again` are keys to send first: what an earlier child was never told the outcome of. `ack_early` notes the
    acknowledgement before there is one: the liar that the checker must catch.
    """
    note = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    async def send(store: Any, key: str) -> None:
        os.write(note, f"try {key}\n".encode())
        if ack_early:
            os.write(note, f"ack {key} 0\n".encode())
        done = await store.append(session_id, [NewEvent("write", {"key": key}, idempotency_key=key)])
        if not ack_early:
            os.write(note, f"ack {key} {done.first_seq}\n".encode())

    async def run() -> None:
        store = await open_store(url)
        os.write(note, b"open\n")
        await asyncio.gather(*(send(store, key) for key in again))

        async def worker(number: int) -> None:
            count = 0
            while True:
                count += 1
                await send(store, f"{Path(journal).name}-{number}-{count}")

        await asyncio.gather(*(worker(number) for number in range(8)))

    asyncio.run(run())


def race(url: str, session_id: str, rounds: int, name: str, start: Any, results: Any) -> None:
    """Meet the others at the start of every round and try to be the one that writes its seq; report what was won."""

    async def run() -> list[int]:
        won: list[int] = []
        async with await open_store(url) as store:
            for expected in range(rounds):
                start.wait(60)
                try:
                    done = await store.append(session_id, [NewEvent("won", {"by": name})], expected_seq=expected)
                except StaleWriter as refusal:
                    assert refusal.details["head_seq"] == expected + 1
                    assert len(refusal.details["missed"]) == 1
                else:
                    won.append(done.first_seq)
        return won

    results.put((name, asyncio.run(run())))


def append_many(url: str, sessions: list[str], count: int, name: str) -> None:
    """Append `count` events, four at a time, over sessions that other processes write too."""

    async def run() -> None:
        async with await open_store(url) as store:

            async def worker(number: int) -> None:
                for step in range(count // 4):
                    session_id = sessions[(number + step) % len(sessions)]
                    await store.append(session_id, [NewEvent("n", {"by": name, "worker": number, "step": step})])

            await asyncio.gather(*(worker(number) for number in range(4)))

    asyncio.run(run())
