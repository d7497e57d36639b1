"""file-later: a file that was sent in one turn is known turns later, and after a restart."""

from holdfast.prove.runtime.checks import answered, came_back, recalls
from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.files import note
from holdfast.prove.runtime.history import History
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.verdict import Finding, proven


async def steps(stage: Stage) -> None:
    """A file; something else; a question about the file. Then the target is stopped and started again."""
    context = stage.new_context()
    await stage.say("send the file", context, "Please keep this file for later.", files=[note(stage.facts)])
    await stage.say("something else", context, "Say cheese.")
    await stage.say("ask", context, _question(stage.facts))


async def after(stage: Stage) -> None:
    """The same question again."""
    context = stage.history.turn("ask").context_id
    await stage.say("ask again", context, _question(stage.facts), within=stage.bounds.answer)


def check(history: History, facts: Facts) -> Finding:
    """Every turn is answered, and both answers have the code word in them that only the file has."""
    wrong = (
        answered(history.turn("send the file"))
        or answered(history.turn("something else"))
        or recalls(history.turn("ask"), facts.code_word)
        or came_back(history.power("start again"))
        or recalls(history.turn("ask again"), facts.code_word)
    )
    return wrong or proven(f"{facts.code_word}, from the file, is known two turns later and after a restart")


def _question(facts: Facts) -> str:
    return f"What is the code word in {facts.file_name}?"


PROOF = Proof(
    "file-later",
    "a file that was sent is known turns later, also after a restart",
    steps,
    check,
    power="stop",
    after=after,
)
