"""retry: an append that is sent again with its key is answered as the first was, and changes nothing."""

import asyncio
from dataclasses import asdict, dataclass
from typing import Any

from holdfast.prove.store.clause import Clause
from holdfast.prove.store.stage import StoreStage
from holdfast.prove.verdict import Finding, disproven, proven

SESSION = "retried"
AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class _Facts:
    """The answers to the same append, in turn and at once; and what is there."""

    in_turn: list[dict[str, Any]]
    at_once: list[list[dict[str, Any]]]
    found: list[str]


async def steps(stage: StoreStage) -> _Facts:
    """Send once, then again: at once, after another event, from another process, from several at the same moment."""
    clients = await stage.clients(AT_ONCE)
    first, second = clients[:2]
    payload, other = {"id": "once", "text": "pay the bill"}, {"id": "between"}
    stage.step("send again in turn")
    request: dict[str, Any] = {"session": SESSION, "payload": payload, "key": "k-once"}
    in_turn = [await first.call("append", **request), await first.call("append", **request)]
    await first.must("append", session=SESSION, payload=other)
    in_turn += [await second.call("append", **request)]
    await second.kill()
    in_turn += [await (await stage.client()).call("append", **request)]
    racers = [first, *clients[2:]]
    at_once = []
    for number in range(stage.bounds.cycles):
        stage.step(f"send at once, {number + 1} of {stage.bounds.cycles}")
        at = stage.soon()
        request = {"session": SESSION, "payload": {"id": f"raced-{number}"}, "key": f"k-raced-{number}"}
        answers = await asyncio.gather(*(client.call("append", **request, at=at) for client in racers))
        at_once.append([asdict(answer) for answer in answers])
    found = await first.must("read_ids", session=SESSION)
    return _Facts([asdict(answer) for answer in in_turn], at_once, found)


def check(facts: _Facts) -> Finding:
    """Every answer is that of the first, and every event is there once."""
    expected = "one event, and the same answer to every attempt"
    wanted = ["once", "between", *(f"raced-{number}" for number in range(len(facts.at_once)))]
    if facts.found != wanted:
        extra = len(facts.found) - len(set(facts.found))
        wrong = f"retries left {extra} more events" if extra else "events are missing"
        return disproven(wrong, expected=expected, got=", ".join(facts.found[:8]))
    for answers in (facts.in_turn, *facts.at_once):
        told = next((answer["refused"] or answer["error"] for answer in answers if _failed(answer)), "")
        if told:
            return disproven(
                "nothing was written twice, but a retry is told that it failed", expected=expected, got=told
            )
        if len({answer["value"] for answer in answers}) > 1:
            got = f"places {[answer['value'] for answer in answers]}"
            return disproven("a retry is told another place", expected=expected, got=got)
    attempts = len(facts.in_turn) + sum(len(answers) for answers in facts.at_once)
    return proven(f"{attempts} attempts with {len(facts.at_once) + 1} keys: each event once, each answer the same")


def _failed(answer: dict[str, Any]) -> bool:
    return bool(answer["refused"] or answer["error"])


CLAUSE = Clause("retry", "an append that is sent again with its key changes nothing", steps, check, frozenset({"keys"}))
