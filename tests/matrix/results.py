"""The results of the matrix, a line for each run of a cell, and who is to blame for what was disproven.

A newer line about the same cell counts instead of an older one. A cell whose template has changed since, or that is
asked for with another seed or budget, is to be run again; so is one that ended in a fault.
"""

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.matrix.cell import FAULT, CellKey, CellRun, Part, Unproven

WHOSE = ("runtime", "wrapper")


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whose defect a disproof shows, of one version of a runtime: what it is, how to see it, and who knows of it."""

    whose: str
    version: str
    says: str
    by_hand: str
    upstream: str = ""

    def __post_init__(self) -> None:
        if self.whose not in WHOSE:
            raise ValueError(f"a defect is the {'s or the '.join(WHOSE)}s, not the {self.whose}s")


Judgements = dict[tuple[str, Part, str], Judgement]


def newest(documents: Iterable[dict[str, Any]]) -> dict[tuple[str, Part], CellRun]:
    """What counts of the lines: of each template and part the newest run, faults only where there is nothing else."""
    found: dict[tuple[str, Part], CellRun] = {}
    for run in map(CellRun.of, documents):
        before = found.get((run.template, run.part))
        if before is None or run.verdict != FAULT or before.verdict == FAULT:
            found[run.template, run.part] = run
    return found


def missing(keys: Sequence[CellKey], runs: Iterable[CellRun]) -> list[CellKey]:
    """The cells that have not been run."""
    settled = {run.key for run in runs if run.verdict != FAULT}
    return [key for key in keys if key not in settled]


def judgements(file: Path) -> Judgements:
    """What was judged by hand: a table for each disproof, [template.part.claim]."""
    document = tomllib.loads(file.read_text())
    return {
        (template, part, claim): Judgement(**judged)
        for template, parts in document.items()
        for part, claims in parts.items()
        for claim, judged in claims.items()
    }


def judgement_of(run: CellRun, disproof: Unproven, judged: Judgements) -> Judgement | None:
    """What was judged of a disproof, if that was this version of the runtime."""
    found = judged.get((run.template, run.part, disproof.name))
    return found if found is not None and found.version == run.runtime else None


def needless(judged: Judgements, runs: Iterable[CellRun]) -> list[str]:
    """Judgements of what is not disproven, or not with that version."""
    used = {
        (run.template, run.part, each.name) for run in runs for each in run.disproofs if judgement_of(run, each, judged)
    }
    return [".".join(place) for place in judged if place not in used]
