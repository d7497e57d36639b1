"""The results of runs on broken kinds: a file of JSON lines that a run which was cut short goes on with, and its table.

A line is written as its run ends. Lines of another seed or version are left alone and do not count; of several lines
about one run the last counts; a run that was not as expected is made again.
"""

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

from tests.support.kind_runs import Disproof, KindRun, KindTask

from holdfast import __version__
from holdfast.prove.broken.expected import KINDS
from holdfast.prove.runtime.proofs import catalogue

BEGIN, END = "<!-- kinds: begin -->", "<!-- kinds: end -->"


class KindResults:
    """The results with one seed and this version, and the file that they are in."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path = path
        self.seed = seed
        self._runs: dict[tuple[str, str], KindRun] = {}
        for line in path.read_text().splitlines() if path.exists() else ():
            document = json.loads(line)
            if (document["seed"], document["version"]) == (seed, __version__):
                self._keep(_run_in(document))

    @property
    def runs(self) -> list[KindRun]:
        """What is known so far, kind by kind."""
        order = list(KINDS)
        return sorted(self._runs.values(), key=lambda run: (order.index(run.kind), run.wire))

    def add(self, run: KindRun) -> None:
        """Keep a run that has ended; of its verdicts, those that are not *proven*."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        verdicts = {name: verdict for name, verdict in run.verdicts.items() if verdict != "proven"}
        document = {"seed": self.seed, "version": __version__, **asdict(run), "verdicts": verdicts}
        with self.path.open("a") as file:
            file.write(json.dumps(document, ensure_ascii=False) + "\n")
        self._keep(run)

    def missing(self, tasks: Iterable[KindTask]) -> list[KindTask]:
        """Those of the runs that have not been made, or were not as expected."""
        return [task for task in tasks if (run := self._runs.get(task[:2])) is None or run.wrong]

    def _keep(self, run: KindRun) -> None:
        self._runs[run.kind, run.wire] = run


def newest(path: Path) -> KindResults:
    """The results with the seed that the last line of a file names."""
    last = json.loads(path.read_text().splitlines()[-1])
    return KindResults(path, last["seed"])


def table(runs: Iterable[KindRun]) -> str:
    """A table for readers: each kind, all that disproves it, and who does so first, how soon and with how much."""
    by_kind: dict[str, list[KindRun]] = {}
    for run in runs:
        by_kind.setdefault(run.kind, []).append(run)
    lines = ["| kind | found by | first by | after (median) | length (median) |", "|---|---|---|---|---|"]
    for kind, some in by_kind.items():
        proofs = [name for name in catalogue() if any(run.verdicts.get(name) == "disproven" for run in some)]
        found = [run.first for run in some if run.first is not None]
        nobody = "explore" if KINDS[kind].explore else "nothing"
        lines.append(f"| `{kind}` | {', '.join(proofs) or nobody} | {_first(found)} |")
    return "\n".join(lines)


def put_into(page: str, results: KindResults) -> str:
    """The page with the table, and how it was measured, between its two marks."""
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    runs = results.runs
    wires = " and ".join(sorted({run.wire for run in runs}))
    wrong = sum(bool(run.wrong) for run in runs)
    measured = (
        f"{len(runs)} runs over the wires {wires}, {len(runs) - wrong} of them exactly as expected, with holdfast"
        f' {__version__}: `make chaos ARGS="kinds --seed {results.seed}"`.'
    )
    return f"{before}{BEGIN}\n{measured}\n\n{table(runs)}\n{END}{after}"


def _first(found: list[Disproof]) -> str:
    if not found:
        return "– | – | –"
    names = ", ".join(sorted({disproof.by for disproof in found}))
    seconds, length = (median(values) for values in zip(*((each.seconds, each.length) for each in found), strict=True))
    return f"{names} | {seconds:.1f} s | {length:g}"


def _run_in(document: dict[str, Any]) -> KindRun:
    first = document["first"]
    own = {name: document[name] for name in ("kind", "wire", "verdicts", "wrong")}
    return KindRun(**own, first=Disproof(**first) if first else None)


if __name__ == "__main__":
    page = Path(sys.argv[1])
    page.write_text(put_into(page.read_text(), newest(Path(sys.argv[2]))))
