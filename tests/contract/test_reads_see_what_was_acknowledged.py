"""A read that starts after an acknowledgement sees what was acknowledged, whichever reader answers it."""

import asyncio

from holdfast.store import NewEvent, Store, open_store


async def test_every_reader_sees_the_newest_commit(store: Store) -> None:
    for n in range(1, 60):
        await store.append("s", [NewEvent("t", n)])
        seen = await asyncio.gather(*(store.sessions.get("s") for _ in range(4)))
        assert {session.head_seq for session in seen} == {n}
        assert [event.value() for event in await store.newest("s", limit=1)] == [n]


async def test_a_commit_of_another_process_is_seen_by_the_next_read(store_url: str) -> None:
    async with await open_store(store_url) as writer, await open_store(store_url) as reader:
        await writer.append("s", [NewEvent("t", 0)])
        for n in range(1, 40):
            assert (await reader.sessions.get("s")).head_seq == n
            assert len(await reader.read("s")) == n
            await writer.append("s", [NewEvent("t", n)])
