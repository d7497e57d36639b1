"""file-only: a message that is a file and no words at all is answered."""

from holdfast.prove.runtime.checks import answered, no_marker, says
from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.files import asks_back, note
from holdfast.prove.runtime.history import History
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.verdict import Finding, disproven, proven


async def steps(stage: Stage) -> None:
    """One file, and not even an empty text with it."""
    await stage.say("send the file", stage.new_context(), "", files=[note(stage.facts)])


def check(history: History, facts: Facts) -> Finding:
    """The answer names the file or asks what to do with it, and does not complain of an empty prompt."""
    turn = history.turn("send the file")
    wrong = answered(turn, "a file without words") or no_marker(turn, "a file without words")
    if wrong:
        return wrong
    if says(turn.reply.readings, facts.file_name) or says(turn.reply.readings, facts.code_word):
        return proven("the answer to a file without words is about the file")
    if asks_back(turn.reply.text):
        return proven("the answer to a file without words asks what to do with it")
    return disproven(
        "the answer has nothing to do with the file",
        expected=f"an answer that names {facts.file_name}, or asks what to do with it",
        got=turn.reply.describe(),
        curl=turn.curl,
    )


PROOF = Proof(
    "file-only",
    "a message that is a file and no words is answered",
    steps,
    check,
    gate=True,
    profile="files",
    remedy="A message without words was taken for an empty one. Read every part of a message, and let the model know "
    "of the files in it.",
    shown_in=("read",),
)
