"""crash: what was acknowledged before a SIGKILL is known after it."""

from holdfast.prove.runtime.checks import always_back, answered, recalls
from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.history import History
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.verdict import Finding, proven


async def steps(stage: Stage) -> None:
    """Tell a name; as soon as that is acknowledged the target is killed, started, killed again and started again."""
    await stage.say("tell", stage.new_context(), f"Hi, my name is {stage.facts.name}.")


async def after(stage: Stage) -> None:
    """Ask for the name."""
    context = stage.history.turn("tell").context_id
    await stage.say("ask", context, "What's my name?", within=stage.bounds.answer)


def check(history: History, facts: Facts) -> Finding:
    """The target comes back each time and knows the name."""
    wrong = answered(history.turn("tell")) or always_back(history) or recalls(history.turn("ask"), facts.name)
    return wrong or proven(f"after SIGKILL, a start, and both once more the answer names {facts.name}")


PROOF = Proof(
    "crash",
    "what was acknowledged before a kill is known after it",
    steps,
    check,
    needs=("turn", "name"),
    power="kill",
    after=after,
    alone=True,
    times=2,
    remedy="The answer was sent before the turn was on disk. Keep the history by contextId on disk before the answer "
    "is sent: commit first, then complete the task.",
    shown_in=("Executor.execute", "Conversations.keep_answer"),
)
