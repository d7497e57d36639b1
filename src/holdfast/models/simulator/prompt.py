"""What the user and the tools said, out of what a runtime sent.

Runtimes dress the user's words up: a time in front, a reminder or internal context behind, sometimes as a
user message of its own. Here the dress comes off, so that everything after sees words only. What the system
and the assistant say is never heard: an answer must not come from there.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.models.messages import TEXT_PARTS, Message, Role

REMINDER = re.compile(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.DOTALL | re.IGNORECASE)
INTERNAL_CONTEXT = re.compile(r"<<<BEGIN_(\w+)>>>.*?(?:<<<END_\1>>>|\Z)", re.DOTALL)
RUNTIME_SUFFIX = re.compile(r"\n[ \t]*Runtime: [^\n]*\Z")
TIME_PREFIX = re.compile(r"\A\[[^\]\n]{0,40}?\d\d?:\d\d[^\]\n]{0,40}\]\s*")

KINDS = {
    "image_url": "image",
    "input_image": "image",
    "input_audio": "audio",
    "input_file": "file",
    "document": "file",
}


@dataclass(frozen=True, slots=True)
class Heard:
    """A user's message or a tool's result: its place in the prompt, its words, and what was attached."""

    index: int
    role: Role
    words: str
    attachments: tuple[str, ...] = ()


def listen(messages: Sequence[Message]) -> list[Heard]:
    """All that users and tools said, in order, without what is only a runtime's own talk."""
    heard = []
    for index, message in enumerate(messages):
        if message.role == Role.TOOL:
            heard.append(Heard(index, Role.TOOL, message.text.strip()))
        elif message.role == Role.USER:
            words, attachments = undress(message.text), attached(message)
            if words or attachments or not message.text.strip():
                heard.append(Heard(index, Role.USER, words, attachments))
    return heard


def undress(text: str) -> str:
    """The user's own words in a user message."""
    for dress in (REMINDER, INTERNAL_CONTEXT, RUNTIME_SUFFIX):
        text = dress.sub("", text)
    return TIME_PREFIX.sub("", text.strip())


def attached(message: Message) -> tuple[str, ...]:
    """The kinds of the parts that are not text, in order."""
    if isinstance(message.content, str):
        return ()
    types = [part["type"] for part in message.content]
    return tuple(KINDS.get(kind, kind) for kind in types if kind not in TEXT_PARTS)
