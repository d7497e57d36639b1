"""wording: what is told is known whatever its form: in other scripts, at the end of much, on many lines, told anew."""

import asyncio
from collections.abc import Iterator

from holdfast.prove.runtime.checks import always_back, answered, proven_live, recalls
from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.history import History
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.verdict import Finding, proven

NOISE = "The weather was fine, the train was late, and nobody in it had much to say about either of them. "
NOISES = 30

Told = tuple[str, str, tuple[tuple[str, str], ...]]
"""What a conversation is called, what is said in it, and the things in that with their values."""


async def steps(stage: Stage) -> None:
    """Facts in letters that are not ASCII; one after a page of noise; two on lines of their own; one that changes.

    Then a question for each.
    """
    await asyncio.gather(
        *(stage.say(f"tell {name}", stage.new_context(), text) for name, text, _ in _told(stage.facts))
    )
    changed = stage.new_context()
    for number, city in enumerate(stage.facts.cities, 1):
        await stage.say(f"tell city {number}", changed, f"My favorite harbor is {city}.")
    await _ask(stage, "ask")


async def after(stage: Stage) -> None:
    """A question for each; then the fact that changed becomes again what it was at first."""
    await _ask(stage, "ask after the stop")
    context = stage.history.turn("tell city 1").context_id
    text = stage.history.turn("tell city 1").said
    await stage.say("tell city 4", context, text, within=stage.bounds.answer)


async def after_kill(stage: Stage) -> None:
    """A question for each."""
    await _ask(stage, "ask after the kill")


def check(history: History, facts: Facts) -> Finding:
    """Every fact is known, as it was told; of the one that changed, the newest."""
    for turn in history.turns("tell "):
        if wrong := answered(turn):
            return wrong
    wrong = _known(history, "ask", facts, facts.cities[-1]) or always_back(history)
    if wrong:
        return wrong
    if not history.starts():
        return proven_live("every fact is known as it was told")
    wrong = _known(history, "ask after the stop", facts, facts.cities[-1])
    wrong = wrong or _known(history, "ask after the kill", facts, facts.cities[0])
    return wrong or proven("every fact is known as it was told, also after a stop and a kill")


async def _ask(stage: Stage, step: str) -> None:
    within = None if step == "ask" else stage.bounds.answer
    asked = [
        (f"{step}: {thing}", stage.history.turn(f"tell {name}").context_id, f"What is my {thing}?")
        for name, thing, _ in _things(stage.facts, "")
    ]
    await asyncio.gather(*(stage.say(*each, within=within) for each in asked))


def _known(history: History, step: str, facts: Facts, city: str) -> Finding | None:
    found = (recalls(history.turn(f"{step}: {thing}"), value) for _, thing, value in _things(facts, city))
    return next(filter(None, found), None)


def _things(facts: Facts, city: str) -> Iterator[tuple[str, str, str]]:
    """Each conversation, a thing that was told in it, and its value."""
    for name, _, things in _told(facts):
        yield from ((name, thing, value) for thing, value in things)
    yield "city 1", "favorite harbor", city


def _told(facts: Facts) -> tuple[Told, ...]:
    dish, river, flower = facts.scripts
    return (
        (
            "in other scripts",
            f"My favorite dish is {dish}. My favorite river is {river}. My favorite flower is {flower}.",
            (("favorite dish", dish), ("favorite river", river), ("favorite flower", flower)),
        ),
        (
            "after much noise",
            f"{NOISE * NOISES}My lucky word is {facts.code_word}.",
            (("lucky word", facts.code_word),),
        ),
        (
            "on several lines",
            f"Two things:\n\nMy name is {facts.name}.\n\nMy favorite juice is {facts.fruit}.\n",
            (("name", facts.name), ("favorite juice", facts.fruit)),
        ),
    )


PROOF = Proof(
    "wording",
    "what is told is known in whatever form, of what changed the newest, also after a restart",
    steps,
    check,
    power="stop",
    after=after,
    after_kill=after_kill,
    live=True,
    live_claim="what is told is known in whatever form, of what changed the newest",
    remedy="A message was not kept as it came: it was cut, lost its lines or its letters, or an older fact was "
    "taken for the newest. Keep the text whole, in UTF-8, and in order.",
    shown_in=("Conversations.hear",),
)
