"""One run on one target, recorded in one folder: what the command line and the API have in common."""

import secrets
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from holdfast.core import SystemClock
from holdfast.core.redact import redact
from holdfast.prove.evidence import Evidence
from holdfast.prove.runtime.options import RuntimeOptions
from holdfast.prove.runtime.runs.run import Outcome, ProofPlan, Result, Run
from holdfast.prove.runtime.selection import Selection
from holdfast.prove.runtime.stage import patience_of
from holdfast.prove.runtime.summary import summarize
from holdfast.prove.targets import Target
from holdfast.prove.wire.client import Wire


def plan_of(options: RuntimeOptions, selected: Selection, seed: int) -> ProofPlan:
    """What to do in one run."""
    return ProofPlan(
        selected.proofs,
        asked_for=frozenset(options.only),
        seed=seed,
        bounds=patience_of(options.timeout),
        keep_running=options.keep_running,
        left_out=selected.left_out,
        turns=options.turns,
    )


async def run_once(
    plan: ProofPlan,
    target: Target,
    options: RuntimeOptions,
    evidence: Evidence,
    *,
    on_step: Callable[[str, str], None],
) -> tuple[Result, dict[str, Any]]:
    """Run the plan and close the evidence; the result, and its summary, which is in the evidence too."""
    started_at = SystemClock().now()
    evidence.event("", "", "run", target=redact(target.name), seed=plan.seed)
    async with Wire(target.url, options.wire, options.credentials) as wire:
        run = Run(plan, target, wire, evidence, new_hex=lambda: secrets.token_hex(6), on_step=on_step)
        result = _without_secrets(await run.perform(), options)
        endpoint, spoken = wire.endpoint, wire.version.value
    summary = summarize(
        result,
        arguments=options.arguments,
        target=target,
        endpoint=endpoint,
        seed=plan.seed,
        wire=spoken,
        started_at=started_at,
        seconds=evidence.elapsed,
        folder=evidence.folder,
    )
    summary = options.hide(summary)
    evidence.finish(summary)
    if not plan.keep_running:
        hide_in_logs(target, options)
    return result, summary


def _without_secrets(result: Result, options: RuntimeOptions) -> Result:
    """The result as a program may show it: what is masked in the summary is masked in it too."""

    def hidden(text: str) -> str:
        masked: str = options.hide(redact(text))
        return masked

    def outcome(found: Outcome) -> Outcome:
        finding = found.finding
        masked = replace(
            finding,
            reason=hidden(finding.reason),
            expected=hidden(finding.expected),
            got=hidden(finding.got),
            curl=hidden(finding.curl),
            hint=hidden(finding.hint),
        )
        return replace(found, finding=masked)

    return replace(
        result,
        prerequisites=tuple(map(outcome, result.prerequisites)),
        proofs=tuple(map(outcome, result.proofs)),
        left_out=tuple(map(outcome, result.left_out)),
        layers=tuple(
            replace(layer, expected=hidden(layer.expected), got=hidden(layer.got), curl=hidden(layer.curl))
            for layer in result.layers
        ),
    )


def hide_in_logs(target: Target, options: RuntimeOptions) -> None:
    """Take the credentials out of what the target printed, once it has ended."""
    for log in target.logs():
        options.credentials.mask_file(log)
