"""isolation: what was said in one context is not known in another."""

from holdfast.prove.runtime.checks import answered, keeps_to_itself
from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.history import History
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.verdict import Finding, proven


async def steps(stage: Stage) -> None:
    """Two contexts, interleaved: a name in each, then the question in each."""
    one, other = stage.new_context(), stage.new_context()
    await stage.say("tell one", one, f"Hi, my name is {stage.facts.name}.")
    await stage.say("tell other", other, f"Hi, my name is {stage.facts.other_name}.")
    await stage.say("ask one", one, "What's my name?")
    await stage.say("ask other", other, "What's my name?")


def check(history: History, facts: Facts) -> Finding:
    """Both questions are answered, and neither answer has the other context's name in it."""
    tell_other, ask_one, ask_other = (history.turn(step) for step in ("tell other", "ask one", "ask other"))
    wrong = (
        answered(history.turn("tell one"))
        or answered(tell_other)
        or answered(ask_one)
        or answered(ask_other)
        or keeps_to_itself(tell_other, facts.name)
        or keeps_to_itself(ask_one, facts.other_name)
        or keeps_to_itself(ask_other, facts.name)
    )
    return wrong or proven("neither answer has the other's name in it")


PROOF = Proof("isolation", "what was said in one context is not known in another", steps, check)
