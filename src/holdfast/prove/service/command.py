"""The whole of `holdfast prove service`, once its options are known: run, summarize, report, show."""

import asyncio
import sys
import time
from typing import Any

from holdfast.core import SystemClock
from holdfast.prove.evidence import Evidence
from holdfast.prove.interrupt import cancel_on_signals
from holdfast.prove.live.api import GatewayApi
from holdfast.prove.service import run as runs
from holdfast.prove.service.options import ServiceOptions
from holdfast.prove.service.programs import PROGRAMS
from holdfast.prove.service.stage import ServiceStage
from holdfast.prove.service.steps import STEPS
from holdfast.prove.service.summary import summarize
from holdfast.prove.service.surroundings import Surroundings
from holdfast.prove.service.surroundings.processes import ServiceProcesses
from holdfast.prove.view import terminal
from holdfast.prove.view.live import View
from holdfast.prove.view.result import print_line, tell
from holdfast.prove.wire.credentials import credentials

KIND = "service"


def prove_service(options: ServiceOptions) -> int:
    """Prove, report, return the exit code. A wrong option is InvalidInput before anything starts."""
    evidence = options.open_evidence(KIND)
    if options.as_ndjson:
        evidence.listen(print_line)
    view = View(sys.stderr, [step.name for step in STEPS], quiet=options.quiet)
    evidence.listen(view.event)

    async def run() -> dict[str, Any]:
        cancel_on_signals()
        drawing = asyncio.create_task(view.keep_drawing())
        try:
            return await _perform(options, evidence, view)
        finally:
            drawing.cancel()

    try:
        found = asyncio.run(run())
    except BaseException:
        evidence.close()
        raise
    finally:
        view.clear()
    page = evidence.folder / "report.html"
    return tell(options, found, evidence.folder, lambda: terminal.show(found, page, sys.stdout, quiet=options.quiet))


async def _perform(options: ServiceOptions, evidence: Evidence, view: View) -> dict[str, Any]:
    """Run, end what was started, write the evidence; the summary."""
    started_at = SystemClock().now()
    stamp = int(time.time() * 1000)
    programs = tuple(program for program in PROGRAMS if not options.only or program.name in options.only)
    sessions = {program.name: f"{program.session}-{stamp}" for program in programs}
    around = _surroundings(options, evidence, sessions)
    api = GatewayApi(around.url, evidence, credentials=credentials(around.token), tenant=None, within=options.timeout)

    def say(text: str) -> None:
        view.step(api.step, text)

    async with api:
        stage = ServiceStage(options, evidence, around, api, programs, sessions, options.draw_seed(), say)
        evidence.event("", "", "run", sessions=sessions, seed=stage.seed, kind=around.kind)
        try:
            result = await runs.perform(stage)
        finally:
            await around.close()
        found = summarize(result, stage, started_at=started_at, seconds=evidence.elapsed)
    evidence.finish(found)
    return found


def _surroundings(options: ServiceOptions, evidence: Evidence, sessions: dict[str, str]) -> Surroundings:
    if options.compose:
        from holdfast.prove.service.surroundings.containers import ServiceContainers

        return ServiceContainers(evidence.folder, options.checkout, sessions, options.timeout)
    return ServiceProcesses(evidence.folder, options.checkout, sessions, options.timeout, options.broken)
