"""memory-deep: of a fact that was overwritten from several contexts, the newest counts, everywhere and for good."""

import asyncio

from holdfast.prove.runtime.checks import always_back, answered, proven_live, recalls, says
from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.history import History
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.verdict import Finding, inconclusive, proven

RECALL_CITY = "Use the memory tool to recall my favorite city, then tell me what it is."
RECALL_FRUIT = "Use the memory tool to recall my favorite fruit, then tell me what it is."
ASK, ASK_AGAIN, ASK_AT_LAST = "ask everywhere", "ask everywhere again", "ask after the kill"


async def steps(stage: Stage) -> None:
    """A city in one context, another one in the next and a third in the last, a fruit between; then ask in all."""
    contexts = [stage.new_context() for _ in range(4)]
    first, second, third = (f"my favorite city is {city}." for city in stage.facts.cities)
    await stage.say("first city", contexts[0], _remember(first))
    await stage.say("second city", contexts[1], _remember(second))
    await stage.say("ask for the second", contexts[0], RECALL_CITY)
    await stage.say("fruit", contexts[2], _remember(f"my favorite fruit is {stage.facts.fruit}."))
    await stage.say("third city", contexts[3], _remember(third))
    await _ask(stage, ASK, contexts, within=None)


async def after(stage: Stage) -> None:
    """Ask in all contexts again, and in a new one; then a fourth city in the first."""
    contexts = [turn.context_id for turn in stage.history.turns(f"{ASK}: city")]
    await _ask(stage, ASK_AGAIN, [*contexts, stage.new_context()], within=stage.bounds.answer)
    fourth = _remember(f"my favorite city is {stage.facts.name}.")
    await stage.say("fourth city", contexts[0], fourth, within=stage.bounds.answer)


async def after_kill(stage: Stage) -> None:
    """Ask in the second context, and in a new one."""
    contexts = [stage.history.turn("second city").context_id, stage.new_context()]
    await _ask(stage, ASK_AT_LAST, contexts, within=stage.bounds.answer)


def check(history: History, facts: Facts) -> Finding:
    """Everything is acknowledged; the second city is known after the second, the third then, the fourth in the end."""
    _, second, third = facts.cities
    for told in ("first city", "second city", "fruit", "third city"):
        if wrong := answered(history.turn(told)):
            return wrong
    wrong = recalls(history.turn("ask for the second"), second) or _newest(history, ASK, third, facts.fruit)
    if wrong:
        return wrong
    if not history.starts():
        return _tells_all(history, facts) or proven_live(f"every context knows {third}, the newest")
    wrong = (
        always_back(history)
        or _newest(history, ASK_AGAIN, third, facts.fruit)
        or answered(history.turn("fourth city"))
        or _newest(history, ASK_AT_LAST, facts.name, facts.fruit)
        or _tells_all(history, facts)
    )
    return wrong or proven(f"every context knows {third}, the newest, and after a kill {facts.name}, the newest then")


async def _ask(stage: Stage, step: str, contexts: list[str], within: float | None) -> None:
    cities = (stage.say(f"{step}: city", context, RECALL_CITY, within=within) for context in contexts)
    await asyncio.gather(*cities, stage.say(f"{step}: fruit", contexts[0], RECALL_FRUIT, within=within))


def _newest(history: History, step: str, city: str, fruit: str) -> Finding | None:
    wrong = [recalls(turn, city) for turn in history.turns(f"{step}: city")]
    return next(filter(None, [*wrong, recalls(history.turn(f"{step}: fruit"), fruit)]), None)


def _tells_all(history: History, facts: Facts) -> Finding | None:
    """Somewhere the answer is the newest city alone, else nobody knows which of them the target takes for it."""
    *older, newest = facts.cities
    asked = [*history.turns(f"{ASK}: city"), *history.turns(f"{ASK_AGAIN}: city")]
    if not all(any(says(turn.reply.readings, city) for city in older) for turn in asked):
        return None
    return inconclusive(
        "no answer shows which of the facts is taken for the newest",
        expected=f"an answer to “{RECALL_CITY}” with {newest} in it, and none of {', '.join(older)}",
        got=asked[-1].reply.describe(),
        curl=asked[-1].curl,
        hint="a target that answers with all that it was ever told does not show that a fact was overwritten",
    )


def _remember(fact: str) -> str:
    return f"Please use the memory tool to remember: {fact}"


PROOF = Proof(
    "memory-deep",
    "of a fact that several contexts overwrite, the newest is recalled everywhere, also after a restart",
    steps,
    check,
    power="stop",
    after=after,
    after_kill=after_kill,
    live=True,
    live_claim="of a fact that several contexts overwrite, the newest is recalled everywhere",
    profile="memory",
    remedy="The memory tool forgets at a restart, or does not let a new fact replace the old one. Keep each fact on "
    "disk by its name, and write over it.",
    shown_in=("Memory",),
)
