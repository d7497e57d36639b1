"""restart: what was said before a restart is known after it."""

from holdfast.prove.runtime.checks import answered, came_back, recalls
from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.history import History
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.verdict import Finding, proven


async def steps(stage: Stage) -> None:
    """Tell a name; then the target is stopped with SIGTERM and started again."""
    await stage.say("tell", stage.new_context(), f"Hi, my name is {stage.facts.name}.")


async def after(stage: Stage) -> None:
    """Ask for the name."""
    context = stage.history.turn("tell").context_id
    await stage.say("ask", context, "What's my name?", within=stage.bounds.answer)


def check(history: History, facts: Facts) -> Finding:
    """The target comes back and knows the name."""
    wrong = (
        answered(history.turn("tell"))
        or came_back(history.power("start again"))
        or recalls(history.turn("ask"), facts.name)
    )
    trouble = history.power("stop").trouble
    note = f" (but {trouble})" if trouble else ""
    return wrong or proven(f"after SIGTERM and a start the answer names {facts.name}{note}")


PROOF = Proof(
    "restart",
    "what was said before a restart is known after it",
    steps,
    check,
    needs=("turn", "name"),
    power="stop",
    after=after,
    alone=True,
    remedy="The history seems to be in the memory of the process. Keep it by contextId on disk, and read it from "
    "there at each turn.",
    shown_in=("Conversations",),
)
