"""prefix: whoever reads while others write sees the beginning of the log as it will be, and never less than before."""

import asyncio
from dataclasses import dataclass
from itertools import pairwise

from holdfast.prove.store.clause import Clause
from holdfast.prove.store.client import StoreClient
from holdfast.prove.store.stage import StoreStage
from holdfast.prove.verdict import Finding, disproven, inconclusive, proven

SESSION = "watched"
WRITERS = 2
READERS = 2
EACH = 60
MOST_TURNS = 20
"""On a busy machine readers may not get to look while the writers are at it: then they write once more."""


@dataclass(frozen=True, slots=True)
class _Facts:
    """What each reader saw, read by read where it changed; the log in the end; what was acknowledged."""

    acknowledged: list[str]
    seen: list[list[list[str]]]
    log: list[str]
    trouble: str = ""


async def steps(stage: StoreStage) -> _Facts:
    """Two processes append, if need be in several turns; two others read again and again until they are done."""
    stage.step("start writers and readers")
    clients = await stage.clients(WRITERS + READERS)
    await clients[0].must("append", session=SESSION, payload={"id": "first"})
    writers, readers = clients[:WRITERS], clients[WRITERS:]
    done = asyncio.Event()
    stage.step("write and read")
    seen: list[list[list[str]]] = [[] for _ in readers]
    watching = [asyncio.ensure_future(_watch(*each, done)) for each in zip(readers, seen, strict=True)]
    acknowledged: list[str] = []
    try:
        for turn in range(MOST_TURNS):
            acknowledged += await _write(stage, writers, turn)
            if enough(seen):
                break
    finally:
        done.set()
        troubles = await asyncio.gather(*watching)
    log = await (await stage.client()).must("read_ids", session=SESSION)
    return _Facts(acknowledged, seen, log, next(filter(None, troubles), ""))


async def _write(stage: StoreStage, writers: list[StoreClient], turn: int) -> list[str]:
    """Let all writers append at once; what was acknowledged."""
    at = stage.soon()
    names = [[f"{writer}-{turn}-{number}" for number in range(EACH)] for writer in range(len(writers))]
    results = await asyncio.gather(
        *(
            client.must("append_many", session=SESSION, payloads=[{"id": name} for name in own], at=at)
            for client, own in zip(writers, names, strict=True)
        )
    )
    return [
        name
        for own, answers in zip(names, results, strict=True)
        for name, answer in zip(own, answers, strict=True)
        if not answer["error"]
    ]


async def _watch(reader: StoreClient, seen: list[list[str]], done: asyncio.Event) -> str:
    """Add what the reader sees, where it changed, until the writers are done; what went wrong."""
    last = False
    while not last:
        last = done.is_set()
        answer = await reader.call("read_ids", session=SESSION)
        if not answer.accepted:
            return answer.trouble
        if not seen or answer.value != seen[-1]:
            seen.append(answer.value)
    return ""


def enough(seen: list[list[list[str]]]) -> bool:
    """Whether readers looked while the log grew, and not only before and after."""
    return sum(len(each) for each in seen) > 2 * len(seen)


def check(facts: _Facts) -> Finding:
    """Every read is a prefix of the log, each at least as long as the one before; the last has all of it."""
    expected = "every read is a beginning of the log, and nothing that was seen goes away"
    if facts.trouble:
        return disproven("a reader got an error while others wrote", expected=expected, got=facts.trouble)
    for seen in facts.seen:
        for before, after in pairwise(seen):
            if after[: len(before)] != before:
                gone = next((event for event in before if event not in after), "")
                change = (
                    f"{gone} was seen and is gone" if gone else "an event appeared before one that was seen already"
                )
                return disproven("a reader saw the past change", expected=expected, got=change)
        if seen[-1] != facts.log or set(facts.acknowledged) - set(facts.log):
            return disproven(
                "a reader does not see what was acknowledged in another process",
                expected=expected,
                got=f"{len(facts.acknowledged) + 1} acknowledged, {len(seen[-1])} seen, {len(facts.log)} read at last",
            )
    looks = sum(len(seen) for seen in facts.seen)
    if not enough(facts.seen):
        return inconclusive("no reader looked while the log grew", hint="run again on a machine with more cores")
    return proven(f"{looks} different views by {len(facts.seen)} readers while {len(facts.log)} events were written")


CLAUSE = Clause("prefix", "whoever reads while others write sees the beginning of the log, never less", steps, check)
