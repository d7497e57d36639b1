"""The file that proofs send, and what shows that a target has looked at it."""

import re

from holdfast.prove.envelopes import FileSent
from holdfast.prove.facts import Facts

ASKS_BACK = re.compile(
    r"\b(?:what|how|which)\b[^.?!\n]{0,80}\b(?:do|like|want|with|help)\b[^.?!\n]{0,80}\?|\bshould I\b[^.?!\n]{0,80}\?",
    re.IGNORECASE,
)


def note(facts: Facts) -> FileSent:
    """A small text file with a code word in it."""
    return FileSent(facts.file_name, "text/plain", data=facts.file_text.encode())


def asks_back(text: str) -> bool:
    """Whether an answer asks what to do with what was sent."""
    return ASKS_BACK.search(text) is not None
