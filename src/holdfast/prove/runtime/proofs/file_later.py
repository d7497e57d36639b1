"""file-later: a file that was sent in one turn is known turns later, and after a restart."""

from holdfast.prove.runtime.checks import always_back, answered, proven_live, recalls
from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.files import note
from holdfast.prove.runtime.history import History
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.verdict import Finding, proven
from holdfast.prove.wire.envelopes import FileSent


async def steps(stage: Stage) -> None:
    """A file; something else; a question about the file. Then the target is stopped and started again."""
    context = stage.new_context()
    await stage.say("send the file", context, "Please keep this file for later.", files=[note(stage.facts)])
    await stage.say("something else", context, "Say cheese.")
    await stage.say("ask", context, _question(stage.facts))


async def after(stage: Stage) -> None:
    """The same question again; then another file, by reference if the target takes uploads."""
    context = stage.history.turn("ask").context_id
    await stage.say("ask again", context, _question(stage.facts), within=stage.bounds.answer)
    file = _other(stage.facts)
    uploaded = await stage.upload("upload", file)
    if uploaded.uri is not None:
        file = FileSent(file.name, file.media_type, uri=uploaded.uri)
    await stage.say("send another", context, "Please keep this file, too.", files=[file], within=stage.bounds.answer)


async def after_kill(stage: Stage) -> None:
    """A question about each file."""
    context = stage.history.turn("ask").context_id
    await stage.say("ask at last", context, _question(stage.facts), within=stage.bounds.answer)
    question = f"What is the pass word in {_other(stage.facts).name}?"
    await stage.say("ask for the other", context, question, within=stage.bounds.answer)


def check(history: History, facts: Facts) -> Finding:
    """Every turn is answered, and the answers have the code words in them that only the files have."""
    wrong = (
        answered(history.turn("send the file"))
        or answered(history.turn("something else"))
        or recalls(history.turn("ask"), facts.code_word)
        or always_back(history)
    )
    if wrong:
        return wrong
    if not history.starts():
        return proven_live(f"{facts.code_word}, from the file, is known two turns later")
    wrong = (
        recalls(history.turn("ask again"), facts.code_word)
        or answered(history.turn("send another"))
        or recalls(history.turn("ask at last"), facts.code_word)
        or recalls(history.turn("ask for the other"), facts.fruit)
    )
    return wrong or proven(f"{facts.code_word}, from the file, is known two turns later, after a stop and after a kill")


def _question(facts: Facts) -> str:
    return f"What is the code word in {facts.file_name}?"


def _other(facts: Facts) -> FileSent:
    text = f"These are notes of another kind.\nThe pass word is {facts.fruit}.\n"
    return FileSent(f"second-{facts.file_name}", "text/plain", data=text.encode())


PROOF = Proof(
    "file-later",
    "a file that was sent is known turns later, also after a restart",
    steps,
    check,
    power="stop",
    after=after,
    after_kill=after_kill,
    live=True,
    live_claim="a file that was sent is known turns later",
    profile="files",
    remedy="The file was shown to the model once and is not part of the history. Keep what was read of it, or where "
    "it is, together with the turn.",
    shown_in=("Executor._answer", "read"),
)
