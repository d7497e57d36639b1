"""Follow live feeds, within bounds."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from tests.support.children import append_many
from tests.support.processes import spawn

from holdfast.store import open_store


async def take(feed: AsyncIterator[Any], count: int) -> list[Any]:
    """The next `count` items, within a bound."""
    got: list[Any] = []
    async with asyncio.timeout(60):
        async for item in feed:
            got.append(item)
            if len(got) == count:
                break
    await feed.aclose()  # type: ignore[attr-defined]
    return got


async def follow_processes(url: str, processes: int, count: int) -> tuple[int, int, int]:
    """Tail the whole store while processes append to shared sessions: got, missed, out of order."""
    sessions = [f"shared-{number}" for number in range(5)]
    async with await open_store(url) as store:
        start = await store.feed.now()
        children = [spawn(append_many, url, sessions, count, f"p{number}") for number in range(processes)]
        envelopes = await take(store.feed.everything(start), processes * count)
        while any(child.is_alive() for child in children):
            await asyncio.sleep(0.01)
        heads = {session_id: (await store.sessions.get(session_id)).head_seq for session_id in sessions}
    got: dict[str, list[int]] = {session_id: [] for session_id in sessions}
    for envelope in envelopes:
        got[envelope.session_id].append(envelope.event.seq)
    missed = sum(len(set(range(1, heads[s] + 1)) - set(got[s])) for s in sessions)
    disordered = sum(seqs != sorted(seqs) for seqs in got.values())
    return len(envelopes), missed, disordered
