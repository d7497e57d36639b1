"""The result of a run as one JSON document."""

from typing import Any

from holdfast.core.clock import to_iso
from holdfast.core.redact import redact_value
from holdfast.prove.live.summary import step_members
from holdfast.prove.service.run import ServiceResult
from holdfast.prove.service.stage import ServiceStage
from holdfast.prove.summary_members import argument_members, version_members
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
        "proofs": [step_members(outcome) for outcome in result.outcomes],
        "left_out": result.left_out,
        "layers": [],
        "arguments": argument_members(options.arguments),
        "versions": version_members(),
        "paths": {name: str(folder / name) for name in REPORTS},
        "pictures": sorted(path.name for path in folder.glob("*.png")),
        "evidence": str(folder),
        "logs": [str(path.relative_to(folder)) for paths in stage.around.logs().values() for path in paths],
    }
    masked: dict[str, Any] = redact_value(document)
    return masked


def _name(stage: ServiceStage) -> str:
    broken = f", broken:{stage.options.broken}" if stage.options.broken else ""
    return f"{len(stage.programs)} programs as {stage.around.kind}{broken}"
