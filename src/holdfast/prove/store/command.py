"""The whole of `holdfast prove store`, once its options are known: open the evidence, run, summarize, show."""

import asyncio
import secrets
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast.core import SystemClock
from holdfast.prove.evidence import open_evidence, pretty
from holdfast.prove.interrupt import cancel_on_signals
from holdfast.prove.store import report
from holdfast.prove.store.clauses import contract, select
from holdfast.prove.store.loading import split
from holdfast.prove.store.run import Plan, Result, meet, perform
from holdfast.prove.store.stage import Bounds
from holdfast.terminal.progress import ProgressLine
from holdfast.terminal.text import escaped


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for. `arguments` is the same as it was written, for the evidence."""

    adapter: str
    only: tuple[str, ...]
    seed: int | None
    bounds: Bounds
    artifacts: Path
    as_json: bool
    arguments: Mapping[str, Any] = field(default_factory=dict)


def prove_store(options: Options) -> int:
    """Put the store under the contract, report, return the exit code. A wrong option is InvalidInput at once."""
    clauses = select(contract(), options.only)
    split(options.adapter)
    clock = SystemClock()
    started_at = clock.now()
    evidence = open_evidence(options.artifacts, "prove-store", clock, time.monotonic)
    progress = ProgressLine(sys.stderr)
    plan = Plan(
        options.adapter,
        clauses,
        asked_for=frozenset(options.only),
        seed=secrets.randbelow(999_999) + 1 if options.seed is None else options.seed,
        bounds=options.bounds,
    )

    async def run() -> Result:
        subject = await meet(plan.adapter, evidence)
        cancel_on_signals()
        sys.stderr.write(f"proving {escaped(subject.name)} with --seed {plan.seed}\n")
        evidence.event("", "", "run", store=subject.name, offers=sorted(subject.offers), seed=plan.seed)
        return await perform(
            plan, subject, evidence, lambda clause, step: progress(f"… {clause}: {step}", at_once=True)
        )

    try:
        result = asyncio.run(run())
    finally:
        progress.clear()
    seconds = evidence.elapsed
    summary = report.summarize(
        result,
        plan,
        arguments=options.arguments,
        started_at=started_at,
        seconds=seconds,
        folder=evidence.folder,
    )
    evidence.finish(summary)
    if options.as_json:
        sys.stdout.write(pretty(summary).decode())
    else:
        report.show(result, evidence.folder, seconds, sys.stdout)
    return int(result.exit_code)
