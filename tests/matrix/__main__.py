"""The matrix: the whole catalogue, and exploring, on every template. What was run is not run again.

    make matrix                                      all that is missing; then the page and its picture
    make matrix ARGS="--only hermes,langgraph"       these templates (a path is the folder of one)
    make matrix ARGS="--part explore --budget 10m"   one part of each
    make matrix ARGS="--only hermes --again"         once more, whatever is known
    make matrix ARGS="--render"                      the page of the results that there are

Results are in docs/matrix.jsonl, a line as each run ends; the page is docs/matrix.md. If it is stopped, even by
kill -9, the run that it made ends too; the next one goes on. Evidence of the newest run of a cell is in
.artifacts/matrix. docs/matrix.toml says whose defect a disproof is; what nobody has judged is printed as such. A
disproof is no failure of the matrix; it ends with 2 if a cell could not be run at all.
"""

import argparse
import secrets
import signal
import sys
from pathlib import Path

from tests.matrix.cell import FAULT, PARTS, TIMEOUT, CellKey, CellRun, key_of, run_cell
from tests.matrix.page import put_into
from tests.matrix.picture import picture
from tests.matrix.results import judgement_of, judgements, missing, needless, newest
from tests.support.resumable import CHECKOUT, documents, held, keep

from holdfast.core.errors import InvalidInput
from holdfast.prove.targets.templates.folder import Template, find_template, template_names


def say(text: str) -> None:
    """Tell the person who waits."""
    sys.stderr.write(f"matrix: {text}\n")


def write_page(docs: Path, names: list[str]) -> list[str]:
    """The page and its picture, of the results that there are; what is still to be judged, or is judged in vain."""
    with (docs / "matrix.jsonl").open() as file:
        runs = newest(documents(file))
    judged = judgements(docs / "matrix.toml")
    templates = sorted({*names, *(template for template, _ in runs)})
    page = docs / "matrix.md"
    _replace(page, put_into(page.read_text(), "matrix.svg", templates, runs, judged))
    _replace(docs / "matrix.svg", picture(templates, runs))
    unjudged = [
        f"not judged yet: {run.template}, {each.name} ({run.part})"
        for run in runs.values()
        for each in run.disproofs
        if judgement_of(run, each, judged) is None
    ]
    return [*unjudged, *(f"judged, and not disproven: {place}" for place in needless(judged, runs.values()))]


def _replace(file: Path, text: str) -> None:
    """Whoever reads the file, and whoever is killed here, has all of the one text or all of the other."""
    new = file.with_name(f"{file.name}.new")
    new.write_text(text)
    new.replace(file)


def told(run: CellRun) -> str:
    """A run in a line."""
    if run.verdict == FAULT:
        return f"FAULT: {run.fault}"
    wrong = [f"{each.name} {each.verdict}" for each in run.unproven]
    return f"{'; '.join(wrong) or run.verdict} in {run.seconds:.0f} s"


def run_cells(options: argparse.Namespace, templates: dict[str, Template]) -> int:
    """Run what is missing, or was asked for again, one after the other; how many could not be run."""
    results, faults = options.docs / "matrix.jsonl", 0
    with held(results) as file:
        known = list(documents(file))
        seed = options.seed if options.seed is not None else known[-1]["seed"] if known else secrets.randbelow(10**6)
        parts = (options.part,) if options.part else PARTS
        keys = [key_of(each, part, seed, options.budget) for each in templates.values() for part in parts]
        left = keys if options.again else missing(keys, newest(known).values())
        say(f"{len(left)} of {len(keys)} cells are left, seed {seed}, results: {results}")
        for number, key in enumerate(left, 1):
            evidence = options.evidence / f"{key.template}-{key.part}"
            say(f"{number} of {len(left)}: {shown(key)}")
            run = run_cell(templates[key.template], key, evidence, options.timeout)
            keep(file, run.document())
            faults += run.verdict == FAULT
            say(f"{number} of {len(left)}: {shown(key)}: {told(run)}; evidence: {evidence}")
            write_page(options.docs, template_names())
    return faults


def shown(key: CellKey) -> str:
    """A cell in a few words."""
    return f"{key.template}, {key.part}{f' for {key.budget}' if key.budget else ''}"


def main() -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(
        prog="make matrix", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="these templates, with commas (default: all)")
    parser.add_argument("--part", choices=PARTS, help="this part of each (default: both)")
    parser.add_argument("--seed", type=int, help="draw all facts and histories from this (default: as the last run)")
    parser.add_argument("--budget", default="2m", help="how long to explore each (default 2m)")
    parser.add_argument("--timeout", type=float, default=TIMEOUT, help=f"seconds for an answer (default {TIMEOUT:g})")
    parser.add_argument("--again", action="store_true", help="run what is known, too")
    parser.add_argument("--render", action="store_true", help="run nothing")
    parser.add_argument("--docs", type=Path, default=CHECKOUT / "docs", help="where results and page are")
    parser.add_argument("--evidence", type=Path, default=Path(".artifacts") / "matrix", help="where evidence goes")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    given = [name.strip() for name in options.only.split(",") if name.strip()] or template_names()
    try:
        found = [find_template(name) for name in given]
    except InvalidInput as wrong:
        parser.error(f"{wrong}; {wrong.hint}")
    templates = {each.name: each for each in found}
    if len(templates) < len(found):
        parser.error("two of these templates have the same name, by which their results are known")
    faults = 0 if options.render else run_cells(options, templates)
    for line in write_page(options.docs, template_names()):
        say(line)
    return 2 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
