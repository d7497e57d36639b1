"""The agent's wits: an answer is a function of the history it is given, so a lost history shows."""

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path

NAME = re.compile(r"\bmy name is (\w+)", re.IGNORECASE)
COLOR = re.compile(r"\bmy favorite color is (\w+)", re.IGNORECASE)
THINK = re.compile(r"\bthink for (\d+) seconds?, then say (\w+)", re.IGNORECASE)
APPEND = re.compile(r"\bappend the line (\S+) to the file ([\w-]+\.txt)", re.IGNORECASE)


async def answer(said: Sequence[str], workspace: Path) -> str:
    """The answer to the last of the things said, knowing those before it; may think, may write a file."""
    request = said[-1]
    if thought := THINK.search(request):
        await asyncio.sleep(int(thought[1]))
        return thought[2]
    if wanted := APPEND.search(request):
        _append_line(workspace / wanted[2], wanted[1])
        return f"Appended to {wanted[2]}."
    if "what's my name" in request.lower():
        return _recall(said, NAME, "your name")
    if "what is my favorite color" in request.lower():
        return _recall(said, COLOR, "your favorite color")
    return "Understood."


def _recall(said: Sequence[str], pattern: re.Pattern[str], what: str) -> str:
    found = [word for line in said for word in pattern.findall(line)]
    return f"You told me: {', '.join(found)}." if found else f"I do not know {what}."


def _append_line(path: Path, line: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(line + "\n")
