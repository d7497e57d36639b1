"""parallel: of two turns at once in one context, neither is lost."""

import asyncio

from holdfast.prove.runtime.checks import answered, recalls
from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.history import History
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.verdict import Finding, proven


async def steps(stage: Stage) -> None:
    """Two facts at the same time in one context; then a question for each."""
    context = stage.new_context()
    await asyncio.gather(
        stage.say("tell name", context, f"My name is {stage.facts.name}."),
        stage.say("tell word", context, f"My lucky word is {stage.facts.code_word}."),
    )
    await stage.say("ask name", context, "What's my name?")
    await stage.say("ask word", context, "What is my lucky word?")


def check(history: History, facts: Facts) -> Finding:
    """Both turns are acknowledged and both facts are known."""
    wrong = (
        answered(history.turn("tell name"))
        or answered(history.turn("tell word"))
        or recalls(history.turn("ask name"), facts.name)
        or recalls(history.turn("ask word"), facts.code_word)
    )
    return wrong or proven("both facts are known")


PROOF = Proof("parallel", "of two turns at once in one context, neither is lost", steps, check)
