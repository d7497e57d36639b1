"""The result of a run as one JSON document: `summary.json`, what --json prints, and what every report is made of."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from holdfast.core.clock import to_iso
from holdfast.core.redact import redact_value
from holdfast.prove.runtime.runs.run import Outcome, Result
from holdfast.prove.summary_members import argument_members, finding_members, version_members
from holdfast.prove.targets import DescribedTarget, Target, UpgradableTarget
from holdfast.prove.verdict import VERDICTS, Verdict

PAGE = "docs/proofs.md"


def summarize(
    result: Result,
    *,
    arguments: Mapping[str, Any],
    target: Target,
    endpoint: str,
    seed: int,
    wire: str,
    started_at: int,
    seconds: float,
    folder: Path,
) -> dict[str, Any]:
    """Everything that a reader or a program needs to know of a run; secrets are masked."""
    document: dict[str, Any] = {
        "format": 1,
        "verdict": VERDICTS[result.exit_code],
        "exit_code": int(result.exit_code),
        "seed": seed,
        "wire": wire,
        "target": {
            "name": target.name,
            "command": target.command_line,
            "endpoint": endpoint,
            "upgraded": _upgraded(target),
            **(target.about if isinstance(target, DescribedTarget) else {}),
        },
        "started_at": to_iso(started_at),
        "seconds": round(seconds, 3),
        "prerequisites": [_outcome(outcome) for outcome in result.prerequisites],
        "proofs": [_outcome(outcome) for outcome in result.proofs],
        "left_out": {outcome.proof.name: outcome.finding.reason for outcome in result.left_out},
        "layers": [asdict(layer) for layer in result.layers],
        "arguments": argument_members(arguments),
        "versions": version_members(),
        "evidence": str(folder),
        "logs": [path.name for path in target.logs()],
    }
    masked: dict[str, Any] = redact_value(document)
    return masked


def _outcome(outcome: Outcome) -> dict[str, Any]:
    finding = outcome.finding
    return {
        "name": outcome.proof.name,
        "claim": outcome.proof.claim,
        **finding_members(finding),
        "curl": finding.curl,
        **_remedy(outcome),
        "seconds": round(outcome.seconds, 3),
    }


def _upgraded(target: Target) -> bool:
    """Whether the version that ran last is the next one: the data is its own now."""
    return (
        isinstance(target, UpgradableTarget)
        and bool(target.next_command)
        and target.command_line == target.next_command
    )


def _remedy(outcome: Outcome) -> dict[str, str]:
    """What to do about a disproof, and where that is shown."""
    if outcome.finding.remedy is not None:
        return {"remedy": outcome.finding.remedy, "see": ""}
    if outcome.finding.verdict is not Verdict.DISPROVEN or not outcome.proof.remedy:
        return {"remedy": "", "see": ""}
    return {"remedy": outcome.proof.remedy, "see": f"{PAGE}#{outcome.proof.name}" if outcome.proof.shown_in else ""}
