"""One run on one target, recorded in one folder: what the command line and the API have in common."""

import math
import secrets
from collections.abc import Callable, Mapping
from typing import Any

from holdfast.core import SystemClock
from holdfast.core.errors import InvalidInput
from holdfast.core.redact import redact
from holdfast.prove.evidence import Evidence
from holdfast.prove.runtime.run import Plan, Result, Run
from holdfast.prove.runtime.stage import Bounds
from holdfast.prove.runtime.summary import summarize
from holdfast.prove.targets import Target
from holdfast.prove.wire.client import Wire
from holdfast.prove.wire.envelopes import WireVersion

RECOVERY_SECONDS = 15.0


async def run_once(
    plan: Plan,
    target: Target,
    version: WireVersion,
    evidence: Evidence,
    *,
    on_step: Callable[[str, str], None],
    arguments: Mapping[str, Any],
) -> tuple[Result, dict[str, Any]]:
    """Run the plan and close the evidence; the result, and its summary, which is in the evidence too."""
    started_at = SystemClock().now()
    evidence.event("", "", "run", target=redact(target.name), seed=plan.seed, wire=version.value)
    async with Wire(target.url, version) as wire:
        run = Run(plan, target, wire, evidence, new_hex=lambda: secrets.token_hex(6), on_step=on_step)
        result = await run.perform()
        endpoint = wire.endpoint
    summary = summarize(
        result,
        arguments=arguments,
        target=target,
        endpoint=endpoint,
        seed=plan.seed,
        wire=version.value,
        started_at=started_at,
        seconds=evidence.elapsed,
        folder=evidence.folder,
    )
    evidence.finish(summary)
    return result, summary


def seed_of(asked: int | None) -> int:
    """The seed that was asked for; else one that nobody can foresee, and never the classic one."""
    return secrets.randbelow(999_999) + 1 if asked is None else asked


def bounds(timeout: float) -> Bounds:
    """How long things may take in a run with this --timeout. A turn that is resumed takes its time as any does."""
    if not 0 < timeout < math.inf:
        raise InvalidInput("--timeout is a number of seconds", hint="for example --timeout 60")
    return Bounds(answer=timeout, recovery=max(min(RECOVERY_SECONDS, timeout), timeout / 2))
