"""Runs proofs on a target, side by side, and lets those share a restart that need one (see `rounds`).

First the prerequisites, in order. Then at once all that do not restart the target, and the steps of those that want it
stopped; a SIGTERM and a start, and what these do afterwards. Then the steps of those that want it killed; a SIGKILL and
a start, and what these do afterwards. However a run ends, by itself, by a defect or by a signal, the target is gone
afterwards. One defect never hides another: a proof is skipped only if something that it names is broken. Nor does a
fault hide a disproof: what was seen before it counts.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from holdfast.core import HoldfastError
from holdfast.prove.evidence import Evidence
from holdfast.prove.interrupt import INTERRUPTED
from holdfast.prove.runtime import facts
from holdfast.prove.runtime.checks import stood_still
from holdfast.prove.runtime.layers import Layer, diagnose, trouble_in
from holdfast.prove.runtime.peer import Peer
from holdfast.prove.runtime.prerequisites import PREREQUISITES, missing, offers
from holdfast.prove.runtime.proof import Power, Proof, Steps
from holdfast.prove.runtime.runs.restarts import Switch
from holdfast.prove.runtime.runs.rounds import Round, rounds
from holdfast.prove.runtime.stage import LONG_TURNS, Patience, Stage
from holdfast.prove.targets import Target, TargetNotReady
from holdfast.prove.verdict import Exit, Finding, Verdict, exit_code, faulted, inconclusive, not_reached
from holdfast.prove.wire.client import Wire

DYING_SECONDS = 0.5
PEER = "peer"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A proof (or prerequisite) and what was found; `seconds` is how long it was at work itself."""

    proof: Proof
    finding: Finding
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Result:
    """A whole run; `left_out` are proofs that this target cannot support and nobody asked for by name, and why.

    `layers` say where the target is broken, if something is; `folder` is the evidence.
    """

    prerequisites: tuple[Outcome, ...]
    proofs: tuple[Outcome, ...]
    left_out: tuple[Outcome, ...]
    exit_code: Exit
    layers: tuple[Layer, ...]
    folder: Path


@dataclass(frozen=True, slots=True)
class ProofPlan:
    """What to prove: the proofs in order, which of them were asked for by name, and which are left out beforehand.

    `turns` are those of a long conversation. With `keep_running` the target is left to whoever made it.
    """

    proofs: Sequence[Proof]
    asked_for: frozenset[str]
    seed: int
    bounds: Patience
    keep_running: bool = False
    left_out: Sequence[tuple[Proof, Finding]] = ()
    turns: int = LONG_TURNS


class Attempt:
    """A proof on its way to its finding; `over` is set once there is one."""

    def __init__(self, proof: Proof, stage: Stage) -> None:
        self.proof = proof
        self.stage = stage
        self.seconds = 0.0
        self.finding: Finding | None = None
        self.over = asyncio.Event()


class Run:
    """One run of a plan on a target."""

    def __init__(
        self,
        plan: ProofPlan,
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
        self._peer = Peer(target.peer_url, facts.draw(plan.seed, PEER).secret) if target.peer_url else None
        self._switch = Switch(target)
        self._prerequisites = [self._attempt(proof) for proof in PREREQUISITES]
        self._proofs = [self._attempt(proof) for proof in plan.proofs]
        self._left_out = [Outcome(proof, why) for proof, why in plan.left_out]
        self._layers: tuple[Layer, ...] = ()

    async def perform(self) -> Result:
        """Run everything; a cancelled run is cut short and still has its result."""
        try:
            async with AsyncExitStack() as serving:
                await self._start_peer(serving)
                await self._perform()
                await self._diagnose()
        except asyncio.CancelledError:
            for attempt in (*self._prerequisites, *self._proofs):
                if attempt.finding is None:
                    self._conclude(attempt, Finding(Verdict.NOT_REACHED, INTERRUPTED, fault=True))
        finally:
            if not self._plan.keep_running:
                self._target.abandon()
            for attempt in self._proofs:
                attempt.stage.tidy()
        return self._result()

    async def _start_peer(self, serving: AsyncExitStack) -> None:
        """Have the second agent serve, if there is one; without it nothing can be said where it is wanted."""
        try:
            if self._peer is not None:
                await serving.enter_async_context(self._peer)
        except OSError as error:
            for attempt in self._proofs:
                if "peer" in attempt.proof.requires:
                    reason = f"the second agent could not be started: {error}"
                    self._conclude(attempt, faulted(reason, hint="another process has its port: try again"))

    async def _perform(self) -> None:
        await self._ensure_on(self._prerequisites[:1])
        for attempt in self._prerequisites:
            await self._begin(attempt)
        self._leave_out()
        for each in rounds(attempt.proof for attempt in self._proofs):
            if each.power is not None:
                await self._ensure_on(self._undecided(each.wait))
            for proofs in (each.begin, each.cut):
                await _at_once(self._begin(attempt) for attempt in self._undecided(proofs))
            await self._restart(each)

    async def _diagnose(self) -> None:
        """See where the target is broken, if something was disproven or the surroundings are at fault.

        One that never started, or does not let us in, has no layers to look at.
        """
        attempts = (*self._prerequisites, *self._proofs)
        trouble = trouble_in((attempt.proof, attempt.finding) for attempt in attempts if attempt.finding)
        if trouble is None or any(attempt.finding and attempt.finding.fault for attempt in self._prerequisites):
            return
        greeted = self._prerequisites[-1].stage.history.turns("greet")
        usual = max((turn.seconds for turn in greeted), default=0.0)
        self._layers = await diagnose(self._stage("layers"), self._target, self._wire, trouble=trouble, usual=usual)

    def _leave_out(self) -> None:
        """Set aside what the target cannot support; what was asked for by name is inconclusive instead."""
        _, card, greeting = self._prerequisites
        offered = offers(card.stage.history, greeting.stage.history)
        gone: set[str] = set()
        for attempt in list(self._proofs):
            if attempt.proof.live and not self._target.restartable:
                attempt.proof = attempt.proof.without_restarts()
            lack = missing(attempt.proof, self._target, offered)
            if lacking := [need for need in attempt.proof.needs if need in gone]:
                lack = lack or inconclusive(f"needs {lacking[0]}, which is left out", hint="see what is left out")
            if lack is not None and attempt.proof.name in self._plan.asked_for:
                self._conclude(attempt, lack)
            elif lack is not None:
                gone.add(attempt.proof.name)
                self._proofs.remove(attempt)
                self._left_out.append(Outcome(attempt.proof, lack))

    async def _begin(self, attempt: Attempt) -> None:
        """Take a proof's steps, once what it needs is proven; one that needs no restart comes to its finding."""
        if attempt.finding is not None:
            return
        finding = await self._blocked(attempt.proof) or await self._take(attempt, attempt.proof.steps)
        if finding is None and attempt.proof.power is None:
            finding = self._check(attempt)
        if finding is not None:
            self._conclude(attempt, finding)

    async def _blocked(self, proof: Proof) -> Finding | None:
        """Wait for what the proof needs; why it is not reached, if it is not."""
        attempts = {attempt.proof.name: attempt for attempt in (*self._prerequisites, *self._proofs)}
        for need in proof.needs:
            if need not in attempts:
                return not_reached(f"needs {need}, which was left out")
            if not attempts[need].proof.known_before(proof):
                return not_reached(f"needs {need}, which is known only later")
            await attempts[need].over.wait()
            needed = attempts[need].finding
            assert needed is not None
            if needed.verdict is Verdict.NOT_REACHED:
                return not_reached(needed.reason, fault=needed.fault)
            if needed.verdict is not Verdict.PROVEN:
                state = "at fault" if needed.fault else needed.verdict
                return not_reached(f"needs {need}, which is {state}", fault=needed.fault)
        return None

    def _undecided(self, proofs: Sequence[Proof]) -> list[Attempt]:
        return [attempt for attempt in self._proofs if attempt.proof in proofs and attempt.finding is None]

    async def _ensure_on(self, attempts: Sequence[Attempt]) -> None:
        """Start a target that is down; if it stays down, nothing can be said of these."""
        if attempts:
            try:
                await self._switch.ensure_on([attempt.stage for attempt in attempts])
            except TargetNotReady as error:
                self._give_up(attempts, error)

    async def _restart(self, of: Round) -> None:
        """Turn the target off and on for all that wait for it; those that wait for nothing more have their findings."""
        attempts = self._undecided(of.wait)
        if not attempts or of.power is None:
            return
        stages = [attempt.stage for attempt in attempts]
        try:
            for _ in range(of.times):
                if not await self._switch.turn(of.power, stages):
                    break
        except TargetNotReady as error:
            self._give_up(attempts, error)
        else:
            await _at_once(self._go_on(attempt, of.power) for attempt in attempts)

    async def _go_on(self, attempt: Attempt, power: Power) -> None:
        """Go on with a proof after a restart, if the target is there again."""
        proof, finding = attempt.proof, None
        after = proof.after if power == proof.power else proof.after_kill
        done = attempt.stage.history.last_power()
        if moved := stood_still(done):
            self._conclude(attempt, moved)
            return
        if after is not None and not done.trouble:
            finding = await self._take(attempt, after)
            if finding is None and power != proof.last_power:
                return
        self._conclude(attempt, finding or self._check(attempt))

    async def _take(self, attempt: Attempt, steps: Steps) -> Finding | None:
        """Take some steps; a finding only if something around the target, or in the proof itself, is broken."""
        began = time.monotonic()
        try:
            await steps(attempt.stage)
        except HoldfastError as error:
            # A connection breaks a moment before the end of the process behind it can be seen.
            if await self._target.ended(within=DYING_SECONDS):
                return faulted(error.message, hint="the target ended by itself: see its newest log in the evidence")
            return faulted(error.message, hint=error.hint or "")
        except Exception as error:
            return _broken_proof(error)
        finally:
            attempt.seconds += time.monotonic() - began
        return None

    def _check(self, attempt: Attempt) -> Finding:
        try:
            return attempt.proof.check(attempt.stage.history, attempt.stage.facts)
        except Exception as error:
            return _broken_proof(error)

    def _give_up(self, attempts: Sequence[Attempt], error: TargetNotReady) -> None:
        for attempt in attempts:
            self._conclude(attempt, faulted(f"the target is not ready: {error.message}", hint=error.hint or ""))

    def _seen_before(self, attempt: Attempt, fault: Finding) -> Finding | None:
        """What the history disproves already, whatever came in the way later; a checker that misses something in it
        has nothing to say."""
        history = attempt.stage.history.without_failed_start()
        try:
            found = attempt.proof.check(history, attempt.stage.facts) if history.entries else None
        except Exception:
            return None
        if found is None or found.verdict is not Verdict.DISPROVEN:
            return None
        return replace(found, reason=f"{found.reason} (and then: {fault.reason})")

    def _conclude(self, attempt: Attempt, finding: Finding) -> None:
        if finding.fault and attempt in self._proofs:
            finding = self._seen_before(attempt, finding) or finding
        if attempt.proof.restarts and self._target.restarted_by and not finding.fault:
            how = f"the restart was whatever `{self._target.restarted_by}` does"
            finding = replace(finding, reason=f"{finding.reason} ({how})")
        attempt.finding = finding
        attempt.over.set()
        attempt.stage.note("", "verdict", verdict=finding.verdict.value, reason=finding.reason, fault=finding.fault)

    def _attempt(self, proof: Proof) -> Attempt:
        return Attempt(proof, self._stage(proof.name))

    def _stage(self, name: str) -> Stage:
        return Stage(
            proof=name,
            facts=replace(facts.draw(self._plan.seed, name), secret=facts.draw(self._plan.seed, PEER).secret),
            target=self._target,
            wire=self._wire,
            evidence=self._evidence,
            bounds=self._plan.bounds,
            turns=self._plan.turns,
            new_hex=self._new_hex,
            on_step=self._on_step,
            peer=self._peer,
        )

    def _result(self) -> Result:
        prerequisites = tuple(_outcome(attempt) for attempt in self._prerequisites)
        absent = [attempt for attempt in self._proofs if self._is_absent(attempt)]
        proofs = tuple(_outcome(attempt) for attempt in self._proofs if attempt not in absent)
        left_out = (*self._left_out, *(_outcome(attempt) for attempt in absent))
        code = exit_code([outcome.finding for outcome in prerequisites], [outcome.finding for outcome in proofs])
        return Result(prerequisites, proofs, left_out, code, self._layers, self._evidence.folder)

    def _is_absent(self, attempt: Attempt) -> bool:
        """Whether there was nothing to try the claim on, and nobody asked for it by name."""
        return bool(attempt.finding and attempt.finding.absent) and attempt.proof.name not in self._plan.asked_for


def _outcome(attempt: Attempt) -> Outcome:
    assert attempt.finding is not None
    return Outcome(attempt.proof, attempt.finding, attempt.seconds)


def _broken_proof(error: Exception) -> Finding:
    return faulted(f"the proof itself is broken: {type(error).__name__}: {error}", hint="look at its steps and checker")


async def _at_once(coming: Iterable[Coroutine[Any, Any, None]]) -> None:
    async with asyncio.TaskGroup() as together:
        for each in coming:
            together.create_task(each)
