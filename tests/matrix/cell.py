"""A cell of the matrix: a template under the whole catalogue, or explored, by `holdfast prove` as anybody runs it.

What is published of a run is taken from its evidence, and is one line of JSON. Paths of this machine are cut out of it.
"""

import json
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from tests.support.resumable import CHECKOUT, code_here, said_on_a_leash

from holdfast.prove.report import event_lines, run_record
from holdfast.prove.report.run_record import RunRecord
from holdfast.prove.targets.templates.folder import Template, cache_folder

Part = Literal["catalogue", "explore"]
PARTS: tuple[Part, ...] = ("catalogue", "explore")
CODE = ("src", "templates")
FAULT = "fault"
TIMEOUT = 60.0
"""Seconds for an answer or a start: some runtimes take their time, and a machine that is busy takes more."""
MEASURED = re.compile(r", pid \d+|(?:,? after | \()\d+\.\d+ s\)?")
"""What is of one run and of no use to a reader: process ids and times."""
COUNTED = ("histories", "operations", "kills", "stops", "pauses")


class CellKey(NamedTuple):
    """Which cell it is: the template in a state of its files, and what is asked of it. `budget` is for exploring."""

    template: str
    part: Part
    digest: str
    seed: int
    budget: str


@dataclass(frozen=True, slots=True)
class Unproven:
    """A claim that was not proven, on what grounds, and the history that shows it, step by step."""

    name: str
    verdict: str
    reason: str
    expected: str
    got: str
    history: list[str]


@dataclass(frozen=True, slots=True)
class CellRun:
    """What came of a cell: the commit that ran (`code`), the verdict of each claim (`tried`), how much was `explored`.

    A fault says nothing about the template: then there is a reason in `fault` and little else.
    """

    template: str
    part: Part
    digest: str
    seed: int
    budget: str
    code: str
    verdict: str
    fault: str = ""
    date: str = ""
    holdfast: str = ""
    runtime: str = ""
    network: str = ""
    seconds: float = 0.0
    tried: dict[str, str] = field(default_factory=dict)
    unproven: list[Unproven] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    explored: dict[str, int] = field(default_factory=dict)

    @property
    def key(self) -> CellKey:
        """Which cell this was."""
        return CellKey(self.template, self.part, self.digest, self.seed, self.budget)

    @property
    def disproofs(self) -> list[Unproven]:
        """What was disproven."""
        return [each for each in self.unproven if each.verdict == "disproven"]

    @classmethod
    def of(cls, document: dict[str, Any]) -> Self:
        """The run that a line is about."""
        return cls(**document | {"unproven": [Unproven(**each) for each in document["unproven"]]})

    def document(self) -> dict[str, Any]:
        """The line."""
        return asdict(self)


def key_of(template: Template, part: Part, seed: int, budget: str) -> CellKey:
    """The cell of a template as its files are now."""
    return CellKey(template.name, part, template.digest, seed, budget if part == "explore" else "")


def run_cell(template: Template, key: CellKey, evidence: Path, timeout: float) -> CellRun:
    """Make the run of a cell, with its progress on stderr; its evidence takes the place of what was there."""
    shutil.rmtree(evidence, ignore_errors=True)
    explore = ("explore", "--budget", key.budget) if key.part == "explore" else ()
    words = ("prove", *explore, "--template", str(template.folder), "--profile", "all", "--seed", str(key.seed))
    more = ("--timeout", f"{timeout:g}", "--artifacts", str(evidence), "--json")
    code, said = said_on_a_leash(sys.executable, "-m", "holdfast", *words, *more)
    if not said:
        return CellRun(*key, code_here(*CODE), FAULT, f"holdfast prove ended with {code} and left no summary")
    return run_of(key, run_record.read(Path(json.loads(said)["evidence"])))


def run_of(key: CellKey, record: RunRecord) -> CellRun:
    """What is published of the evidence of a run."""
    places = (record.summary["evidence"], str(cache_folder()), str(CHECKOUT))
    summary = _without(places, record.summary)
    target = summary["target"]
    outcomes = run_record.outcomes(summary)
    faults = [f"{each['name']}: {each['reason']}" for each in outcomes if each["fault"]]
    histories = {each["claim"]: each["steps"] for each in summary.get("violations", ())} or _histories(record, places)
    proofs = [each for each in outcomes if key.part == "explore" or each in summary["proofs"]]
    unproven = [
        Unproven(
            name=each["name"],
            verdict=each["verdict"],
            reason=each["reason"],
            expected=each["expected"],
            got=each["got"],
            history=histories.get(each["name"], []),
        )
        for each in proofs
        if each["verdict"] not in {"proven", "not reached"}
    ]
    return CellRun(
        *key,
        code=code_here(*CODE),
        verdict=summary["verdict"],
        fault="; ".join(faults) if summary["verdict"] == FAULT else "",
        date=summary["started_at"][:10],
        holdfast=summary["versions"]["holdfast"],
        runtime=target.get("runtime", ""),
        network=target.get("network", ""),
        seconds=summary["seconds"],
        tried={each["name"]: each["verdict"] for each in proofs},
        unproven=unproven,
        left_out=summary["left_out"],
        explored={name: summary["explored"][name] for name in COUNTED} if "explored" in summary else {},
    )


def _without(places: Sequence[str], told: Any) -> Any:
    """What was told, with dots for where things are on this machine."""
    if isinstance(told, str):
        for place in places:
            told = told.replace(place, "…")
    elif isinstance(told, dict):
        told = {name: _without(places, value) for name, value in told.items()}
    elif isinstance(told, list):
        told = [_without(places, value) for value in told]
    return told


def _histories(record: RunRecord, places: Sequence[str]) -> dict[str, list[str]]:
    """What was done and said in each proof, a line for a step."""
    return {proof: _without(places, list(_lines(steps))) for proof, steps in record.steps().items()}


def _lines(steps: list[run_record.Step]) -> Iterator[str]:
    for step in steps:
        told = MEASURED.sub("", "; ".join(line for _, line in event_lines.of_step(step)))
        yield f"{step.name}: {told}" if step.name else told
