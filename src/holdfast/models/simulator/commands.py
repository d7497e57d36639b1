"""What a user can tell the simulator to do, in the phrases that it understands.

Files: `append the line … to the file …`, `write … to the file …`, `read the file …`. Memory: `remember: my … is …`,
`use the memory tool to recall my …`. Others: `use the skill …`, `ask the agent at URL: …`, `say …`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

QUOTED = r"(?P<quote>[\"'`]?)(?P<text>[^\n]{1,500}?)(?P=quote)"
FILE = r"[\"'`]?(?P<file>[^\s\"'`]*\w)[\"'`]?"

APPEND = re.compile(
    r"\bappend the line (?P<quote>[\"'`]?)(?P<text>(?:(?!append the line)[^\n]){1,2000}?)(?P=quote)"
    rf" to the file {FILE}",
    re.IGNORECASE,
)
WRITE = re.compile(
    rf"\b(?:write|save|put) (?:the (?:words?|text|line|marker) )?{QUOTED} (?:in)?to (?:the|a|a new) file {FILE}",
    re.IGNORECASE,
)
CREATE = re.compile(
    rf"\b(?:create|write|make) (?:the|a|a new) file (?:named |called )?{FILE} "
    rf"(?:with|containing|that (?:has|contains|says))(?: the)?(?: (?:content|contents|text|words?|line))?:? "
    rf"{QUOTED}(?=[.!]?\s*(?:\n|\Z))",
    re.IGNORECASE,
)
READ = re.compile(rf"\b(?:read|open|show me) the file {FILE}", re.IGNORECASE)
REMEMBER = re.compile(
    r"\b(?:(?:use|with|using) (?:the|your) memory(?: tool)?,? (?:to )?(?:remember|save|store|note)|remember|memorize)"
    r"(?:\s*:| that\b| this\s*:|(?= my [^\n?]{1,60}? is \w))\s*(?P<text>[^\n]{1,2000})",
    re.IGNORECASE,
)
RECALL = re.compile(
    r"\b(?:recall|look up|remember)(?: from (?:your )?memory)?(?: what)?"
    r" my (?P<thing>[^\W_][\w'’-]*(?: (?!is\b)[^\W_][\w'’-]*){0,2}?)"
    r"(?: is)?(?= and\b| then\b| from\b| with\b|\s*(?:[,.;:!?]|\n|\Z))",
    re.IGNORECASE,
)
SKILL = re.compile(
    r"\buse (?:the |your )?"
    r"(?:skill (?:named |called )?[\"'`]?(?P<after>[\w.-]*\w)|[\"'`]?(?P<before>[\w.-]*\w)[\"'`]? skill\b)",
    re.IGNORECASE,
)
ASK = re.compile(
    r"\bask the agent at [\"'`<]?(?P<url>https?://[^\s\"'`<>]*[\w/])[\"'`>]?\s*[:,]?\s+(?P<text>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
REPORT = re.compile(
    r"(?P<end>[.?!\"'”]?)[,;]?\s*(?:and|then|and then|then please|please)\s+"
    r"(?:report\b[^.?!\n]*|tell me (?:what (?:it|the agent) (?:says|said|answers|answered)|its answer|the answer))"
    r"[.!]?\s*\Z",
    re.IGNORECASE,
)
SAY = re.compile(r"\Asay[: ]\s*(.+)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Append:
    """A line to be appended to a file."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Write:
    """A file to be written."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Read:
    """A file to be read."""

    path: str


@dataclass(frozen=True, slots=True)
class Remember:
    """Words to be kept in memory."""

    text: str


@dataclass(frozen=True, slots=True)
class Recall:
    """A thing of the user's to be looked up in memory."""

    thing: str


@dataclass(frozen=True, slots=True)
class UseSkill:
    """A skill to be read, and then followed."""

    name: str


@dataclass(frozen=True, slots=True)
class AskAgent:
    """Words to be put to another agent."""

    url: str
    text: str


Wish = Append | Write | Read | Remember | Recall | UseSkill | AskAgent

WISHES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Wish]], ...] = (
    (APPEND, lambda match: Append(match["file"], match["text"])),
    (WRITE, lambda match: Write(match["file"], match["text"])),
    (CREATE, lambda match: Write(match["file"], match["text"])),
    (READ, lambda match: Read(match["file"])),
    (REMEMBER, lambda match: Remember(match["text"].strip())),
    (RECALL, lambda match: Recall(match["thing"])),
    (SKILL, lambda match: UseSkill(match["after"] or match["before"])),
)


def wishes(words: str) -> list[Wish]:
    """What some words ask to have done, in order; what another agent is asked is for that agent to do."""
    if SAY.match(words):
        return []
    before, asking = _split(words)
    found: list[tuple[int, Wish]] = []
    taken = bytearray(len(before))
    for pattern, wish in WISHES:
        for match in pattern.finditer(before):
            start, end = match.span()
            if taken.find(1, start, end) < 0:
                taken[start:end] = b"\1" * (end - start)
                found.append((start, wish(match)))
    found.sort(key=lambda at: at[0])
    return [wish for _, wish in found] + ([asking] if asking else [])


def effects(instructions: str) -> list[Wish]:
    """What the instructions of a skill ask to have written."""
    return [wish for wish in wishes(instructions) if isinstance(wish, Append | Write)]


def to_say(words: str) -> str:
    """What some words ask to say: all of them, unless they begin with `say`."""
    match = SAY.match(words)
    return match[1] if match else words


def without_commands(words: str) -> str:
    """Some words without what they ask to write, to say or to ask others, which the user does not mean."""
    meant = _split(SAY.sub("", words))[0]
    for command in (APPEND, WRITE, CREATE):
        meant = command.sub("", meant)
    return meant


def _split(words: str) -> tuple[str, AskAgent | None]:
    match = ASK.search(words)
    if not match:
        return words, None
    text = REPORT.sub(lambda end: end["end"], match["text"]).strip()
    if len(text) > 1 and text[0] in "\"'`“" and text[-1] in "\"'`”":
        text = text[1:-1]
    return words[: match.start()], AskAgent(match["url"].removesuffix(":"), text.removeprefix("to "))
