"""Let processes that all saw the same thing write at the same moment, and keep who was told what."""

import asyncio
from dataclasses import dataclass
from typing import Any, Protocol

from holdfast.prove.store.client import ClientAnswer, StoreClient
from holdfast.prove.store.stage import StoreStage
from holdfast.prove.verdict import Finding, disproven, inconclusive, proven

SESSION = "raced"
WIDTHS = (2, 4, 8)


@dataclass(frozen=True, slots=True)
class RaceRound:
    """One race: the names of those who were told that they won, and what the others were told."""

    entrants: int
    winners: list[str]
    refused: list[str]
    errors: list[str]


@dataclass(frozen=True, slots=True)
class Races:
    """A stale writer after a fresh one, one after the other; then all rounds; then who is found to have won, in order.

    `late` is what the stale writer was told: empty if it was accepted.
    """

    late: str
    late_error: str
    rounds: list[RaceRound]
    found: list[str]


class Contest(Protocol):
    """How to enter: look, write with a name, and read back the winners' names."""

    async def begin(self, client: StoreClient) -> None:
        """Make the thing that is raced for."""
        ...

    async def look(self, client: StoreClient) -> None:
        """See how it stands."""
        ...

    async def write(self, client: StoreClient, name: str, at: float | None) -> ClientAnswer:
        """Write under the condition that it stands as it was seen."""
        ...

    async def winners(self, client: StoreClient) -> list[str]:
        """The names that were written."""
        ...


async def race(stage: StoreStage, contest: Contest) -> Races:
    """One stale write in turn, then rounds of 2, 4 and 8 processes from a common start."""
    stage.step("start the racers")
    clients = await stage.clients(max(WIDTHS))
    await contest.begin(clients[0])
    stage.step("one after the other")
    for client in clients[:2]:
        await contest.look(client)
    fresh = await contest.write(clients[0], "fresh", None)
    late = await contest.write(clients[1], "late", None)
    rounds = [_round(2, {"fresh": fresh, "late": late})]
    for number in range(stage.bounds.cycles):
        entrants = clients[: WIDTHS[number % len(WIDTHS)]]
        stage.step(f"round {number + 1} of {stage.bounds.cycles}", entrants=len(entrants))
        for client in entrants:
            await contest.look(client)
        at = stage.soon()
        names = [f"round-{number}-{entrant}" for entrant in range(len(entrants))]
        writes = (contest.write(client, name, at) for client, name in zip(entrants, names, strict=True))
        answers = await asyncio.gather(*writes)
        rounds.append(_round(len(entrants), dict(zip(names, answers, strict=True))))
    return Races(late.refused, late.error, rounds, await contest.winners(clients[0]))


def one_winner(races: Races) -> Finding:
    """Every race has exactly one winner, and what is found is what the winners wrote."""
    expected = "exactly one of those who saw the same is let in, and the others are refused"
    crowded = [found for found in races.rounds if len(found.winners) > 1]
    empty = [found for found in races.rounds if not found.winners]
    if not races.late and not races.late_error:
        return disproven(
            f"a stale write was accepted, and more than one in {len(crowded)} of {len(races.rounds)} races",
            expected=expected,
            got="the write of one who had not seen the newest event was acknowledged",
        )
    if crowded:
        return disproven(
            f"more than one was let in, in {len(crowded)} of {len(races.rounds)} races",
            expected=expected,
            got=f"{', '.join(crowded[0].winners)} were all acknowledged",
        )
    if empty:
        said = (empty[0].refused + empty[0].errors)[0]
        return disproven(
            f"nobody was let in, in {len(empty)} of {len(races.rounds)} races", expected=expected, got=said
        )
    winners = [name for found in races.rounds for name in found.winners]
    if races.found != winners:
        return disproven(
            "what is found is not what the winners wrote",
            expected=f"{len(winners)} writes, in the order of the races",
            got=f"{len(races.found)}: {', '.join(races.found[:8])}",
        )
    if races.late_error:
        return inconclusive(
            "a stale write failed, but nothing says that it was refused for being stale",
            hint="let the adapter raise Refused where the store refuses",
            got=races.late_error,
        )
    entrants = sum(found.entrants for found in races.rounds)
    errors = sum(len(found.errors) for found in races.rounds)
    others = f", {errors} of them with another error" if errors else ""
    return proven(
        f"{len(races.rounds)} races, {len(winners)} winners; {entrants - len(winners)} stale writes refused{others}"
    )


def _round(entrants: int, answers: dict[str, Any]) -> RaceRound:
    return RaceRound(
        entrants,
        winners=[name for name, answer in answers.items() if answer.accepted],
        refused=[answer.refused for answer in answers.values() if answer.refused],
        errors=[answer.error for answer in answers.values() if answer.error],
    )
