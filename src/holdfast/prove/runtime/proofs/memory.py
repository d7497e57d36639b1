"""memory: what was saved in one context is recalled in another."""

from holdfast.prove.runtime.checks import answered, recalls
from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.history import History
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.verdict import Finding, proven


async def steps(stage: Stage) -> None:
    """Have a colour remembered in one context, ask for it in another."""
    color = stage.facts.color
    tell = f"Please use the memory tool to remember: my favorite color is {color}."
    await stage.say("remember", stage.new_context(), tell)
    ask = "Use the memory tool to recall my favorite color, then tell me what it is."
    await stage.say("recall", stage.new_context(), ask)


def check(history: History, facts: Facts) -> Finding:
    """Both turns are answered, and the second answer has the colour in it."""
    wrong = answered(history.turn("remember")) or recalls(history.turn("recall"), facts.color)
    return wrong or proven(f"the other context knows {facts.color}")


PROOF = Proof(
    "memory",
    "what was saved in one context is recalled in another",
    steps,
    check,
    gate=True,
    profile="memory",
    remedy="What the memory tool keeps belongs to one conversation. Keep it outside of any context, for the user.",
    shown_in=("Memory",),
)
