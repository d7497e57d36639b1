"""Skills: instructions for a kind of task, each in `skills/<name>/SKILL.md` in the workspace.

A skill's file begins with its name and description between two lines of `---`. These are told to the model in every
turn; the rest is read when the model wants to use the skill.
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import msgspec

from holdfast.core import HoldfastError
from holdfast.core.errors import NotFound
from holdfast.models import Tool
from holdfast.runtime.permissions.modes import READ_ONLY
from holdfast.runtime.tools import ToolContext, ToolUse, declare
from holdfast.runtime.workspace import names_in, open_folder, read_text

FOLDER = "skills"
FILE = "SKILL.md"
MAX_SKILLS = 50
MAX_BYTES = 64 * 1024
MAX_DESCRIPTION = 500
MAX_TOLD = 5
"""Skills that cannot be used of which the model hears why."""

FRONT = re.compile(r"\A\ufeff?---[ \t]*\n(.*?)^---[ \t]*$", re.DOTALL | re.MULTILINE)
MEMBER = re.compile(r"^(\w[\w-]*):[ \t]*(.*(?:\n[ \t]+.*)*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill by its name and what it is for; `instructions` is the rest of its file."""

    name: str
    description: str
    instructions: str


@dataclass(frozen=True, slots=True)
class SkillSet:
    """The skills of a workspace, by name, and why others are not among them, in words."""

    skills: Sequence[Skill]
    left_out: Sequence[str]


def skills_in(workspace: Path) -> SkillSet:
    """The skills of a workspace, at most so many. Blocks."""
    found: dict[str, Skill] = {}
    left_out: list[str] = []
    for folder in _folders(workspace):
        try:
            text = read_text(workspace, f"{FOLDER}/{folder}/{FILE}", MAX_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            continue  # no skill
        except (HoldfastError, OSError) as error:
            left_out.append(f"{folder} cannot be read: {error}")
            continue
        skill = parse(text, folder)
        if skill.name in found:
            left_out.append(f"{folder} has the name of another, {skill.name}")
        elif len(found) == MAX_SKILLS:
            left_out.append(f"{skill.name} is one too many: there may be {MAX_SKILLS}")
        else:
            found[skill.name] = skill
    return SkillSet([found[name] for name in sorted(found)], left_out)


def skill_list(found: SkillSet) -> str:
    """How a model is told which skills there are, and which cannot be used; nothing if there are none."""
    lines = [f"- {skill.name}: {skill.description}".rstrip(": ") for skill in found.skills]
    told = "\n".join(["Skills; read one with read_skill before you use it:", *lines]) if lines else ""
    rest = [f"- {why}" for why in found.left_out[:MAX_TOLD]]
    more = len(found.left_out) - MAX_TOLD
    missing = [f"- and {more} more"] if more > 0 else []
    said = "\n".join(["Skills that cannot be used; tell the user if it matters:", *rest, *missing]) if rest else ""
    return "\n\n".join(filter(None, [told, said]))


def parse(text: str, folder: str) -> Skill:
    """The skill in a file; without a name of its own it has that of its folder."""
    text = text.replace("\r\n", "\n")
    front = FRONT.match(text)
    members = dict(MEMBER.findall(front[1])) if front else {}
    description = _value(members.get("description", ""))[:MAX_DESCRIPTION]
    return Skill(_value(members.get("name", "")) or folder, description, text[front.end() if front else 0 :].strip())


class ReadSkill(msgspec.Struct, frozen=True):
    """Read the instructions of a skill."""

    name: str

    has_effect: ClassVar[bool] = False
    need: ClassVar[str] = READ_ONLY
    declaration: ClassVar[Tool] = declare(
        "read_skill",
        "Read the instructions of a skill before you use it.",
        {"name": "The skill's name."},
    )

    async def run(self, context: ToolContext) -> str:
        """Do it; what the model is told."""
        found = await asyncio.to_thread(skills_in, context.workspace)
        for skill in found.skills:
            if skill.name == self.name:
                return skill.instructions or "the skill has no instructions"
        names = ", ".join(skill.name for skill in found.skills) or "none"
        left_out = "".join(f"; {why}" for why in found.left_out[:MAX_TOLD])
        raise NotFound(f"there is no skill {self.name!r}; there are: {names}{left_out}")


SKILL_TOOLS: tuple[type[ToolUse], ...] = (ReadSkill,)


def _folders(workspace: Path) -> list[str]:
    try:
        with open_folder(workspace, FOLDER) as opened:
            return names_in(opened)
    except (HoldfastError, OSError):
        return []


def _value(raw: str) -> str:
    """A member's value in one line: plain, in quotes, or folded over several lines."""
    lines = [line.strip() for line in raw.splitlines()]
    if lines and lines[0] in {">", "|", ">-", "|-"}:
        lines = lines[1:]
    value = " ".join(filter(None, lines))
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value
