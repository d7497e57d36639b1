"""Questions about files: what was attached, and what a file says of something.

`what is the code word in notes.txt?` is answered from the file's text, wherever that stands in the prompt; and only
from there.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from holdfast.models.messages import PromptRole
from holdfast.models.simulator.attachments import AttachedFile
from holdfast.models.simulator.language import without_commands
from holdfast.models.simulator.prompt import Utterance
from holdfast.models.simulator.recollection import Source

NAME = r"[\w-][\w./-]*\.\w{1,8}"
KIND = r"(?:files?|attachments?|images?|pictures?|photos?|documents?|pdf|notes?)"
CONTENT = re.compile(
    rf"\bwhat(?:['’]s| is| was) the (?P<thing>[\w'’-]+(?: (?!in\b|of\b|from\b)[\w'’-]+){{0,3}}) (?:in|of|from) "
    rf"(?:[\"'`]?(?P<name>{NAME})[\"'`]?"
    rf"|(?:the|my|that|this) (?:\w+ )?{KIND}\b(?: (?:named |called )?[\"'`]?(?P<named>{NAME}))?)",
    re.IGNORECASE,
)
ABOUT = re.compile(
    rf"\b(?:what|which|describe|tell me about|tell me what|do you (?:know|remember|have|see))\b[^.?!\n]{{0,80}}?"
    rf"\b(?:{KIND}\b|(?P<name>{NAME}))",
    re.IGNORECASE,
)
SUMMARIZE = re.compile(r"\bsummari[sz]e\b|\bsummary\b", re.IGNORECASE)
VALUE = r"\s*(?:is|was|[:=])\s*[\"'`]?(?P<value>\w(?:[\w.@:/+'’-]*\w)?)"


@dataclass(frozen=True, slots=True)
class FileQuestion:
    """What a file says of a thing; the file has a name, or is whichever there is."""

    thing: str
    name: str | None


def file_question(words: str) -> FileQuestion | None:
    """The question about a file's content in some words, if there is one."""
    match = CONTENT.search(without_commands(words))
    return FileQuestion(match["thing"], match["name"] or match["named"]) if match else None


def find(question: FileQuestion, heard: Sequence[Utterance]) -> Source | None:
    """What the prompt has to say: in the file itself first, then what tools read, then what was copied into words."""
    said_in = re.compile(r"\b" + r"\s+".join(map(re.escape, question.thing.split())) + VALUE, re.IGNORECASE)
    for said, text in _texts(question, heard):
        match = said_in.search(text)
        if match:
            return Source(question.thing, match["value"], said.index, said.role, text)
    return None


def about(request: Utterance, heard: Sequence[Utterance]) -> str | None:
    """An answer to a question about what was attached, now or earlier; None if that is not the question."""
    match = ABOUT.search(without_commands(request.words))
    known = [attachment for said in heard if said.role == PromptRole.USER for attachment in said.attachments]
    mentioned = [attachment for attachment in known if attachment.name and attachment.name in request.words]
    if not match and not mentioned:
        return None
    if match and match["name"] and not mentioned:
        return f"I have not seen {match['name']}."
    shown = list(dict.fromkeys(mentioned or known))
    if not shown:
        return "I have not seen a file."
    return f"You sent me {', '.join(attachment.described for attachment in shown)}."


def summary(attachments: Sequence[AttachedFile]) -> str:
    """What is attached, summed up."""
    return "Summary: " + " ".join(_summed_up(attachment) for attachment in attachments)


def _summed_up(attachment: AttachedFile) -> str:
    if attachment.text:
        return f'{attachment.label} has {len(attachment.text.split())} words and begins "{attachment.beginning}".'
    return f"{attachment.label} is a file whose words I cannot read."


def _texts(question: FileQuestion, heard: Sequence[Utterance]) -> Iterator[tuple[Utterance, str]]:
    newest = list(reversed(heard))
    for said in newest:
        for attachment in said.attachments:
            if attachment.text and question.name in {None, attachment.name}:
                yield said, attachment.text
    for role in (PromptRole.TOOL, PromptRole.USER, PromptRole.SYSTEM):
        yield from ((said, said.words) for said in newest if said.role == role)
