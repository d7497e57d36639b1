"""Tasks for the command line of Claude Code: each writes a file of its own in the workspace."""

import random
from collections.abc import Sequence
from pathlib import Path

from holdfast.prove.live.claims import require
from holdfast.prove.service.program import SUMS, ProgramCase, ProgramSpec, count, documents, same_names

WORDS = ("harbour", "lantern", "compass", "anchor", "rudder", "mainsail")
FILE, LINE = "file", "line"


def draw(chance: random.Random, number: int) -> ProgramCase:
    """A task: write a line into a file that nobody else writes."""
    line = f"{chance.choice(WORDS)} {number:04}"
    name, file = f"t{number:04}", f"note-{number:04}.txt"
    text = f"Write the line '{line}' to the file {file}.\n"
    return ProgramCase(name, f"inbox/{name}.md", text.encode(), {FILE: file, LINE: line})


def check(data: Path, cases: Sequence[ProgramCase]) -> str:
    """Each task is answered once, and what it was to write is there once."""
    same_names([path.stem for path in (data / "done").glob("*.md")], [case.name for case in cases], "tasks")
    same_names(list(documents(data / "answers")), [case.name for case in cases], "answers")
    for case in cases:
        path = data / "workspace" / str(case.expected[FILE])
        written = path.read_text(errors="replace").splitlines() if path.exists() else []
        require(
            written.count(str(case.expected[LINE])) == 1,
            SUMS,
            f"the line of task {case.name} is not once in {case.expected[FILE]}",
            expected=str(case.expected[LINE]),
            got=" / ".join(written)[:200] or "no file",
        )
    return f"{len(cases)} tasks, {len(cases)} files"


def children(data: Path) -> list[str]:
    """The sessions of Claude Code, which its plugin tells of."""
    return [str(answer["session"]) for answer in documents(data / "answers").values()]


CLAUDE_CLI = ProgramSpec(
    "claude_cli",
    "test-claude",
    draw,
    check,
    lambda data: count(data, "done/*", "failed/*", "refused/*"),
    children=children,
)
