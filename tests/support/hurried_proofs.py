"""Proofs of a target that is paused for a moment only, or looked at in a hurry."""

from dataclasses import replace
from typing import Unpack

from holdfast.prove.runtime.options import ProveArguments, RuntimeOptions
from holdfast.prove.runtime.runs.run import Result
from holdfast.prove.runtime.runs.single_run import plan_of, run_once


async def prove_hurried(*only: str, pause: float = 5.0, look: float = 5.0, **options: Unpack[ProveArguments]) -> Result:
    """As `prove_async`, with other bounds than users have; there is no report."""
    asked = RuntimeOptions.of(only, options, {})
    asked.check()
    evidence = asked.open_evidence("prove")
    plan = plan_of(asked, asked.selected(), asked.draw_seed())
    hurried = replace(plan, bounds=replace(plan.bounds, pause=pause, look=look))
    result, _ = await run_once(hurried, asked.target_in(evidence.folder), asked, evidence, on_step=lambda *_: None)
    return result
