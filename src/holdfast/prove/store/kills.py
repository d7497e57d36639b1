"""Kill a writing process again and again, and keep what it tried and what it was told."""

import asyncio
from dataclasses import dataclass

from holdfast.prove.store.client import StoreClient
from holdfast.prove.store.stage import StoreStage

SESSION = "killed"
LONGEST_LIFE_SECONDS = 0.06
FIRST_ACK_SECONDS = 20.0
TEXT = "what was said, about as long as a short answer is. " * 4


@dataclass(frozen=True, slots=True)
class KilledWrites:
    """What writers that were killed had tried and what was acknowledged, in order, and what is there afterwards.

    An id is `life-write-part`. `interrupted` counts the kills that came between a try and its acknowledgement,
    `stuck` says why a writer could not go on after a kill.
    """

    size: int
    kills: int
    interrupted: int
    tried: list[str]
    acknowledged: list[str]
    found: list[str]
    stuck: str = ""


async def write_and_kill(stage: StoreStage, size: int) -> KilledWrites:
    """Let one process after the other write, `size` events at a time, and kill each at a random moment."""
    tried: list[str] = []
    acknowledged: list[str] = []
    kills = interrupted = 0
    stuck = ""
    # The next process loads while this one writes; it opens the store only after the kill.
    loading = asyncio.ensure_future(stage.loaded())
    try:
        for life in range(stage.bounds.cycles):
            stage.step(f"kill {life + 1} of {stage.bounds.cycles}")
            client = await loading
            loading = asyncio.ensure_future(stage.loaded())
            opened = await client.call("open")
            if not opened.accepted:
                stuck = f"the store could not be opened: {opened.trouble}"
                break
            await client.send("write_on", session=SESSION, prefix=f"{life}", size=size, text=TEXT)
            told, last_error = await _until_killed(stage, client)
            kills += 1
            before = len(acknowledged)
            for word, number in told:
                ids = [f"{life}-{number}-{part}" for part in range(size)]
                (tried if word == "try" else acknowledged).extend(ids)
            interrupted += bool(told and told[-1][0] == "try")
            if len(acknowledged) == before:
                stuck = f"nothing was acknowledged within {FIRST_ACK_SECONDS:g} s ({last_error or 'no answer'})"
                break
        else:
            reader = await loading
            found, stuck = await _found(reader)
            return KilledWrites(size, kills, interrupted, tried, acknowledged, found, stuck)
    finally:
        loading.cancel()
        await asyncio.gather(loading, return_exceptions=True)
    return KilledWrites(size, kills, interrupted, tried, acknowledged, [], stuck)


async def _until_killed(stage: StoreStage, client: StoreClient) -> tuple[list[tuple[str, int]], str]:
    """Wait for the first acknowledgement, then a random while; what the process had said when it was killed."""
    told: list[tuple[str, int]] = []
    last_error = ""
    acknowledged = asyncio.Event()

    async def listen() -> None:
        nonlocal last_error
        while (said := await client.next_line()) is not None:
            if "failed" in said:
                last_error = said["error"]
            told.extend((word, said[word]) for word in ("try", "ack") if word in said)
            if "ack" in said:
                acknowledged.set()

    listening = asyncio.ensure_future(listen())
    try:
        await asyncio.wait_for(acknowledged.wait(), FIRST_ACK_SECONDS)
        await asyncio.sleep(stage.chance.random() * LONGEST_LIFE_SECONDS)
    except TimeoutError:
        pass
    finally:
        await client.kill()
    # What was said before the kill is still in the pipe.
    await listening
    return told, last_error


async def _found(reader: StoreClient) -> tuple[list[str], str]:
    opened = await reader.call("open")
    if not opened.accepted:
        return [], f"the store could not be opened: {opened.trouble}"
    read = await reader.call("read_ids", session=SESSION)
    if not read.accepted:
        return [], f"the session could not be read: {read.trouble}"
    return list(read.value), ""
