"""The whole of `holdfast prove`, once its options are known: open the evidence, run, summarize, report, show."""

import asyncio
import math
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from holdfast.core import strict_json
from holdfast.core.redact import redact
from holdfast.prove import report
from holdfast.prove.evidence import Evidence, pretty
from holdfast.prove.interrupt import INTERRUPTED, cancel_on_signals, wait_until_interrupted
from holdfast.prove.report import ci
from holdfast.prove.runtime import repeat
from holdfast.prove.runtime.options import RuntimeOptions
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.single_run import plan_of, run_once
from holdfast.prove.targets import Target
from holdfast.prove.verdict import Exit
from holdfast.prove.view import terminal
from holdfast.prove.view.live import View
from holdfast.terminal.text import escaped


def prove(options: RuntimeOptions) -> int:
    """Run the proofs, report, return the exit code. A wrong option is InvalidInput before anything starts."""
    proofs = options.selected()
    options.check()
    evidence = options.open_evidence("prove")
    seed = options.draw_seed()
    if options.repeat > 1:
        return _tell(options, _run_often(options, proofs, evidence, seed), evidence.folder)
    target = options.target_in(evidence.folder)
    try:
        summary = _run(options, proofs, target, evidence, seed)
        code = _tell(options, summary, evidence.folder)
        if options.keep_running and target.pid is not None and target.running and not _interrupted(summary):
            _keep(target)
    finally:
        target.abandon()
    return code


def _keep(target: Target) -> None:
    """Leave the target running until a signal says that it is enough, or until it ends."""

    def tell() -> None:
        sys.stderr.write(f"the target runs on at {target.url} (pid {target.pid}); Ctrl-C ends it\n")
        sys.stderr.flush()

    wait_until_interrupted(target.ended(within=math.inf), tell)


def _run(
    options: RuntimeOptions, proofs: Sequence[Proof], target: Target, evidence: Evidence, seed: int
) -> dict[str, Any]:
    """One run on one target; returns its summary, which is in the evidence too."""
    plan = plan_of(options, proofs, seed)
    if not options.quiet:
        name = escaped(redact(target.name))
        sys.stderr.write(f"proving {name} over A2A {options.wire.value} with --seed {seed}\n")
    view = View(sys.stderr, [proof.name for proof in proofs], quiet=options.quiet)
    evidence.listen(view.event)
    if options.as_ndjson:
        evidence.listen(_print_line)

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


def _run_often(options: RuntimeOptions, proofs: Sequence[Proof], evidence: Evidence, first_seed: int) -> dict[str, Any]:
    """A run for each seed, in a folder of its own below that of the whole; an interrupted one is the last."""
    summaries: list[dict[str, Any]] = []
    for seed in range(first_seed, first_seed + options.repeat):
        inner = evidence.within(f"run-{len(summaries) + 1}")
        target = options.target_in(inner.folder)
        try:
            summary = _run(options, proofs, target, inner, seed)
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
    return any(outcome["reason"] == INTERRUPTED for outcome in (*summary["prerequisites"], *summary["proofs"]))


def _tell(options: RuntimeOptions, summary: dict[str, Any], folder: Path) -> int:
    """Write the reports and show the result in the form that was asked for; returns the exit code."""
    code = int(summary["exit_code"])
    try:
        report.write(folder)
        if options.junit is not None:
            options.junit.write_bytes((folder / "junit.xml").read_bytes())
    except Exception:
        # What was found stands, whatever becomes of the reports; but what is not reported is not green.
        traceback.print_exc()
        sys.stderr.write("error: the reports could not be made; summary.json is there\n")
        code = code or int(Exit.FAULT)
    if options.as_json:
        sys.stdout.write(pretty(summary).decode())
    elif options.as_ndjson:
        _print_line({"event": "summary", **summary})
    else:
        terminal.show(summary, folder / "report.html", sys.stdout, quiet=options.quiet)
    sys.stdout.flush()
    ci.tell(summary, sys.stderr)
    return code


def _print_line(document: dict[str, Any]) -> None:
    sys.stdout.write(strict_json.encode(document).decode() + "\n")
    sys.stdout.flush()
