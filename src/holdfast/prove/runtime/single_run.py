"""One run on one target, recorded in one folder: what the command line and the API have in common."""

import secrets
from collections.abc import Callable, Sequence
from typing import Any

from holdfast.core import SystemClock
from holdfast.core.redact import redact
from holdfast.prove.evidence import Evidence
from holdfast.prove.runtime.options import RuntimeOptions
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.run import ProofPlan, Result, Run
from holdfast.prove.runtime.stage import patience_of
from holdfast.prove.runtime.summary import summarize
from holdfast.prove.targets import Target
from holdfast.prove.wire.client import Wire


def plan_of(options: RuntimeOptions, proofs: Sequence[Proof], seed: int) -> ProofPlan:
    """What to do in one run."""
    return ProofPlan(
        proofs,
        asked_for=frozenset(options.only),
        seed=seed,
        bounds=patience_of(options.timeout),
        keep_running=options.keep_running,
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
    evidence.event("", "", "run", target=redact(target.name), seed=plan.seed, wire=options.wire.value)
    async with Wire(target.url, options.wire) as wire:
        run = Run(plan, target, wire, evidence, new_hex=lambda: secrets.token_hex(6), on_step=on_step)
        result = await run.perform()
        endpoint = wire.endpoint
    summary = summarize(
        result,
        arguments=options.arguments,
        target=target,
        endpoint=endpoint,
        seed=plan.seed,
        wire=options.wire.value,
        started_at=started_at,
        seconds=evidence.elapsed,
        folder=evidence.folder,
    )
    evidence.finish(summary)
    return result, summary
