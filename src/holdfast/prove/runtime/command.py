"""The whole of `holdfast prove`, once its options are known: open the evidence, run, summarize, report, show."""

import asyncio
import math
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast.core import SystemClock, strict_json
from holdfast.core.errors import InvalidInput
from holdfast.core.redact import redact
from holdfast.prove import report
from holdfast.prove.evidence import Evidence, open_evidence, pretty
from holdfast.prove.interrupt import cancel_on_signals, wait_until_interrupted
from holdfast.prove.report import ci
from holdfast.prove.runtime import repeat
from holdfast.prove.runtime.own_proofs import with_own
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.proofs import catalogue, select
from holdfast.prove.runtime.run import INTERRUPTED, Plan
from holdfast.prove.runtime.single_run import bounds, run_once, seed_of
from holdfast.prove.targets import Choice, Target, check, choose
from holdfast.prove.verdict import Exit
from holdfast.prove.view import terminal
from holdfast.prove.view.live import View
from holdfast.prove.wire.envelopes import WireVersion
from holdfast.terminal.text import escaped


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for. `arguments` is the same as it was written, for the evidence."""

    target: Choice
    only: tuple[str, ...]
    seed: int | None
    wire: WireVersion
    timeout: float
    artifacts: Path
    as_json: bool = False
    as_ndjson: bool = False
    quiet: bool = False
    repeat: int = 1
    junit: Path | None = None
    keep_running: bool = False
    proofs: tuple[Path, ...] = ()
    arguments: Mapping[str, Any] = field(default_factory=dict)


def prove(options: Options) -> int:
    """Run the proofs, report, return the exit code. A wrong option is InvalidInput before anything starts."""
    proofs = select(with_own(catalogue(), options.proofs), options.only)
    _check(options)
    evidence = open_evidence(options.artifacts, "prove", SystemClock(), time.monotonic)
    seed = seed_of(options.seed)
    if options.repeat > 1:
        return _tell(options, _run_often(options, proofs, evidence, seed), evidence.folder)
    target = choose(options.target, evidence.folder, options.timeout)
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


def _check(options: Options) -> None:
    check(options.target)
    if options.as_json and options.as_ndjson:
        raise InvalidInput("--json and --ndjson exclude each other", hint="--ndjson ends with the summary")
    if options.keep_running and options.repeat > 1:
        raise InvalidInput("--keep-running is for a single run", hint="leave out --repeat")
    bounds(options.timeout)
    if options.junit is not None:
        try:
            options.junit.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidInput(
                f"there can be no folder {options.junit.parent}: {error.strerror}", hint="see --junit"
            ) from None


def _run(options: Options, proofs: Sequence[Proof], target: Target, evidence: Evidence, seed: int) -> dict[str, Any]:
    """One run on one target; returns its summary, which is in the evidence too."""
    plan = Plan(
        proofs,
        asked_for=frozenset(options.only),
        seed=seed,
        bounds=bounds(options.timeout),
        keep_running=options.keep_running,
    )
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
            _, summary = await run_once(
                plan, target, options.wire, evidence, on_step=view.step, arguments=options.arguments
            )
            return summary
        finally:
            drawing.cancel()

    try:
        return asyncio.run(perform())
    finally:
        view.clear()


def _run_often(options: Options, proofs: Sequence[Proof], evidence: Evidence, first_seed: int) -> dict[str, Any]:
    """A run for each seed, in a folder of its own below that of the whole; an interrupted one is the last."""
    summaries: list[dict[str, Any]] = []
    for seed in range(first_seed, first_seed + options.repeat):
        inner = evidence.within(f"run-{len(summaries) + 1}")
        target = choose(options.target, inner.folder, options.timeout)
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


def _tell(options: Options, summary: dict[str, Any], folder: Path) -> int:
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
