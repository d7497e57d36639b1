"""The agent's wits: an answer is a function of what it is given to hear, so a lost history shows.

It understands the phrases of the model simulator that the proofs use, and little else.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Sequence

from holdfast.prove.broken.acts import do, first_act
from holdfast.prove.broken.desk import ToolDesk
from holdfast.prove.broken.messages import File, UserWords

THINK = re.compile(r"\bthink for (\d+(?:\.\d+)?) seconds?", re.IGNORECASE)
SAY = re.compile(r"\bsay (\w+)", re.IGNORECASE)
COUNT = re.compile(r"\bcount (?P<slowly>slowly )?to (?P<last>\d+)", re.IGNORECASE)
IN_A_FILE = re.compile(r"\bwhat(?:'s| is) the (?P<thing>[\w ]+?) in (?:the file )?(?P<file>[\w./-]*\w)", re.IGNORECASE)
WHICH_FILE = re.compile(r"\b(?:which|what) files?\b", re.IGNORECASE)
SUMMARIZE = re.compile(r"\bsummari[sz]e\b", re.IGNORECASE)
MINE = re.compile(r"\bwhat(?:'s| is) my (?P<thing>[\w ]+\w)", re.IGNORECASE)
STATED = re.compile(
    r"\bmy (?P<thing>\w+(?: (?!is\b)\w+){0,2}) is (?:«(?P<quoted>[^»]*)»|(?P<value>[\w-]+))"
    r"|\bforget my (?P<forgotten>\w+(?: \w+){0,2})",
    re.IGNORECASE,
)
APPROVAL = re.compile(r"\bask me for (?:my )?approval\b", re.IGNORECASE)
APPROVED = re.compile(r"\b(?:I approve|approved|yes|go on)\b", re.IGNORECASE)
REPORTED = r"\bThe agent at \S+ answered: [^\n]*\bthe user's {thing} is (?P<value>[\w-]+)"
PIECE = re.compile(r"\S+\s*|\s+")

SECONDS_PER_PIECE = 0.05


async def answer(heard: Sequence[UserWords], desk: ToolDesk) -> AsyncGenerator[str]:
    """The answer to the last thing said, piece by piece, knowing those before it; may think, may use tools.

    It thinks when it is told to: before it uses a tool, or after that.
    """
    request = heard[-1].text
    thought, act = THINK.search(request), first_act(request)
    seconds = float(thought[1]) if thought else 0
    acts_first = thought is not None and act is not None and act < thought.start()
    await asyncio.sleep(0 if acts_first else seconds)
    words = await _words(heard, desk)
    await asyncio.sleep(seconds if acts_first else 0)
    counted = COUNT.search(request)
    for piece in PIECE.findall(words):
        yield piece
        await asyncio.sleep(SECONDS_PER_PIECE if counted and counted["slowly"] else 0)


def stated(said: UserWords) -> set[str]:
    """The things that a message states, or wants forgotten."""
    return {(found["thing"] or found["forgotten"]).casefold() for found in STATED.finditer(said.text)}


def wants_approval(said: UserWords) -> bool:
    """Whether it asks to be asked before anything is done."""
    return APPROVAL.search(said.text) is not None


def approves(text: str) -> bool:
    """Whether a user's answer to such a question is a yes."""
    return APPROVED.search(text) is not None


def worth_keeping(said: UserWords) -> bool:
    """Whether it says something that may be asked for later."""
    return bool(said.files) or STATED.search(said.text) is not None or "answered:" in said.reply


async def _words(heard: Sequence[UserWords], desk: ToolDesk) -> str:
    request = heard[-1]
    if not request.text.strip() and not request.files:
        return "I received an empty prompt."
    received = f"I received {', '.join(map(_described, request.files))}." if request.files else ""
    reply = await do(request.text, desk) or _told(heard) or ("" if received else "Understood.")
    return f"{received} {reply}".strip()


def _told(heard: Sequence[UserWords]) -> str:
    """The answer to what the last thing said asks for; empty if it asks for nothing."""
    request = heard[-1]
    if counted := COUNT.search(request.text):
        return " ".join(str(number) for number in range(1, int(counted["last"]) + 1))
    if request.files and SUMMARIZE.search(request.text):
        return "Summary: " + " ".join(_summed_up(file) for file in request.files)
    files = [file for said in heard for file in said.files]
    if asked := IN_A_FILE.search(request.text):
        return _from_file(asked["thing"], asked["file"], files)
    if WHICH_FILE.search(request.text):
        return f"You sent me {', '.join(map(_described, files)) or 'no file'}."
    if asked := MINE.search(request.text):
        return _recalled(asked["thing"], heard)
    said = SAY.search(request.text)
    return said[1] if said else ""


def _recalled(thing: str, heard: Sequence[UserWords]) -> str:
    values: list[str] = []
    for found in (found for said in heard for found in STATED.finditer(said.text)):
        if (found["thing"] or found["forgotten"]).casefold() == thing.casefold():
            values = [] if found["forgotten"] else [*values, found["quoted"] or found["value"]]
    if not values:
        reported = re.compile(REPORTED.format(thing=re.escape(thing)), re.IGNORECASE)
        values = [found["value"] for said in heard for found in reported.finditer(said.reply)]
    return f"Your {thing} is {values[-1]}." if values else f"I do not know your {thing}."


def _from_file(thing: str, name: str, files: Sequence[File]) -> str:
    says = re.compile(rf"\b{re.escape(thing)}\s*(?:is|:|=)\s*([\w-]+)", re.IGNORECASE)
    for file in reversed(files):
        found = says.search(file.text or "")
        if found and file.name == name.rpartition("/")[2]:
            return f"The {thing} in {name} is {found[1]}."
    return f"I do not know the {thing} in {name}."


def _described(file: File) -> str:
    return f"{file.name} ({file.media_type}, {file.size} bytes)"


def _summed_up(file: File) -> str:
    words = (file.text or "").split()
    return f"{file.name} has {len(words)} words and begins “{' '.join(words[:12])}”."
