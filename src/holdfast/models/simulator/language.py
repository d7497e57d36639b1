"""What the simulator understands of a user's words: commands, statements and questions.

Commands for files: `append the line … to the file …`, `write … to the file …`, `read the file …`. For memory:
`remember: my … is …`, `use the memory tool to recall my …`. Others: `use the skill …`, `ask the agent at URL: …`,
`ask me for my approval, and then …`, `say …`. What is to be done with a text that is given is in `given_texts`.

`my <thing> is <value>` states a fact, `what is my <thing>?` asks for it, `forget my <thing>` takes it back. A value of
more than a few words stands in guillemets: `my <thing> is «…»`. The patterns are strict: a fact that is
missed shows as a wrong answer and is looked into, a fact that is imagined would pass for memory.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from holdfast.models.simulator import given_texts

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
APPROVAL = re.compile(
    r"\bask me for (?:my )?approval,? (?:and then |and |then |before you )(?P<text>\S.*)", re.IGNORECASE | re.DOTALL
)
APPROVED = re.compile(r"\A\W*(?:(?:yes|ok),? )?(?:I approve|approved)\b(?! not\b)", re.IGNORECASE)
SAY = re.compile(r"\Asay[: ]\s*(.+)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class AppendLine:
    """A line to be appended to a file."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class WriteWish:
    """A file to be written."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class ReadWish:
    """A file to be read."""

    path: str


@dataclass(frozen=True, slots=True)
class Remember:
    """Words to be kept in memory."""

    text: str


@dataclass(frozen=True, slots=True)
class RecallWish:
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


@dataclass(frozen=True, slots=True)
class AskUser:
    """A question to be put to the user, and what is to be done once the user approves."""

    question: str
    then: "tuple[Wish, ...]"


@dataclass(frozen=True, slots=True)
class UseTools:
    """A given text that asks for something that a tool may do."""

    text: str


Wish = AppendLine | WriteWish | ReadWish | Remember | RecallWish | UseSkill | AskAgent | AskUser | UseTools

WISHES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Wish]], ...] = (
    (APPEND, lambda match: AppendLine(match["file"], match["text"])),
    (WRITE, lambda match: WriteWish(match["file"], match["text"])),
    (CREATE, lambda match: WriteWish(match["file"], match["text"])),
    (READ, lambda match: ReadWish(match["file"])),
    (REMEMBER, lambda match: Remember(match["text"].strip())),
    (RECALL, lambda match: RecallWish(match["thing"])),
    (SKILL, lambda match: UseSkill(match["after"] or match["before"])),
)


def wishes(words: str) -> list[Wish]:
    """What some words ask to have done, in order; what another agent is asked is for that agent to do, and what is to
    be approved first is not to be done yet."""
    if SAY.match(words):
        return []
    if given := given_texts.request_in(words):
        return [UseTools(given.text)] if given_texts.wants_tools(given) else []
    if match := APPROVAL.search(words):
        asking_first = AskUser(f"May I {match['text'].strip().rstrip('.!')}?", tuple(wishes(match["text"])))
        return [*wishes(words[: match.start()]), asking_first]
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


def approves(words: str) -> bool:
    """Whether some words allow what was asked for."""
    return APPROVED.match(words) is not None


def effects(instructions: str) -> list[Wish]:
    """What the instructions of a skill ask to have written."""
    return [wish for wish in wishes(instructions) if isinstance(wish, AppendLine | WriteWish)]


def to_say(words: str) -> str:
    """What some words ask to say: all of them, unless they begin with `say`."""
    match = SAY.match(words)
    return match[1] if match else words


def without_commands(words: str) -> str:
    """Some words without what they ask to write, to say or to ask others, which the user does not mean."""
    meant = _split(SAY.sub("", given_texts.without_given(words)))[0]
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


WORD = r"[^\W_]+(?:['’-][^\W_]+)*"
THING = rf"{WORD}(?: {WORD}){{0,2}}"
VALUE_WORD = r"\w(?:[\w.@:/+'’-]*\w)?"
STATEMENT = r"(?<!what )(?<!if )(?<!whether )\bmy "

# A name is one word of letters, digits and hyphens; not `not Ada`, not half of `O'Brien`, not a question.
NAME = re.compile(
    rf"{STATEMENT}(name) is (?!not\b|what\b)([^\W_]+(?:-[^\W_]+)*)(?=[.,;:!)\"]*(?:\s|\Z))", re.IGNORECASE
)
OTHER = re.compile(
    rf"{STATEMENT}(?!name is)({THING}) is (?!not\b|what\b)({VALUE_WORD}(?: {VALUE_WORD}){{0,3}}?)"
    r"(?=[.,;:!)\"]+(?:\s|\Z)|\s*(?:\n|\Z)| and my\b)",
    re.IGNORECASE,
)
QUOTED_VALUE = re.compile(rf"{STATEMENT}({THING}) is «([^»]{{1,4000}})»", re.IGNORECASE)
FORGET = re.compile(rf"\bforget my ({THING})(?=\s*(?:[.,;:!]|\n|\Z))", re.IGNORECASE)
QUESTION = re.compile(rf"\bwhat(?:['’]s| is) my ({THING}) ?(?:\?|[.!]?(?:\n|\Z))", re.IGNORECASE)

SPELLINGS = {"favourite": "favorite", "colour": "color"}


@dataclass(frozen=True, slots=True)
class Fact:
    """A thing of the user's and its value, in the user's words."""

    thing: str
    value: str


def statements(words: str) -> list[Fact]:
    """The facts that some words state, in order; what is to be written or said is not meant."""
    meant = without_commands(words)
    return [Fact(match[1], match[2]) for match in _stated(meant)]


def told(words: str) -> list[Fact]:
    """The facts that some words state or take back, in order; one that is taken back has no value."""
    meant = without_commands(words)
    found = sorted([*_stated(meant), *FORGET.finditer(meant)], key=lambda match: match.start())
    return [Fact(match[1], "" if match.re is FORGET else match[2]) for match in found]


def _stated(meant: str) -> list[re.Match[str]]:
    found = [*NAME.finditer(meant), *OTHER.finditer(meant), *QUOTED_VALUE.finditer(meant)]
    return sorted(found, key=lambda match: match.start())


def questions(words: str) -> list[str]:
    """The things that some words ask for, in order."""
    return [match[1] for match in QUESTION.finditer(without_commands(words))]


def same_thing(one: str, other: str) -> bool:
    """Whether two names of a thing mean the same, in either spelling."""
    return _key(one) == _key(other)


def _key(thing: str) -> list[str]:
    return [SPELLINGS.get(word, word) for word in thing.replace("’", "'").casefold().split()]
