"""The whole of `holdfast prove store`, once its options are known: open the evidence, run, summarize, show."""

import asyncio
import sys
from dataclasses import dataclass, field

from holdfast.core import SystemClock
from holdfast.prove.evidence import pretty
from holdfast.prove.interrupt import cancel_on_signals
from holdfast.prove.options import ProverOptions
from holdfast.prove.publication import NOTHING, Publication
from holdfast.prove.store import summary as summaries
from holdfast.prove.store.adapter_factory import split
from holdfast.prove.store.clauses import contract, select
from holdfast.prove.store.run import ContractPlan, ContractResult, meet, perform
from holdfast.prove.store.stage import Workload
from holdfast.prove.verdict import not_green
from holdfast.terminal.progress import ProgressLine
from holdfast.terminal.text import escaped


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOptions(ProverOptions):
    """The store to put under the contract, by its adapter, and how much of everything."""

    adapter: str
    bounds: Workload = field(default_factory=Workload)
    publication: Publication = NOTHING


def prove_store(options: StoreOptions) -> int:
    """Put the store under the contract, report, return the exit code. A wrong option is InvalidInput at once."""
    clauses = select(contract(), options.only)
    split(options.adapter)
    started_at = SystemClock().now()
    evidence = options.open_evidence("prove-store")
    progress = ProgressLine(sys.stderr)
    plan = ContractPlan(
        options.adapter,
        clauses,
        asked_for=frozenset(options.only),
        seed=options.draw_seed(),
        bounds=options.bounds,
    )

    async def run() -> ContractResult:
        subject = await meet(plan.adapter, evidence)
        cancel_on_signals()
        sys.stderr.write(f"proving {escaped(subject.name)} with --seed {plan.seed}\n")
        evidence.event("", "", "run", store=subject.name, offers=sorted(subject.offers), seed=plan.seed)
        return await perform(
            plan, subject, evidence, lambda clause, step: progress(f"… {clause}: {step}", at_once=True)
        )

    try:
        result = asyncio.run(run())
    except BaseException:
        evidence.close()
        raise
    finally:
        progress.clear()
    seconds = evidence.elapsed
    summary = summaries.summarize(
        result,
        plan,
        arguments=options.arguments,
        started_at=started_at,
        seconds=seconds,
        folder=evidence.folder,
    )
    evidence.finish(summary)
    if options.as_json:
        sys.stdout.write(pretty(summary).decode())
    else:
        summaries.show(result, evidence.folder, seconds, sys.stdout)
    code = int(result.exit_code)
    return code if options.publication.publish(summary, evidence.folder) else not_green(code)
