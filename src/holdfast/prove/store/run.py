"""Puts a store under the contract: every clause in turn, in a folder of its own; what is not offered is not tried."""

import asyncio
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

from holdfast.core.errors import HoldfastError
from holdfast.core.redact import redact_file
from holdfast.prove.evidence import Evidence
from holdfast.prove.interrupt import INTERRUPTED
from holdfast.prove.store.adapter import OFFERS
from holdfast.prove.store.clause import Clause
from holdfast.prove.store.client import StoreClient, StoreTrouble, Subject
from holdfast.prove.store.stage import StoreStage, Workload
from holdfast.prove.verdict import (
    Exit,
    Finding,
    Verdict,
    exit_code,
    faulted,
    inconclusive,
    not_reached,
)

NOT_OFFERED = "not offered"


@dataclass(frozen=True, slots=True)
class ClauseOutcome:
    """A clause and what was found; `missing` is what the store does not offer and the clause needs."""

    clause: Clause
    finding: Finding
    seconds: float = 0.0
    missing: tuple[str, ...] = ()

    @property
    def word(self) -> str:
        """The verdict as it is shown."""
        return NOT_OFFERED if self.missing else self.finding.verdict.value


@dataclass(frozen=True, slots=True)
class ContractPlan:
    """What to put the store under: clauses in order, which of them were asked for by name, how much of each."""

    adapter: str
    clauses: Sequence[Clause]
    asked_for: frozenset[str]
    seed: int
    bounds: Workload


@dataclass(frozen=True, slots=True)
class ContractResult:
    """A whole run: what was said of the store, and what was found of each clause."""

    subject: Subject
    outcomes: tuple[ClauseOutcome, ...]
    exit_code: Exit


async def meet(adapter: str, evidence: Evidence) -> Subject:
    """What the adapter says of its store; a fault if it cannot be loaded."""
    folder = evidence.folder / "data" / "meet"
    folder.mkdir(parents=True)
    log = evidence.folder / "clients-meet.log"
    try:
        client = await StoreClient.start(adapter, folder, log)
        await client.end()
    finally:
        redact_file(log)
    shutil.rmtree(folder)
    return client.subject


async def perform(
    plan: ContractPlan, subject: Subject, evidence: Evidence, on_step: Callable[[str, str], None]
) -> ContractResult:
    """Run every clause; a cancelled run is cut short and still has its result."""
    outcomes: list[ClauseOutcome] = []
    interrupted = False
    for clause in plan.clauses:
        outcome = ClauseOutcome(clause, Finding(Verdict.NOT_REACHED, INTERRUPTED, fault=True))
        if not interrupted:
            try:
                outcome = await _attempt(clause, plan, subject, evidence, on_step)
            except asyncio.CancelledError:
                interrupted = True
        outcomes.append(outcome)
        evidence.event(clause.name, "", "verdict", verdict=outcome.word, reason=outcome.finding.reason)
    checked = [outcome.finding for outcome in outcomes if not outcome.missing or outcome.clause.name in plan.asked_for]
    return ContractResult(subject, tuple(outcomes), exit_code([], checked))


async def _attempt(
    clause: Clause, plan: ContractPlan, subject: Subject, evidence: Evidence, on_step: Callable[[str, str], None]
) -> ClauseOutcome:
    if missing := tuple(sorted(clause.needs - subject.offers)):
        reason = f"no {' and no '.join(OFFERS[offer].what for offer in missing)} in this store or its adapter"
        asked = clause.name in plan.asked_for
        return ClauseOutcome(clause, inconclusive(reason, hint="") if asked else not_reached(reason), missing=missing)
    folder = evidence.folder / "data" / clause.name
    folder.mkdir(parents=True)
    began = time.monotonic()
    stage = StoreStage(
        clause=clause.name,
        adapter=plan.adapter,
        folder=folder,
        offers=subject.offers,
        bounds=plan.bounds,
        chance=Random(f"{plan.seed}/{clause.name}"),
        evidence=evidence,
        on_step=on_step,
    )
    finding = await _judge(clause, stage, evidence)
    if finding.verdict is Verdict.PROVEN:
        _remove(folder)
    return ClauseOutcome(clause, finding, time.monotonic() - began)


async def _judge(clause: Clause, stage: StoreStage, evidence: Evidence) -> Finding:
    try:
        async with asyncio.timeout(stage.bounds.seconds):
            facts = await clause.steps(stage)
    except TimeoutError:
        return inconclusive(
            f"not done within {stage.bounds.seconds:g} s", hint="give it more time with --timeout, or fewer --cycles"
        )
    except StoreTrouble as error:
        return inconclusive(error.message, hint=error.hint or "")
    except HoldfastError as error:
        return faulted(error.message, hint=error.hint or "")
    finally:
        await stage.leave()
    evidence.event(clause.name, "", "facts", facts=asdict(facts))
    return clause.check(facts)


def _remove(folder: Path) -> None:
    """What a proven clause wrote is of no more use."""
    shutil.rmtree(folder, ignore_errors=True)
