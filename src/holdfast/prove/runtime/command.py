"""The whole of `holdfast prove`, once its options are known: open the evidence, run, summarize, report, show."""

import asyncio
import math
import sys
from pathlib import Path
from typing import Any

from holdfast.core.redact import redact
from holdfast.prove import report
from holdfast.prove.evidence import Evidence
from holdfast.prove.interrupt import INTERRUPTED, cancel_on_signals, wait_until_interrupted
from holdfast.prove.runtime.options import RuntimeOptions
from holdfast.prove.runtime.runs import repeat
from holdfast.prove.runtime.runs.single_run import hide_in_logs, plan_of, run_once
from holdfast.prove.runtime.selection import Selection
from holdfast.prove.targets import Target
from holdfast.prove.view import terminal
from holdfast.prove.view.live import View
from holdfast.prove.view.result import print_line, tell
from holdfast.terminal.text import escaped

COST = "long takes {turns} turns: if its model costs money, --turns N takes fewer and --skip long takes none\n"


def prove(options: RuntimeOptions) -> int:
    """Run the proofs, report, return the exit code. A wrong option is InvalidInput before anything starts."""
    selected = options.selected()
    options.check()
    options.prepare(options.tell)
    evidence = options.open_evidence("prove")
    seed = options.draw_seed()
    if options.repeat > 1:
        return _tell(options, _run_often(options, selected, evidence, seed), evidence.folder)
    target = options.target_in(evidence.folder, options.tell)
    try:
        summary = _run(options, selected, target, evidence, seed)
        code = _tell(options, summary, evidence.folder)
        if options.keep_running and target.pid is not None and target.running and not _interrupted(summary):
            _keep(target)
    finally:
        target.abandon()
        hide_in_logs(target, options)
    return code


def _keep(target: Target) -> None:
    """Leave the target running until a signal says that it is enough, or until it ends."""

    def tell() -> None:
        sys.stderr.write(f"the target runs on at {target.url} (pid {target.pid}); Ctrl-C ends it\n")
        sys.stderr.flush()

    wait_until_interrupted(target.ended(within=math.inf), tell)


def _run(options: RuntimeOptions, selected: Selection, target: Target, evidence: Evidence, seed: int) -> dict[str, Any]:
    """One run on one target; returns its summary, which is in the evidence too."""
    plan = plan_of(options, selected, seed)
    if not options.quiet:
        name = escaped(options.hide(redact(target.name)))
        spoken = f"over A2A {options.wire.value} " if options.wire else ""
        sys.stderr.write(f"proving {name} {spoken}with --seed {seed}\n")
        if options.foreign and any(proof.name == "long" for proof in selected.proofs):
            sys.stderr.write(COST.format(turns=options.turns))
    view = View(sys.stderr, [proof.name for proof in selected.proofs], quiet=options.quiet)
    evidence.listen(view.event)
    if options.as_ndjson:
        evidence.listen(print_line)

    async def perform() -> dict[str, Any]:
        cancel_on_signals()
        drawing = asyncio.create_task(view.keep_drawing())
        try:
            _, summary = await run_once(plan, target, options, evidence, on_step=view.step)
            return summary
        finally:
            drawing.cancel()

    try:
        return asyncio.run(perform())
    finally:
        view.clear()


def _run_often(options: RuntimeOptions, selected: Selection, evidence: Evidence, first_seed: int) -> dict[str, Any]:
    """A run for each seed, in a folder of its own below that of the whole; an interrupted one is the last."""
    summaries: list[dict[str, Any]] = []
    for seed in range(first_seed, first_seed + options.repeat):
        inner = evidence.within(f"run-{len(summaries) + 1}")
        target = options.target_in(inner.folder, options.tell)
        try:
            summary = _run(options, selected, target, inner, seed)
        finally:
            target.abandon()
        report.write(inner.folder)
        summaries.append(summary)
        evidence.event("", inner.folder.name, "ran", seed=seed, verdict=summary["verdict"], seconds=summary["seconds"])
        if not options.quiet:
            sys.stderr.write(f"run {len(summaries)} of {options.repeat}: {summary['verdict']}\n")
        if _interrupted(summary):
            break
    combined = repeat.combine(summaries, seconds=evidence.elapsed, folder=evidence.folder)
    evidence.finish(combined)
    return combined


def _interrupted(summary: dict[str, Any]) -> bool:
    return any(INTERRUPTED in outcome["reason"] for outcome in (*summary["prerequisites"], *summary["proofs"]))


def _tell(options: RuntimeOptions, summary: dict[str, Any], folder: Path) -> int:
    """Tell the result in the form that was asked for; returns the exit code."""
    return tell(
        options,
        summary,
        folder,
        lambda: terminal.show(summary, folder / "report.html", sys.stdout, quiet=options.quiet),
    )
