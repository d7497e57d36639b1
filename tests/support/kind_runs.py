"""Runs of broken kinds: what each proof said, whether that was to be expected, and what it took to find the defect."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from tests.support.hurried_proofs import prove_hurried

from holdfast.prove.broken.expected import KINDS
from holdfast.prove.explore import explore_async
from holdfast.prove.runtime.api import prove_async
from holdfast.prove.runtime.proofs import catalogue
from holdfast.prove.runtime.runs.run import Result
from holdfast.prove.verdict import Exit, Verdict

TIMEOUT_SECONDS = 10.0
EXPLORED_SECONDS = 600.0
REQUESTS = ("request", "upload")

WireName = Literal["0.3", "1.0"]


@dataclass(frozen=True, slots=True)
class Disproof:
    """The first disproof in a run: by whom, after how many seconds of the run, and how long its history is.

    The history of a proof is as long as it has requests, that of an exploration as its smallest one has operations.
    """

    by: str
    seconds: float
    length: int


@dataclass(frozen=True, slots=True)
class KindRun:
    """One run on a kind: its verdicts, what was not as expected, and the first disproof."""

    kind: str
    wire: WireName
    verdicts: Mapping[str, str]
    wrong: list[str]
    first: Disproof | None


KindTask = tuple[str, WireName, Sequence[str]]


def expected_verdicts(kind: str, proofs: Iterable[str]) -> dict[str, str]:
    """What these proofs are to say of a kind."""
    expected = KINDS[kind]
    verdicts = dict.fromkeys(proofs, "proven")
    verdicts |= {name: "disproven" for name in verdicts if name in expected.disproven}
    return verdicts | {name: "not reached" for name in verdicts if name in expected.not_reached}


async def run_kind(
    kind: str,
    wire: WireName,
    only: Sequence[str],
    artifacts: Path,
    *,
    timeout: float = TIMEOUT_SECONDS,
    seed: int | None = None,
    pause: float | None = None,
) -> KindRun:
    """Put some proofs to a kind, or all of them; what a busy machine kept from being judged is tried again."""
    prove: Callable[..., Awaitable[Result]] = prove_async if pause is None else partial(prove_hurried, pause=pause)
    options: dict[str, Any] = {"target": f"broken:{kind}", "wire": wire, "timeout": timeout}
    options |= {} if seed is None else {"seed": seed}
    result = await prove(*only, **options, artifacts=artifacts)
    findings, last = {outcome.proof.name: outcome.finding for outcome in result.proofs}, result
    if unclear := [name for name, finding in findings.items() if finding.verdict is Verdict.INCONCLUSIVE]:
        last = await prove(*unclear, **options, artifacts=artifacts / "again")
        findings |= {outcome.proof.name: outcome.finding for outcome in last.proofs if outcome.proof.name in unclear}
    verdicts = {name: finding.verdict.value for name, finding in findings.items()}
    expected = expected_verdicts(kind, only or catalogue())
    wrong = [
        f"{kind}: {name} is {verdicts.get(name)}, not {verdict}: {findings[name].reason if name in findings else ''}"
        for name, verdict in expected.items()
        if verdicts.get(name) != verdict
    ]
    disproven = {name: finding for name, finding in findings.items() if finding.verdict is Verdict.DISPROVEN}
    wrong += [
        f"{kind}: {name} is disproven without what it takes to see it"
        for name, finding in disproven.items()
        if not (finding.expected and finding.got and (finding.curl.startswith("curl ") or finding.hint))
    ]
    code = Exit.DISPROVEN if "disproven" in expected.values() else Exit.PROVEN
    if code not in {result.exit_code, last.exit_code}:
        wrong.append(f"{kind}: exit code {result.exit_code}, not {code}")
    return KindRun(kind, wire, verdicts, wrong, first_disproof(_events(result.folder)))


async def explore_kind(kind: str, wire: WireName, artifacts: Path, *, seed: int) -> KindRun:
    """Explore a kind until a violation is confirmed; it is wrong if there is none in ten minutes."""
    result = await explore_async(
        target=f"broken:{kind}", wire=wire, seed=seed, budget=EXPLORED_SECONDS, artifacts=artifacts
    )
    found = next((each for each in result.summary["violations"] if each["confirmed"]), None)
    if found is None:
        return KindRun(kind, wire, {}, [f"{kind}: exploring with seed {seed} does not find it"], None)
    seconds = result.summary["seconds"] - found["shrink_seconds"]
    return KindRun(kind, wire, {}, [], Disproof(f"explore: {found['claim']}", round(seconds, 3), found["smallest"]))


async def run_kinds(
    tasks: Iterable[KindTask], artifacts: Path, *, at_once: int, seed: int, told: Callable[[KindRun], None]
) -> list[KindRun]:
    """Several runs, so many of them side by side; each is told as it ends.

    What only exploring finds is explored too, once the catalogue has said that it sees nothing of it.
    """
    turns = asyncio.Semaphore(at_once)

    async def one(kind: str, wire: WireName, only: Sequence[str]) -> KindRun:
        async with turns:
            run = await run_kind(kind, wire, only, artifacts / f"{kind}-{wire}", seed=seed)
            if KINDS[kind].explore:
                explored = await explore_kind(kind, wire, artifacts / f"{kind}-{wire}", seed=seed)
                run = KindRun(kind, wire, run.verdicts, run.wrong + explored.wrong, explored.first)
            told(run)
            return run

    return await asyncio.gather(*(one(*task) for task in tasks))


def first_disproof(events: Sequence[Mapping[str, Any]]) -> Disproof | None:
    """The first disproof in the events of a run of proofs."""
    for place, event in enumerate(events):
        if event["event"] == "verdict" and event["verdict"] == "disproven":
            requests = [
                each for each in events[:place] if each["proof"] == event["proof"] and each["event"] in REQUESTS
            ]
            return Disproof(event["proof"], event["at"], len(requests))
    return None


def _events(evidence: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (evidence / "events.jsonl").read_text().splitlines()]
