"""What a user can have done: the phrases that ask for a tool, and the tool's work for each."""

import re
from collections.abc import Callable

from holdfast.core import HoldfastError
from holdfast.prove.broken.desk import ToolDesk

FILE = r"[\"'`]?(?P<file>[^\s\"'`]*\w)"
THING = r"(?P<thing>\w+(?: (?!is\b)\w+){0,2})"

APPEND = re.compile(rf"\bappend the line [\"'`]?(?P<text>\S+?)[\"'`]? to (?:the file )?{FILE}", re.IGNORECASE)
WRITE = re.compile(rf"\bwrite [\"'`]?(?P<text>\S+?)[\"'`]? to the file {FILE}", re.IGNORECASE)
READ = re.compile(rf"\bread the file {FILE}", re.IGNORECASE)
REMEMBER = re.compile(rf"\bremember(?::| that) my {THING} is (?P<value>[\w-]+)", re.IGNORECASE)
RECALL = re.compile(rf"\brecall my {THING}", re.IGNORECASE)
SKILL = re.compile(r"\buse the (?:skill (?P<after>[\w-]+)|(?P<before>[\w-]+) skill\b)", re.IGNORECASE)
ASK = re.compile(r"\bask the agent at (?P<url>https?://\S*\w)\S* (?P<text>.+)", re.IGNORECASE | re.DOTALL)


async def do(text: str, desk: ToolDesk) -> str:
    """Do what the text asks for and report; empty if it asks for nothing. What another agent is asked it does."""
    asking = ASK.search(text)
    own = text[: asking.start()] if asking else text
    done = [_tried(act, found, desk) for found, act in _asked(own)]
    if asking:
        done.append(f"The agent at {asking['url']} answered: {await desk.ask(asking['url'], asking['text'])}")
    return " ".join(done)


def first_act(text: str) -> int | None:
    """Where a text first asks to have something done."""
    return next((found.start() for found, _ in _asked(text)), None)


def _append(found: re.Match[str], desk: ToolDesk) -> str:
    desk.append(found["file"], found["text"])
    return f"Appended to {found['file']}."


def _write(found: re.Match[str], desk: ToolDesk) -> str:
    desk.write(found["file"], found["text"])
    return f"Wrote {found['file']}."


def _read(found: re.Match[str], desk: ToolDesk) -> str:
    return f"{found['file']} says: {desk.read(found['file'])}"


def _remember(found: re.Match[str], desk: ToolDesk) -> str:
    desk.save(found["thing"].casefold(), found["value"])
    return f"I will remember your {found['thing']}."


def _recall(found: re.Match[str], desk: ToolDesk) -> str:
    value = desk.recall(found["thing"].casefold())
    return f"Memory says that your {found['thing']} is {value}." if value else f"I do not know your {found['thing']}."


def _skill(found: re.Match[str], desk: ToolDesk) -> str:
    name = found["after"] or found["before"]
    for asked, act in _asked(desk.skill(name)):
        act(asked, desk)
    return f"I used the skill {name}."


Act = Callable[[re.Match[str], ToolDesk], str]
ACTS: tuple[tuple[re.Pattern[str], Act], ...] = (
    (APPEND, _append),
    (WRITE, _write),
    (READ, _read),
    (REMEMBER, _remember),
    (RECALL, _recall),
    (SKILL, _skill),
)


def _asked(text: str) -> list[tuple[re.Match[str], Act]]:
    """What a text asks to have done, in order."""
    found = [(match, act) for pattern, act in ACTS for match in pattern.finditer(text)]
    return sorted(found, key=lambda asked: asked[0].start())


def _tried(act: Act, found: re.Match[str], desk: ToolDesk) -> str:
    try:
        return act(found, desk)
    except (HoldfastError, OSError) as wrong:
        return f"That failed: {wrong}."
