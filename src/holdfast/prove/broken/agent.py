"""The agent's wits: an answer is a function of what it is given to hear, so a lost history shows.

It understands the phrases of the model simulator that the proofs use, and little else.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Sequence

from holdfast.prove.broken.acts import do
from holdfast.prove.broken.desk import ToolDesk
from holdfast.prove.broken.messages import File, UserWords

THINK = re.compile(r"\bthink for (\d+(?:\.\d+)?) seconds?", re.IGNORECASE)
SAY = re.compile(r"\bsay (\w+)", re.IGNORECASE)
COUNT = re.compile(r"\bcount (?P<slowly>slowly )?to (?P<last>\d+)", re.IGNORECASE)
IN_A_FILE = re.compile(r"\bwhat(?:'s| is) the (?P<thing>[\w ]+?) in (?:the file )?(?P<file>[\w./-]*\w)", re.IGNORECASE)
WHICH_FILE = re.compile(r"\b(?:which|what) files?\b", re.IGNORECASE)
SUMMARIZE = re.compile(r"\bsummari[sz]e\b", re.IGNORECASE)
MINE = re.compile(r"\bwhat(?:'s| is) my (?P<thing>[\w ]+\w)", re.IGNORECASE)
STATED = re.compile(r"\bmy (?P<thing>\w+(?: (?!is\b)\w+){0,2}) is (?P<value>[\w-]+)", re.IGNORECASE)
PIECE = re.compile(r"\S+\s*|\s+")

SECONDS_PER_PIECE = 0.05


async def answer(heard: Sequence[UserWords], desk: ToolDesk) -> AsyncGenerator[str]:
    """The answer to the last thing said, piece by piece, knowing those before it; may think, may use tools."""
    request = heard[-1].text
    thought = THINK.search(request)
    await asyncio.sleep(float(thought[1]) if thought else 0)
    counted = COUNT.search(request)
    for piece in PIECE.findall(await _words(heard, desk)):
        yield piece
        await asyncio.sleep(SECONDS_PER_PIECE if counted and counted["slowly"] else 0)


def worth_keeping(said: UserWords) -> bool:
    """Whether it says something that may be asked for later."""
    return bool(said.files) or STATED.search(said.text) is not None


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
    stated = [found for said in heard for found in STATED.finditer(said.text)]
    values = [found["value"] for found in stated if found["thing"].casefold() == thing.casefold()]
    return f"You told me: {', '.join(values)}." if values else f"I do not know your {thing}."


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
