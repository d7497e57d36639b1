"""The result of an exploration as one JSON document, in the form of a proof's, so that every report can be made of it.

Each claim stands where a proof would: proven with the number of histories that bore it out and the bound that this
supports, disproven with the smallest history, inconclusive with the rate.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.core.clock import to_iso
from holdfast.core.redact import redact_value
from holdfast.prove.explore.histories import wording
from holdfast.prove.explore.judge.claims import CLAIMS, ExploredClaim
from holdfast.prove.explore.run import Exploration, Suspicion
from holdfast.prove.interrupt import INTERRUPTED
from holdfast.prove.summary_members import argument_members, finding_members, version_members
from holdfast.prove.targets import Target
from holdfast.prove.verdict import (
    VERDICTS,
    Exit,
    Finding,
    disproven,
    exit_code,
    faulted,
    inconclusive,
    not_reached,
    proven,
)

WORTH_A_BOUND = 10
"""Histories with which it means something to say how rare a violation is."""


def exit_of(found: Exploration) -> Exit:
    """The code of a run."""
    return exit_code([], [finding for _, finding in findings(found)])


def findings(found: Exploration) -> list[tuple[ExploredClaim, Finding]]:
    """What was found of each claim that was put to the test."""
    return [(claim, _finding(claim.name, found)) for claim in CLAIMS.values() if _tested(claim.name, found)]


def bound(histories: int) -> float:
    """Of such histories, fewer than this share violate anything, with 95 % confidence (the rule of three)."""
    return min(1.0, 3 / histories) if histories else 1.0


def explored(found: Exploration) -> dict[str, Any]:
    """How much was explored, and what that supports."""
    coverage = found.coverage
    return {
        "histories": coverage.histories,
        "operations": coverage.operations,
        "kills": coverage.kills,
        "stops": coverage.stops,
        "pauses": coverage.pauses,
        "longest_pause_seconds": found.plan.bounds.longest_pause / 1000,
        "situations": len(coverage.situations),
        "bound": round(bound(coverage.histories), 6),
        "unfinished": found.unfinished,
        "faults": list(found.faults),
        "interrupted": found.interrupted,
    }


def steps(suspicion: Suspicion) -> list[str]:
    """The smallest history in words."""
    course = suspicion.smallest.course
    return [wording.step(operation, course.seed) for operation in course.operations]


def script(suspicion: Suspicion) -> str:
    """The smallest history for whoever wants to see it: each step in words, and the commands that were sent in it."""
    record = suspicion.smallest.record
    lines: list[str] = []
    for place, step in enumerate(steps(suspicion)):
        lines += [
            f"# {place + 1}. {line}" if not number else f"#    {line}" for number, line in enumerate(step.split("\n"))
        ]
        sent = [getattr(seen, "curl", "") for seen in record.seen if seen.step == place] if record else []
        lines += list(dict.fromkeys(filter(None, sent)))
    return "\n".join(lines)


def summarize(
    found: Exploration,
    *,
    arguments: Mapping[str, Any],
    target: Target,
    about: Mapping[str, str],
    wire: str,
    started_at: int,
    seconds: float,
    folder: Path,
) -> dict[str, Any]:
    """Everything that a reader or a program needs to know of a run; secrets are masked."""
    code = exit_of(found)
    suspicions = [*filter(None, [found.confirmed]), *found.doubtful]
    document: dict[str, Any] = {
        "format": 1,
        "verdict": VERDICTS[code],
        "exit_code": int(code),
        "seed": found.plan.seed,
        "wire": wire,
        "target": {"name": target.name, "command": target.command_line, "endpoint": target.url, **about},
        "started_at": to_iso(started_at),
        "seconds": round(seconds, 3),
        "explored": explored(found),
        "violations": [_violation(suspicion, confirmed=suspicion is found.confirmed) for suspicion in suspicions],
        "prerequisites": [],
        "proofs": [_outcome(claim, finding) for claim, finding in findings(found)],
        "left_out": {
            claim.name: found.not_offered.get(claim.name, "nothing that was done shows it")
            for claim in CLAIMS.values()
            if not _tested(claim.name, found)
        },
        "not_offered": dict(found.not_offered),
        "layers": [],
        "arguments": argument_members(arguments),
        "versions": version_members(),
        "evidence": str(folder),
        "logs": [],
    }
    masked: dict[str, Any] = redact_value(document)
    return masked


def _tested(claim: str, found: Exploration) -> bool:
    return claim == "answers" or claim in found.seen or found.shown[claim] > 0


def _finding(claim: str, found: Exploration) -> Finding:
    confirmed = found.confirmed
    if confirmed and confirmed.violation.claim == claim:
        shown = confirmed.smallest.violation(confirmed.violation.kind)
        count = len(confirmed.smallest.course.operations)
        return disproven(
            f"{shown.reason} (seen {confirmed.rate} times, smallest history: {count} operations{_own_rate(confirmed)})"
            f"{_undone(confirmed)}",
            expected=shown.expected,
            got=shown.got + (f" (asked again: {asked})" if (asked := confirmed.smallest.asked_again) else ""),
            curl=script(confirmed),
        )
    doubt = next((doubt for doubt in found.doubtful if doubt.violation.claim == claim), None)
    if doubt is not None:
        return inconclusive(
            f"{doubt.violation.reason}; seen {doubt.rate} times{_undone(doubt)}",
            expected=doubt.violation.expected,
            got=doubt.violation.got,
            hint="run its history again with --replay, and more often with --confirm",
        )
    if claim in found.seen:
        violation = found.seen[claim]
        return inconclusive(
            f"{violation.reason}; seen once and not pursued",
            expected=violation.expected,
            got=violation.got,
            curl=violation.curl,
            hint="run again with the same --seed once what else was found is mended",
        )
    if found.faults:
        return faulted(found.faults[0], hint="see the target's log")
    histories = found.shown[claim]
    if found.interrupted and found.confirmed is None:
        return faulted(f"{INTERRUPTED} after {histories} histories that bore it out")
    if not found.coverage.histories and not math.isinf(found.plan.seconds):
        reason = f"no history was over in {found.plan.budget:g} s"
        return faulted(reason, hint="give it more time with --budget, or say with --histories how many it is to finish")
    if not histories:
        return not_reached("no history put it to the test")
    held = f"held in {histories} of {histories} histories"
    if histories < WORTH_A_BOUND:
        return proven(f"{held}, which are few")
    return proven(f"{held}: fewer than {100 * bound(histories):.2g} % violate it (at 95 %)")


def _own_rate(suspicion: Suspicion) -> str:
    shown, tried = suspicion.smallest_shown, suspicion.smallest_tried
    return f", {shown} of {tried} times" if tried else ""


def _undone(suspicion: Suspicion) -> str:
    return "".join(f"; {words}" for words in suspicion.undone)


def _violation(suspicion: Suspicion, *, confirmed: bool) -> dict[str, Any]:
    violation = suspicion.smallest.violation(suspicion.violation.kind)
    return {
        "claim": violation.claim,
        "trouble": violation.trouble,
        "reason": violation.reason,
        "confirmed": confirmed,
        "shown": suspicion.shown,
        "tried": suspicion.tried,
        "history": suspicion.first.course.number,
        "operations": len(suspicion.first.course.operations),
        "smallest": len(suspicion.smallest.course.operations),
        "smallest_shown": suspicion.smallest_shown,
        "smallest_tried": suspicion.smallest_tried,
        "shrink_seconds": round(suspicion.seconds, 3),
        "expected": violation.expected,
        "got": violation.got,
        "curl": violation.curl,
        "asked_again": suspicion.smallest.asked_again,
        "undone": list(suspicion.undone),
        "steps": steps(suspicion),
    }


def _outcome(claim: ExploredClaim, finding: Finding) -> dict[str, Any]:
    return {
        "name": claim.name,
        "claim": claim.says,
        **finding_members(finding),
        "curl": finding.curl,
        "seconds": 0.0,
    }
