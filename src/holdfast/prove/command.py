"""The whole of `holdfast prove`, once its options are known: open the evidence, run, summarize, show."""

import asyncio
import secrets
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast.core import SystemClock
from holdfast.prove import terminal
from holdfast.prove.envelopes import WireVersion
from holdfast.prove.evidence import open_evidence, pretty
from holdfast.prove.interrupt import cancel_on_signals
from holdfast.prove.proofs import catalogue, select
from holdfast.prove.redact import hide_passwords
from holdfast.prove.run import Plan, Result, Run
from holdfast.prove.stage import Bounds
from holdfast.prove.summary import summarize
from holdfast.prove.targets import Choice, check, choose
from holdfast.prove.wire import Wire

RECOVERY_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for. `arguments` is the same as it was written, for the evidence."""

    target: Choice
    only: tuple[str, ...]
    seed: int | None
    wire: WireVersion
    timeout: float
    artifacts: Path
    as_json: bool
    arguments: Mapping[str, Any] = field(default_factory=dict)


def prove(options: Options) -> int:
    """Run the proofs, report, return the exit code. A wrong option is InvalidInput before anything starts."""
    proofs = select(catalogue(), options.only)
    check(options.target)
    seed = secrets.randbelow(999_999) + 1 if options.seed is None else options.seed
    clock = SystemClock()
    started_at = clock.now()
    evidence = open_evidence(options.artifacts, "prove", clock, time.monotonic)
    target = choose(options.target, evidence.folder, options.timeout)
    plan = Plan(
        proofs,
        asked_for=frozenset(options.only),
        seed=seed,
        bounds=Bounds(answer=options.timeout, recovery=min(RECOVERY_SECONDS, options.timeout)),
    )
    name = hide_passwords(target.name)
    sys.stderr.write(f"proving {name} over A2A {options.wire.value} with --seed {seed}\n")
    evidence.event("", "", "run", target=name, seed=seed, wire=options.wire.value)
    progress = terminal.Progress(sys.stderr)

    async def perform() -> tuple[Result, str]:
        cancel_on_signals()
        async with Wire(target.url, options.wire) as wire:
            run = Run(plan, target, wire, evidence, new_hex=lambda: secrets.token_hex(6), on_step=progress.step)
            return await run.perform(), hide_passwords(wire.endpoint)

    try:
        result, endpoint = asyncio.run(perform())
    finally:
        target.abandon()
        progress.clear()
    seconds = evidence.elapsed
    summary = summarize(
        result,
        arguments=options.arguments,
        target=target,
        endpoint=endpoint,
        seed=seed,
        wire=options.wire.value,
        started_at=started_at,
        seconds=seconds,
        folder=evidence.folder,
    )
    evidence.finish(summary)
    if options.as_json:
        sys.stdout.write(pretty(summary).decode())
    else:
        terminal.show(result, evidence.folder, seconds, sys.stdout)
    return int(result.exit_code)
