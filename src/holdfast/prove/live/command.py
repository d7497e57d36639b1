"""The whole of `holdfast prove live`, once its options are known: open the evidence, run, summarize, report, show."""

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.core import HoldfastError, SystemClock
from holdfast.core.redact import redact
from holdfast.prove.evidence import Evidence
from holdfast.prove.interrupt import cancel_on_signals
from holdfast.prove.live import isolated, legacy_files, preflight, proof_rows, summary
from holdfast.prove.live.api import GatewayApi
from holdfast.prove.live.claims import ClaimBroken
from holdfast.prove.live.doctor import VALIDATE, ask_doctor
from holdfast.prove.live.isolated import IsolatedGateway
from holdfast.prove.live.options import LiveOptions
from holdfast.prove.live.run import LiveResult, OnStep, StepOutcome, judged, perform
from holdfast.prove.live.stage import LiveStage
from holdfast.prove.live.steps import SCENARIO
from holdfast.prove.verdict import faulted, not_reached
from holdfast.prove.view import terminal
from holdfast.prove.view.result import print_line, tell
from holdfast.terminal.progress import ProgressLine
from holdfast.terminal.text import escaped

KIND = "live"


def prove_live(options: LiveOptions) -> int:
    """Prove, report, return the exit code. A wrong option is InvalidInput before anything starts."""
    evidence = options.open_evidence(KIND)
    if options.as_ndjson:
        evidence.listen(print_line)
    progress = ProgressLine(sys.stderr)
    if not options.quiet:
        sys.stderr.write(f"proving {_name(options)}\n")

    async def run() -> dict[str, Any]:
        cancel_on_signals()
        return await LiveRun(options, evidence).perform(
            lambda step: None if options.quiet else progress(f"… {step}", at_once=True)
        )

    try:
        found = asyncio.run(run())
    except BaseException:
        evidence.close()
        raise
    finally:
        progress.clear()
    page = evidence.folder / "report.html"
    return tell(options, found, evidence.folder, lambda: terminal.show(found, page, sys.stdout, quiet=options.quiet))


def _name(options: LiveOptions) -> str:
    if options.isolated:
        return f"broken:{options.broken}" if options.broken else "an isolated gateway"
    return escaped(redact(options.url))


@dataclass(slots=True)
class LiveRun:
    """One run and its evidence."""

    options: LiveOptions
    evidence: Evidence

    async def perform(self, on_step: OnStep) -> dict[str, Any]:
        """Run, clean up, write the evidence; the summary."""
        started_at = SystemClock().now()
        key = self.options.key(self.evidence.folder.name)
        gateway = isolated.isolated_gateway(self.options, self.evidence) if self.options.isolated else None
        url = gateway.target.url if gateway else self.options.url
        self.evidence.event("", "", "run", target=redact(url), key=key)
        try:
            result, stage = await self._run(url, key, started_at, gateway, on_step)
            if gateway is not None:
                await ask_doctor(gateway.data, gateway.url, self.evidence)
        finally:
            if gateway is not None:
                gateway.target.abandon()
        found: dict[str, Any] = self.options.hide(
            summary.summarize(
                result,
                arguments=self.options.arguments,
                name=gateway.target.name if gateway else url,
                url=url,
                command=gateway.target.command_line if gateway else "",
                key=key,
                gateway_version=stage.version if stage else "",
                started_at=started_at,
                seconds=self.evidence.elapsed,
                folder=self.evidence.folder,
                logs=[path.name for path in gateway.target.logs()] if gateway else [],
            )
        )
        self.evidence.finish(found)
        return found

    async def _run(
        self, url: str, key: str, started_at: int, gateway: IsolatedGateway | None, on_step: OnStep
    ) -> tuple[LiveResult, LiveStage | None]:
        options, evidence = self.options, self.evidence
        api = GatewayApi(url, evidence, credentials=options.credentials, tenant=options.tenant, within=options.timeout)
        async with api:
            startup: list[StepOutcome] = []
            on_step(preflight.NAME)
            began = evidence.elapsed
            try:
                if gateway is not None:
                    await gateway.target.start()
                    startup.append(isolated.startup_import(gateway, evidence))
                power = gateway.target if gateway else None
                stage = await preflight.prepare(options, api, evidence, key=key, started_at=started_at, power=power)
            except (ClaimBroken, HoldfastError) as error:
                return _not_fit(error, startup), None
            where = options.store or stage.store
            await ask_doctor(stage.legacy, where, evidence, modes=[VALIDATE], step=preflight.NAME)
            took = evidence.elapsed - began
            before = legacy_files.hashes(stage.seen.legacy)
            seen = dict(stage.seen.legacy)
            store = {"rows": stage.seen.total, "storeId": _store_id(stage), "at": started_at}
            summary.write(evidence.folder, "store-before.json", store)
            result = await perform(stage, evidence, keep=options.keep_artifacts, on_step=on_step)
            result.prerequisites.append(judged(preflight.NAME, preflight.CLAIM, [], "the gateway can be proven", took))
            result.outcomes[:0] = startup
            result.store_before = store
            self._write(stage, result, seen, before)
            return result, stage

    def _write(
        self, stage: LiveStage, result: LiveResult, seen: dict[str, legacy_files.FileMark], before: dict[str, str]
    ) -> None:
        """The files of the evidence that are made once the run is over."""
        folder: Path = self.evidence.folder
        now = legacy_files.legacy_marks(stage.legacy)
        after = legacy_files.hashes(now)
        with stage.database.look() as look:
            rows = proof_rows.counts(look)
        moved = {table: rows[table] - result.store_before["rows"][table] for table in rows}
        summary.write(folder, "store-after.json", {"rows": rows, "moved": moved, "left": [], **result.store_after})
        summary.write(
            folder,
            "legacy-files.json",
            {
                "folder": str(stage.legacy),
                "before": summary.marks(seen, before),
                "after": summary.marks(now, after),
                "changed": sorted(path for path in {*before, *after} if before.get(path) != after.get(path)),
            },
        )
        summary.write(folder, "gateway-log-scan.json", stage.log.document())


def _not_fit(error: ClaimBroken | HoldfastError, startup: list[StepOutcome]) -> LiveResult:
    """The result of a run that ended before any turn was sent."""
    if isinstance(error, ClaimBroken):
        failed = judged(preflight.NAME, preflight.CLAIM, [error], "", 0.0)
    else:
        failed = StepOutcome(preflight.NAME, preflight.CLAIM, faulted(error.message, hint=error.hint or ""))
    why = not_reached("the preflight failed, so no turn was sent")
    return LiveResult([failed], [*startup, *(StepOutcome(step.name, step.claim, why) for step in SCENARIO)])


def _store_id(stage: LiveStage) -> str:
    with stage.database.look() as look:
        return str(look.rows("SELECT value FROM schema_meta WHERE key = 'store_id'")[0]["value"])
