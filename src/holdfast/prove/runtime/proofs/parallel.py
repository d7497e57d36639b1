"""parallel: of two turns at once in one context, neither is lost."""

import asyncio

from holdfast.prove.runtime.checks import always_back, answered, proven_live, recalls
from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.history import History
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.verdict import Finding, proven


async def steps(stage: Stage) -> None:
    """Two facts at the same time in one context; then a question for each."""
    await _tell(stage, "", stage.new_context(), stage.facts.name, stage.facts.code_word)
    await _ask(stage, "", stage.history.turn("tell name").context_id)


async def after(stage: Stage) -> None:
    """A question for each; then two other facts at the same time in another context."""
    await _ask(stage, " after the stop", stage.history.turn("tell name").context_id)
    await _tell(stage, " anew", stage.new_context(), stage.facts.other_name, stage.facts.fruit)


async def after_kill(stage: Stage) -> None:
    """A question for each of those."""
    await _ask(stage, " after the kill", stage.history.turn("tell name anew").context_id)


def check(history: History, facts: Facts) -> Finding:
    """All turns are acknowledged and all facts are known."""
    wrong = _known(history, "", "", facts.name, facts.code_word) or always_back(history)
    if wrong:
        return wrong
    if not history.starts():
        return proven_live("both facts are known")
    wrong = _known(history, "", " after the stop", facts.name, facts.code_word) or _known(
        history, " anew", " after the kill", facts.other_name, facts.fruit
    )
    return wrong or proven("both facts are known, also after a stop and a kill")


async def _tell(stage: Stage, when: str, context: str, name: str, word: str) -> None:
    await asyncio.gather(
        stage.say(f"tell name{when}", context, f"My name is {name}."),
        stage.say(f"tell word{when}", context, f"My lucky word is {word}."),
    )


async def _ask(stage: Stage, when: str, context: str) -> None:
    within = stage.bounds.answer if when else None
    await stage.say(f"ask name{when}", context, "What's my name?", within=within)
    await stage.say(f"ask word{when}", context, "What is my lucky word?", within=within)


def _known(history: History, told: str, asked: str, name: str, word: str) -> Finding | None:
    return (
        answered(history.turn(f"tell name{told}"))
        or answered(history.turn(f"tell word{told}"))
        or recalls(history.turn(f"ask name{asked}"), name)
        or recalls(history.turn(f"ask word{asked}"), word)
    )


PROOF = Proof(
    "parallel",
    "of two turns at once in one context, neither is lost",
    steps,
    check,
    power="stop",
    after=after,
    after_kill=after_kill,
    live=True,
    remedy="Two turns of one context started from the same history, and the later one wrote over the earlier. Let "
    "the turns of a context wait for each other, and append to the history instead of replacing it.",
    shown_in=("Executor.execute", "Conversations.hear"),
)
