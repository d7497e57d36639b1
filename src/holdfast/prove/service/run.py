"""One run: the steps in order. One without which no other can be taken ends the run; of the others each has its say."""

import asyncio
import time
from dataclasses import dataclass, field

from holdfast.core import HoldfastError
from holdfast.prove.interrupt import INTERRUPTED
from holdfast.prove.live.claims import ClaimBroken, well_formed
from holdfast.prove.live.run import StepOutcome, judged
from holdfast.prove.service.stage import PartLeftOut, ServiceStage, ServiceStep
from holdfast.prove.service.steps import STEPS
from holdfast.prove.verdict import Exit, Verdict, exit_code, faulted, not_reached


@dataclass(slots=True)
class ServiceResult:
    """A whole run."""

    outcomes: list[StepOutcome] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def exit_code(self) -> Exit:
        """What the run amounts to."""
        return exit_code([], [each.finding for each in self.outcomes])


async def perform(stage: ServiceStage) -> ServiceResult:
    """Take every step that can be taken; a run that is cut short has its result."""
    result = ServiceResult()
    why, fault = "", False
    for step in STEPS:
        if why:
            outcome = StepOutcome(step.name, step.claim, not_reached(why, fault=fault))
        else:
            try:
                outcome = await _take(stage, step)
            except PartLeftOut as error:
                result.left_out[step.name] = error.message
                stage.note("", "left out", reason=error.message, hint=error.hint)
                continue
            except asyncio.CancelledError:
                task = asyncio.current_task()
                assert task is not None
                task.uncancel()
                why, fault = INTERRUPTED, True
                outcome = StepOutcome(step.name, step.claim, not_reached(INTERRUPTED, fault=True))
            if step.needed and outcome.finding.verdict is not Verdict.PROVEN and not why:
                why, fault = f"“{step.name}” does not hold", outcome.finding.fault
        result.outcomes.append(outcome)
        finding = outcome.finding
        stage.evidence.event(step.name, "", "verdict", verdict=finding.verdict, reason=finding.reason)
    return result


async def _take(stage: ServiceStage, step: ServiceStep) -> StepOutcome:
    """Take one step and judge it."""
    stage.api.step = step.name
    stage.tell("")
    began = time.monotonic()
    try:
        with well_formed():
            reason = await step.perform(stage)
    except ClaimBroken as error:
        stage.note("broken", "broken", assertion=error.assertion, reason=error.reason, got=error.got)
        return judged(step.name, step.claim, [error], "", time.monotonic() - began)
    except PartLeftOut:
        raise
    except HoldfastError as error:
        finding = faulted(error.message, hint=error.hint or "")
        return StepOutcome(step.name, step.claim, finding, time.monotonic() - began)
    return judged(step.name, step.claim, [], reason, time.monotonic() - began)
