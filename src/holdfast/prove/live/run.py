"""One run: the steps in order, each followed by what must hold after every step; cleanup in any case."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast.core import HoldfastError
from holdfast.prove.evidence import Evidence
from holdfast.prove.interrupt import INTERRUPTED
from holdfast.prove.live import after_step, remains
from holdfast.prove.live.claims import ClaimBroken, StepUnjudged, well_formed
from holdfast.prove.live.stage import LiveStage, LiveStep
from holdfast.prove.live.steps import SCENARIO
from holdfast.prove.live.steps.cleanup import CLEANUP
from holdfast.prove.live.steps.recovery import RECOVERY
from holdfast.prove.verdict import (
    Exit,
    Finding,
    Verdict,
    disproven,
    exit_code,
    faulted,
    inconclusive,
    not_reached,
    proven,
)

NOT_OURS = "the gateway is not ours to kill: --isolated proves it on one that is, --recovery interrupts a turn of ours"
KEPT = "--keep-artifacts: the proof's sessions are still there"

OnStep = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """What was found of a step; `assertion` is the first that does not hold, `done` that its own work was done."""

    name: str
    claim: str
    finding: Finding
    seconds: float = 0.0
    assertion: str = ""
    done: bool = False


@dataclass(slots=True)
class LiveResult:
    """A whole run."""

    prerequisites: list[StepOutcome] = field(default_factory=list)
    outcomes: list[StepOutcome] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    store_before: dict[str, Any] = field(default_factory=dict)
    store_after: dict[str, Any] = field(default_factory=dict)

    @property
    def exit_code(self) -> Exit:
        """What the run amounts to."""
        found = [[each.finding for each in outcomes] for outcomes in (self.prerequisites, self.outcomes)]
        return exit_code(*found)


async def perform(stage: LiveStage, evidence: Evidence, *, keep: bool, on_step: OnStep) -> LiveResult:
    """Take every step; a run that is cut short still cleans up and has its result."""
    result = LiveResult()
    steps, result.left_out = planned(stage, keep=keep)
    before = _whole(stage)
    interrupted = False
    for step in steps:
        if interrupted and step is not CLEANUP:
            result.outcomes.append(_unreached(step, INTERRUPTED, fault=True))
            continue
        if lacking := [need for need in sorted(step.needs) if need not in _done(result.outcomes)]:
            result.outcomes.append(_unreached(step, f"{lacking[0]} does not hold"))
            continue
        on_step(step.name)
        try:
            outcome = await _take(stage, step)
        except asyncio.CancelledError:
            interrupted = True
            task = asyncio.current_task()
            assert task is not None
            task.uncancel()
            outcome = _unreached(step, INTERRUPTED, fault=True)
        if step is CLEANUP and outcome.finding.verdict is Verdict.PROVEN:
            outcome = _differences(stage, before, outcome, result)
        result.outcomes.append(outcome)
        evidence.event(step.name, "", "verdict", verdict=outcome.finding.verdict, reason=outcome.finding.reason)
    return result


def planned(stage: LiveStage, *, keep: bool) -> tuple[list[LiveStep], dict[str, str]]:
    """The steps that are taken, and why the others are not."""
    left_out = {}
    if stage.power is None and not stage.may_interrupt:
        left_out[RECOVERY.name] = NOT_OURS
    if keep:
        left_out[CLEANUP.name] = KEPT
    return [step for step in SCENARIO if step.name not in left_out], left_out


async def _take(stage: LiveStage, step: LiveStep) -> StepOutcome:
    """Take one step and judge it."""
    stage.api.step = step.name
    began = time.monotonic()
    broken: list[ClaimBroken] = []
    reason = ""
    try:
        try:
            with well_formed():
                reason = await step.perform(stage)
        except ClaimBroken as error:
            broken.append(error)
        broken += await after_step.judge(stage, step)
    except StepUnjudged as error:
        finding = inconclusive(error.message, hint=error.hint or "")
        return StepOutcome(step.name, step.claim, finding, time.monotonic() - began)
    except HoldfastError as error:
        finding = faulted(error.message, hint=_left_behind(stage, step) or error.hint or "")
        return StepOutcome(step.name, step.claim, finding, time.monotonic() - began)
    for each in broken:
        stage.note("broken", assertion=each.assertion, reason=each.reason, expected=each.expected, got=each.got)
    return judged(step.name, step.claim, broken, reason, time.monotonic() - began, hint=_left_behind(stage, step))


def judged(
    name: str, claim: str, broken: Sequence[ClaimBroken], reason: str, seconds: float, hint: str = ""
) -> StepOutcome:
    """The outcome of a step in which these assertions were broken; without a reason its own work was not done."""
    if not broken:
        return StepOutcome(name, claim, proven(reason), seconds, done=True)
    first = broken[0]
    finding = disproven(
        f"{first.assertion}: {first.reason}", expected=first.expected, got=first.got, hint=first.hint or hint
    )
    return StepOutcome(name, claim, finding, seconds, first.assertion, done=bool(reason))


def _left_behind(stage: LiveStage, step: LiveStep) -> str:
    """What to do about sessions that a cleanup could not take away."""
    return f"to remove what is left: holdfast sessions rm {' '.join(stage.sessions)}" if step is CLEANUP else ""


def _differences(
    stage: LiveStage, before: remains.WholeStore | None, outcome: StepOutcome, result: LiveResult
) -> StepOutcome:
    """The outcome of cleanup once the rows that are left are known, and whether anything else differs."""
    broken: list[ClaimBroken] = []
    with stage.database.look() as look:
        try:
            left = remains.left(look, stage.numbers(look), stage.sessions, stage.started_at)
            result.store_after["left"] = left
            if before is not None:
                remains.check_nothing_else(before, remains.whole(look), look, left)
        except ClaimBroken as error:
            broken.append(error)
    return judged(outcome.name, outcome.claim, broken, outcome.finding.reason, outcome.seconds)


def _whole(stage: LiveStage) -> remains.WholeStore | None:
    """Every row, if nobody else writes any."""
    if not stage.alone:
        return None
    with stage.database.look() as look:
        return remains.whole(look)


def _unreached(step: LiveStep, why: str, *, fault: bool = False) -> StepOutcome:
    return StepOutcome(step.name, step.claim, not_reached(why, fault=fault))


def _done(outcomes: Sequence[StepOutcome]) -> set[str]:
    return {each.name for each in outcomes if each.done}
