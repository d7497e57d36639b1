"""concurrent: plain appends by several processes at once all arrive, each once, each writer's own in order."""

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import Any

from holdfast.prove.store.clause import Clause
from holdfast.prove.store.stage import StoreStage
from holdfast.prove.verdict import Finding, disproven, proven

SESSION = "shared"
WRITERS = 4
EACH = 25
FIRST = "first"


@dataclass(frozen=True, slots=True)
class _Facts:
    """For each writer's event the place it was given (None: the store says none), what went wrong, what is there."""

    places: dict[str, int | None]
    errors: dict[str, str]
    found: list[str]


async def steps(stage: StoreStage) -> _Facts:
    """Four processes append 25 events each to one session, from a common start."""
    stage.step("start the writers")
    clients = await stage.clients(WRITERS)
    await clients[0].must("append", session=SESSION, payload={"id": FIRST})
    stage.step("append at once")
    at = stage.soon()
    batches = [[{"id": f"{writer}-{number}"} for number in range(EACH)] for writer in range(WRITERS)]
    done = await asyncio.gather(
        *(
            client.must("append_many", session=SESSION, payloads=batch, at=at)
            for client, batch in zip(clients, batches, strict=True)
        )
    )
    told: dict[str, Any] = {
        payload["id"]: result
        for batch, results in zip(batches, done, strict=True)
        for payload, result in zip(batch, results, strict=True)
    }
    fresh = await stage.client()
    return _Facts(
        places={event: result["place"] for event, result in told.items() if not result["error"]},
        errors={event: result["error"] for event, result in told.items() if result["error"]},
        found=[event for event in await fresh.must("read_ids", session=SESSION) if event != FIRST],
    )


def check(facts: _Facts) -> Finding:
    """Everything that was acknowledged is there once; everything was acknowledged; places are dense and in order."""
    expected = f"all {WRITERS * EACH} appends, each once"
    found = Counter(facts.found)
    lost = [event for event in facts.places if event not in found]
    twice = [event for event, count in found.items() if count > 1]
    if lost or twice:
        wrong = f"{len(lost)} of {len(facts.places)} acknowledged appends are lost, {len(twice)} are there twice"
        return disproven(wrong, expected=expected, got=f"for instance {(lost + twice)[0]}")
    if facts.errors:
        return disproven(
            f"{len(facts.errors)} of {WRITERS * EACH} appends failed, none of those acknowledged is lost",
            expected=expected,
            got=next(iter(facts.errors.values())),
        )
    for writer in range(WRITERS):
        own = [event for event in facts.found if event.startswith(f"{writer}-")]
        if own != [f"{writer}-{number}" for number in range(EACH)]:
            return disproven("a writer's events are not in the order it wrote them", expected=expected, got=str(own))
    places = [facts.places[event] for event in facts.found if event in facts.places]
    numbers = [place for place in places if place is not None]
    if not numbers:
        return proven(f"{len(facts.found)} appends by {WRITERS} processes, each there once; the store says no places")
    if numbers != list(range(numbers[0], numbers[0] + len(places))):
        return disproven(
            "the places that the writers were told are not those of the log",
            expected="places without gaps, in the order of the log",
            got=str(numbers[:30]),
        )
    return proven(f"{len(facts.found)} appends by {WRITERS} processes, each there once, without gaps")


CLAUSE = Clause("concurrent", "appends by several processes at once all arrive, each once", steps, check)
