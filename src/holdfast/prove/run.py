"""Runs proofs on a target: prerequisites in order, then at once all that do not restart it, then the others.

However a run ends, by itself, by a defect or by a signal, the target is gone afterwards. One
defect never hides another: a proof is skipped only if something that it names is broken.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from holdfast.core import HoldfastError
from holdfast.prove import facts
from holdfast.prove.evidence import Evidence
from holdfast.prove.prerequisites import PREREQUISITES
from holdfast.prove.proof import Proof
from holdfast.prove.stage import Bounds, Stage
from holdfast.prove.targets import NotReady, Target
from holdfast.prove.verdict import Exit, Finding, Verdict, exit_code, faulted, inconclusive, not_reached
from holdfast.prove.wire import Wire

NEEDS_RESTART = "this target cannot be restarted from here"
INTERRUPTED = "the run was interrupted"
DYING_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Outcome:
    """A proof (or prerequisite) and what was found."""

    proof: Proof
    finding: Finding
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Result:
    """A whole run; `left_out` are proofs that this target cannot support and nobody asked for by name."""

    prerequisites: tuple[Outcome, ...]
    proofs: tuple[Outcome, ...]
    left_out: tuple[Proof, ...]
    exit_code: Exit


@dataclass(frozen=True, slots=True)
class Plan:
    """What to prove: the proofs in order, and which of them were asked for by name."""

    proofs: Sequence[Proof]
    asked_for: frozenset[str]
    seed: int
    bounds: Bounds


class Run:
    """One run of a plan on a target."""

    def __init__(
        self,
        plan: Plan,
        target: Target,
        wire: Wire,
        evidence: Evidence,
        *,
        new_hex: Callable[[], str],
        on_step: Callable[[str, str], None],
    ) -> None:
        self._plan = plan
        self._target = target
        self._wire = wire
        self._evidence = evidence
        self._new_hex = new_hex
        self._on_step = on_step
        self._outcomes: dict[str, Outcome] = {}
        possible = [proof for proof in plan.proofs if target.restartable or not proof.restarts]
        self._proofs = [proof for proof in plan.proofs if proof in possible or proof.name in plan.asked_for]
        self._left_out = tuple(proof for proof in plan.proofs if proof not in self._proofs)

    async def perform(self) -> Result:
        """Run everything; a cancelled run is cut short and still has its result."""
        interrupted = False
        try:
            for proof in PREREQUISITES:
                await self._attempt(proof, alone=True)
            async with asyncio.TaskGroup() as together:
                for proof in self._proofs:
                    if not proof.restarts:
                        together.create_task(self._attempt(proof, alone=False))
            for proof in self._proofs:
                if proof.restarts:
                    await self._attempt(proof, alone=True)
        except asyncio.CancelledError:
            interrupted = True
        finally:
            self._target.abandon()
        return self._result(interrupted)

    def _result(self, interrupted: bool) -> Result:
        for proof in (*PREREQUISITES, *self._proofs):
            if interrupted and proof.name not in self._outcomes:
                self._conclude(Outcome(proof, Finding(Verdict.NOT_REACHED, INTERRUPTED, fault=True)))
        prerequisites = tuple(self._outcomes[proof.name] for proof in PREREQUISITES)
        proofs = tuple(self._outcomes[proof.name] for proof in self._proofs)
        code = exit_code([outcome.finding for outcome in prerequisites], [outcome.finding for outcome in proofs])
        return Result(prerequisites, proofs, self._left_out, code)

    async def _attempt(self, proof: Proof, *, alone: bool) -> None:
        """Bring a proof to its outcome; one that is alone may start a target that is down."""
        began = time.monotonic()
        finding = self._blocked(proof) or await self._try(proof, alone)
        self._conclude(Outcome(proof, finding, time.monotonic() - began))

    def _blocked(self, proof: Proof) -> Finding | None:
        for need in proof.needs:
            needed = self._outcomes[need].finding
            if needed.verdict is Verdict.NOT_REACHED:
                return not_reached(needed.reason)
            if needed.verdict is not Verdict.PROVEN:
                return not_reached(f"needs {need}, which is {needed.verdict}")
        if proof.restarts and not self._target.restartable:
            return inconclusive(NEEDS_RESTART, hint="use --command, so that the proof can start and kill it")
        return None

    async def _try(self, proof: Proof, alone: bool) -> Finding:
        drawn = facts.draw(self._plan.seed, proof.name)
        stage = Stage(
            proof=proof.name,
            facts=drawn,
            target=self._target,
            wire=self._wire,
            evidence=self._evidence,
            bounds=self._plan.bounds,
            new_hex=self._new_hex,
            on_step=self._on_step,
        )
        try:
            if alone:
                await stage.ensure_running()
            await proof.steps(stage)
        except NotReady as error:
            return faulted(f"the target is not ready: {error.message}", hint=error.hint or "")
        except HoldfastError as error:
            # A connection breaks a moment before the end of the process behind it can be seen.
            if await self._target.ended(within=DYING_SECONDS):
                return faulted(error.message, hint="the target ended by itself: see its newest log in the evidence")
            return faulted(error.message, hint=error.hint or "")
        return proof.check(stage.history, drawn)

    def _conclude(self, outcome: Outcome) -> None:
        self._outcomes[outcome.proof.name] = outcome
        finding = outcome.finding
        self._evidence.event(
            outcome.proof.name,
            "",
            "verdict",
            verdict=finding.verdict.value,
            reason=finding.reason,
            fault=finding.fault,
        )
