"""The conditions that checkers are made of: each looks at one thing and finds it wrong, or returns None."""

import re

from holdfast.prove.history import Power, Turn
from holdfast.prove.verdict import Finding, disproven


def says(text: str, word: str) -> bool:
    """Whether the word is in the text as a word of its own; case does not count."""
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE) is not None


def answered(turn: Turn) -> Finding | None:
    """The turn has an answer that is not empty and not an error."""
    if turn.reply.answered:
        return None
    return disproven(
        f"no answer to “{turn.said}”",
        expected=f"an answer to “{turn.said}”",
        got=turn.reply.describe(),
        curl=turn.curl,
    )


def recalls(turn: Turn, fact: str) -> Finding | None:
    """The turn's answer contains the fact."""
    if turn.reply.answered and says(turn.reply.text, fact):
        return None
    return disproven(
        f"{fact} was told and is not in the answer",
        expected=f"an answer to “{turn.said}” with {fact} in it",
        got=turn.reply.describe(),
        curl=turn.curl,
    )


def keeps_to_itself(turn: Turn, secret: str) -> Finding | None:
    """The turn's answer does not contain what was told elsewhere."""
    if not says(turn.reply.text, secret):
        return None
    return disproven(
        f"{secret} was told in another context and is in the answer",
        expected=f"an answer to “{turn.said}” without {secret} in it",
        got=turn.reply.describe(),
        curl=turn.curl,
    )


def came_back(start: Power) -> Finding | None:
    """The target was ready again after it was stopped or killed."""
    if not start.trouble:
        return None
    return disproven(
        "the target did not come back",
        expected="a target that is ready again after the start",
        got=start.trouble,
        hint="see the newest target log in the evidence",
    )
