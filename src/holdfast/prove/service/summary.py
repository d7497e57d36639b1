"""The result of a run as one JSON document."""

import platform
from pathlib import Path
from typing import Any

from holdfast import __version__
from holdfast.core.clock import to_iso
from holdfast.core.redact import redact_value
from holdfast.prove.live.run import StepOutcome
from holdfast.prove.service.run import ServiceResult
from holdfast.prove.service.stage import ServiceStage
from holdfast.prove.verdict import VERDICTS

REPORTS = ("report.html", "junit.xml", "summary.md", "events.jsonl")


def summarize(result: ServiceResult, stage: ServiceStage, *, started_at: int, seconds: float) -> dict[str, Any]:
    """Everything that a reader or a program needs to know of a run; secrets are masked."""
    options, folder = stage.options, stage.evidence.folder
    document: dict[str, Any] = {
        "format": 1,
        "verdict": VERDICTS[result.exit_code],
        "exit_code": int(result.exit_code),
        "target": {"name": _name(stage), "command": "", "endpoint": stage.around.url},
        "seed": stage.seed,
        "started_at": to_iso(started_at),
        "seconds": round(seconds, 3),
        "sessions": stage.sessions,
        "cases": {name: len(cases) for name, cases in stage.cases.items()},
        "kills": stage.kills,
        "prerequisites": [],
        "proofs": [outcome_of(outcome) for outcome in result.outcomes],
        "left_out": result.left_out,
        "layers": [],
        "arguments": {name: _plain(value) for name, value in options.arguments.items() if value not in (None, ())},
        "versions": {
            "holdfast": __version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
        },
        "paths": {name: str(folder / name) for name in REPORTS},
        "pictures": sorted(path.name for path in folder.glob("*.png")),
        "evidence": str(folder),
        "logs": [str(path.relative_to(folder)) for paths in stage.around.logs().values() for path in paths],
    }
    masked: dict[str, Any] = redact_value(document)
    return masked


def outcome_of(outcome: StepOutcome) -> dict[str, Any]:
    """A step as the summary has it."""
    finding = outcome.finding
    return {
        "name": outcome.name,
        "claim": outcome.claim,
        "verdict": finding.verdict.value,
        "fault": finding.fault,
        "reason": finding.reason,
        "expected": finding.expected,
        "got": finding.got,
        "hint": finding.hint,
        "assertion": outcome.assertion,
        "seconds": round(outcome.seconds, 3),
    }


def _name(stage: ServiceStage) -> str:
    broken = f", broken:{stage.options.broken}" if stage.options.broken else ""
    return f"{len(stage.programs)} programs as {stage.around.kind}{broken}"


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, Path) else value
