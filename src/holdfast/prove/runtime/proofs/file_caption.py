"""file-caption: a file that comes with words is answered by both, whether it is in the message or named there."""

import re

from holdfast.prove.runtime.checks import answered, no_marker, says
from holdfast.prove.runtime.facts import Facts
from holdfast.prove.runtime.files import note
from holdfast.prove.runtime.history import History, TurnRecord
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.stage import Stage
from holdfast.prove.verdict import Finding, disproven, proven
from holdfast.prove.wire.envelopes import FileSent

CAPTION = "summarize this"
ONLY_IN_THE_FILE = ("meeting", "code word")
REFUSES = re.compile(
    r"\b(?:cannot|can['’]t|could not|couldn['’]t|unable|not able|did not|didn['’]t)\b[^.?!\n]{0,80}\bsummar"
    r"|\b(?:error|exception|failed)\b",
    re.IGNORECASE,
)
INLINE, REFERENCE = "the file in the message", "the file by reference"


async def steps(stage: Stage) -> None:
    """The file in the message; then, if the target takes uploads, the file uploaded and named in the message."""
    file = note(stage.facts)
    await stage.say(INLINE, stage.new_context(), CAPTION, files=[file])
    uploaded = await stage.upload("upload", file)
    if uploaded.uri is not None:
        reference = FileSent(file.name, file.media_type, uri=uploaded.uri)
        await stage.say(REFERENCE, stage.new_context(), CAPTION, files=[reference])


def check(history: History, facts: Facts) -> Finding:
    """The answer addresses the file and the request, and does not complain of an empty prompt."""
    uploaded = history.uploaded("upload")
    wrong = _addressed(history.turn(INLINE), facts)
    if wrong:
        return wrong
    if uploaded.error:
        return disproven(
            "the upload of a small file was refused",
            expected="a URI for the file",
            got=uploaded.error,
            curl=uploaded.curl,
        )
    if uploaded.uri is None:
        return proven("the answer addresses the file and the request (it takes no uploads)")
    wrong = _addressed(history.turn(REFERENCE), facts)
    return wrong or proven("the answers address the file and the request, in the message and by reference")


def _addressed(turn: TurnRecord, facts: Facts) -> Finding | None:
    """The answer knows what is in this file, or names it and speaks of a summary in words of its own."""
    wrong = answered(turn) or no_marker(turn, f"{turn.step}, with “{CAPTION}”")
    if wrong:
        return wrong
    text = turn.reply.readings
    if any(says(text, word) for word in (facts.code_word, *ONLY_IN_THE_FILE)):
        return None
    own_words = text.lower().replace(CAPTION, "")
    if says(text, facts.file_name) and "summar" in own_words and not REFUSES.search(text):
        return None
    return disproven(
        f"the answer to “{CAPTION}” is not about the file",
        expected=f"a summary of {facts.file_name} ({turn.step})",
        got=turn.reply.describe(),
        curl=turn.curl,
    )


PROOF = Proof(
    "file-caption",
    "a file that comes with words is answered by both",
    steps,
    check,
    gate=True,
    profile="files",
    remedy="The file or the words did not reach the model. Read every part of a message, and fetch from the "
    "workspace what is named by a URI.",
    shown_in=("read",),
)
