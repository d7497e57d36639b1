"""The whole of `holdfast prove explore`, once its options are known: open the evidence, explore, report, show."""

import asyncio
import shutil
import sys
from pathlib import Path
from typing import Any

from holdfast.core import SystemClock
from holdfast.core.redact import redact
from holdfast.prove.evidence import Evidence
from holdfast.prove.explore import summary
from holdfast.prove.explore.histories import history
from holdfast.prove.explore.options import ExploreOptions
from holdfast.prove.explore.run import ExplorePlan, Explorer, Suspicion
from holdfast.prove.explore.trial import Lab
from holdfast.prove.explore.view import ExploreView, show
from holdfast.prove.interrupt import cancel_on_signals
from holdfast.prove.view.result import print_line, tell
from holdfast.terminal.text import escaped


def explore(options: ExploreOptions) -> int:
    """Explore, report, return the exit code. A wrong option is InvalidInput before anything starts."""
    plan = plan_of(options)
    options.prepare(options.tell)
    evidence = options.open_evidence("prove-explore")
    view = ExploreView(sys.stderr, plan, quiet=options.quiet)
    if options.as_ndjson:
        evidence.listen(print_line)

    async def perform() -> dict[str, Any]:
        cancel_on_signals()
        return await run_once(plan, options, evidence, view)

    try:
        found = asyncio.run(perform())
    finally:
        view.clear()
    return _tell(options, found, evidence.folder)


def plan_of(options: ExploreOptions) -> ExplorePlan:
    """What to do; InvalidInput if the options do not fit together."""
    options.check()
    return ExplorePlan(
        seed=options.draw_seed(),
        bounds=options.bounds(),
        budget=options.budget,
        histories=options.histories,
        confirm=options.confirm,
        workers=options.workers(),
        replay=None if options.replay is None else history.read(options.replay),
    )


async def run_once(plan: ExplorePlan, options: ExploreOptions, evidence: Evidence, view: ExploreView) -> dict[str, Any]:
    """Explore and close the evidence; the summary, which is in the evidence too."""
    started_at = SystemClock().now()
    trials = evidence.folder / "trials"
    sample = options.target_in(_made(trials / "sample"))
    asked = options.wire.value if options.wire else ""
    view.begin(escaped(options.hide(redact(sample.name))), asked)
    evidence.event("", "", "run", target=redact(sample.name), seed=plan.seed, wire=asked)
    lab = Lab(options.target_in, trials, wire=options.wire, credentials=options.credentials, timeout=options.timeout)
    found = await Explorer(plan, lab, evidence, view.news).perform()
    for number, suspicion in enumerate([*filter(None, [found.confirmed]), *found.doubtful], 1):
        _keep(suspicion, evidence, number)
    told: dict[str, Any] = options.hide(
        summary.summarize(
            found,
            arguments=options.arguments,
            target=sample,
            about=lab.about,
            wire=lab.spoken,
            started_at=started_at,
            seconds=evidence.elapsed,
            folder=evidence.folder,
        )
    )
    evidence.finish(told)
    for log in evidence.folder.glob("target-*/*.log"):
        options.credentials.mask_file(log)
    shutil.rmtree(trials, ignore_errors=True)
    return told


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def _keep(suspicion: Suspicion, evidence: Evidence, number: int) -> None:
    """Leave the smallest history behind, for a reader and for --replay, and its performance for the report."""
    history.write(suspicion.smallest.course, evidence.folder / f"violation-{number}.json")
    for event in suspicion.smallest.events:
        evidence.event(suspicion.violation.claim, event["step"], event["event"], **_details(event))


def _details(event: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in event.items() if name not in {"step", "event"}}


def _tell(options: ExploreOptions, found: dict[str, Any], folder: Path) -> int:
    """Tell the result in the form that was asked for; returns the exit code."""
    return tell(options, found, folder, lambda: show(found, folder, sys.stdout, quiet=options.quiet))
