"""name: what was said in one turn is known in the next."""

from holdfast.prove.runtime.checks import answered, recalls
from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.history import History
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.verdict import Finding, proven


async def steps(stage: Stage) -> None:
    """Tell a name, then ask for it in the same context."""
    context = stage.new_context()
    await stage.say("tell", context, f"Hi, my name is {stage.facts.name}.")
    await stage.say("ask", context, "What's my name?")


def check(history: History, facts: Facts) -> Finding:
    """Both turns are answered, and the second answer has the name in it."""
    tell, ask = history.turn("tell"), history.turn("ask")
    wrong = answered(tell) or recalls(ask, facts.name)
    return wrong or proven(f"the answer names {facts.name}")


PROOF = Proof(
    "name",
    "what was said in one turn is known in the next",
    steps,
    check,
    gate=True,
    remedy="Each turn seems to be a conversation of its own. Keep the history by contextId, never by taskId, and "
    "give all of it to the model with each message.",
    shown_in=("Conversations.hear",),
)
