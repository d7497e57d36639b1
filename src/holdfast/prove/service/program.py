"""A program under proof, as it is seen from outside: what it is given, what it must leave, and what it tells."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.core import strict_json
from holdfast.core.errors import InvalidJson
from holdfast.prove.live.claims import ClaimBroken, require

SUMS = "the sums are right"


@dataclass(frozen=True, slots=True)
class ProgramCase:
    """One thing to do: the file that a program is given, and what must come of it."""

    name: str
    path: str
    """Below the program's data folder."""
    content: bytes
    expected: Mapping[str, Any]
    effect: bool = True
    """Whether doing it takes a tool that changes something."""
    answered: bool = True
    """Whether somebody is answered."""


@dataclass(frozen=True, slots=True)
class ProgramSpec:
    """What is known of a program: its name, how its sessions are named, and how its work is made and counted.

    `draw` makes a case of a number; `check` raises ClaimBroken if what lies in the data folder is not what these cases
    must have come to, and says what it counted. `begun` are types of actions of which the session has exactly one.
    """

    name: str
    session: str
    draw: Callable[[random.Random, int], ProgramCase]
    check: Callable[[Path, Sequence[ProgramCase]], str]
    ended: Callable[[Path], int]
    """How many cases have come to an end, as the data folder shows."""
    begun: tuple[str, ...] = ()
    children: Callable[[Path], list[str]] = lambda _: []
    """Sessions that its work had of its own, as the data folder names them."""


def count(folder: Path, *patterns: str) -> int:
    """How many files of these forms are below a folder."""
    return sum(1 for pattern in patterns for _ in folder.glob(pattern))


def documents(folder: Path) -> dict[str, dict[str, Any]]:
    """The JSON objects that lie in a folder, by the names of their files; ClaimBroken if one is none."""
    found = {}
    for path in sorted(folder.glob("*.json")):
        try:
            value = strict_json.parse(path.read_bytes())
        except InvalidJson:
            value = None
        require(isinstance(value, dict), SUMS, f"{path.name} is no JSON object", expected="a whole file", got="half")
        assert isinstance(value, dict)
        found[path.stem] = value
    return found


def same_names(found: Sequence[str], expected: Sequence[str], what: str) -> None:
    """ClaimBroken unless these are each other's, each once: what is missing and what is there twice is named."""
    lost = sorted(set(expected) - set(found))
    doubled = sorted({name for name in found if found.count(name) > 1})
    strange = sorted(set(found) - set(expected))
    for names, trouble in ((lost, "lost"), (doubled, "doubled"), (strange, "not asked for")):
        if names:
            raise ClaimBroken(
                SUMS,
                f"{what} {trouble}: {', '.join(names[:5])}",
                expected=f"{len(expected)}, each once",
                got=f"{len(found)}",
            )
