"""upgrade: what was said to one version is known to the next, on the same data."""

from holdfast.prove.runtime.checks import always_back, answered, recalls
from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.history import History
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.verdict import Finding, proven


async def steps(stage: Stage) -> None:
    """Tell a name; then the target is stopped, and the next version is started on its data."""
    await stage.say("tell", stage.new_context(), f"Hi, my name is {stage.facts.name}.")


async def after(stage: Stage) -> None:
    """Ask for the name; tell something new in the same conversation, and ask for that."""
    context = stage.history.turn("tell").context_id
    await stage.say("ask", context, "What's my name?", within=stage.bounds.answer)
    await stage.say("tell more", context, f"My lucky word is {stage.facts.code_word}.", within=stage.bounds.answer)
    await stage.say("ask more", context, "What is my lucky word?", within=stage.bounds.answer)


def check(history: History, facts: Facts) -> Finding:
    """The next version starts, knows the name, and the conversation goes on."""
    wrong = (
        answered(history.turn("tell"))
        or always_back(history)
        or recalls(history.turn("ask"), facts.name)
        or answered(history.turn("tell more"))
        or recalls(history.turn("ask more"), facts.code_word)
    )
    return wrong or proven(f"the next version knows {facts.name}")


PROOF = Proof(
    "upgrade",
    "what was said to one version is known to the next",
    steps,
    check,
    needs=("turn", "name"),
    power="upgrade",
    after=after,
    remedy="The next version looks for its data elsewhere, or cannot read what the last one wrote. Migrate the "
    "data at the start, and keep the old form readable.",
)
