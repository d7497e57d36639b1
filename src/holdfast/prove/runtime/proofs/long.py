"""long: what was said in the first of many turns is known after the last."""

from holdfast.prove.runtime.checks import answered, recalls
from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.history import History
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.verdict import Finding, proven

TURNS = 200


async def steps(stage: Stage) -> None:
    """A name; many turns about nothing, more than a prompt has room for; a question for the name."""
    context = stage.new_context()
    await stage.say("turn 1", context, f"Hi, my name is {stage.facts.name}.")
    for number in range(2, TURNS + 1):
        turn = await stage.say(f"turn {number}", context, f"Say: line {number} of the log.")
        if not turn.reply.answered:
            return
    await stage.say("ask", context, "What's my name?")


def check(history: History, facts: Facts) -> Finding:
    """Every turn is answered and the name is known in the end."""
    for turn in history.turns("turn "):
        if wrong := answered(turn):
            return wrong
    return recalls(history.turn("ask"), facts.name) or proven(f"{TURNS} turns later the answer names {facts.name}")


PROOF = Proof("long", f"what was said in the first of {TURNS} turns is known after the last", steps, check)
