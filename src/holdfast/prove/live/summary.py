"""The result of a run as one JSON document, and the other files that it leaves in its folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.core.clock import to_iso
from holdfast.core.redact import redact_value
from holdfast.prove.evidence import pretty
from holdfast.prove.live.legacy_files import FileMark
from holdfast.prove.live.run import LiveResult, StepOutcome
from holdfast.prove.summary_members import argument_members, finding_members, version_members
from holdfast.prove.verdict import VERDICTS, Verdict

REPORTS = ("report.html", "junit.xml", "summary.md")
FILES = (
    *("store-before.json", "store-after.json", "legacy-files.json", "gateway-log-scan.json", "events.jsonl"),
    *REPORTS,
)
"""What a run leaves besides its summary; one that ends at the preflight has looked at no rows and files."""


def summarize(
    result: LiveResult,
    *,
    arguments: Mapping[str, Any],
    name: str,
    url: str,
    command: str,
    key: str,
    gateway_version: str,
    started_at: int,
    seconds: float,
    folder: Path,
    logs: list[str],
) -> dict[str, Any]:
    """Everything that a reader or a program needs to know of a run; secrets are masked."""
    document: dict[str, Any] = {
        "format": 1,
        "verdict": VERDICTS[result.exit_code],
        "exit_code": int(result.exit_code),
        "target": {"name": name, "command": command, "endpoint": url},
        "session_key": key,
        "started_at": to_iso(started_at),
        "seconds": round(seconds, 3),
        "failed_assertion": failed_assertion(result),
        "prerequisites": [step_members(outcome) for outcome in result.prerequisites],
        "proofs": [step_members(outcome) for outcome in result.outcomes],
        "left_out": result.left_out,
        "layers": [],
        "arguments": argument_members(arguments),
        "versions": version_members(gateway=gateway_version),
        "paths": {name: str(folder / name) for name in FILES if name in REPORTS or (folder / name).exists()},
        "evidence": str(folder),
        "logs": logs,
    }
    masked: dict[str, Any] = redact_value(document)
    return masked


def failed_assertion(result: LiveResult) -> dict[str, str] | None:
    """The first assertion that does not hold, and where."""
    for outcome in (*result.prerequisites, *result.outcomes):
        if outcome.finding.verdict is Verdict.DISPROVEN:
            return {"step": outcome.name, "assertion": outcome.assertion, "reason": outcome.finding.reason}
    return None


def write(folder: Path, name: str, document: dict[str, Any]) -> None:
    """One more file of the evidence."""
    (folder / name).write_bytes(pretty(redact_value(document)))


def marks(found: Mapping[str, FileMark], hashes: Mapping[str, str]) -> list[dict[str, Any]]:
    """Files as the evidence tells them."""
    return [
        {"path": path, "size": mark.size, "mtimeNs": mark.modified, "sha256": hashes.get(path)}
        for path, mark in sorted(found.items())
    ]


def step_members(outcome: StepOutcome) -> dict[str, Any]:
    """A step as the summary has it."""
    return {
        "name": outcome.name,
        "claim": outcome.claim,
        **finding_members(outcome.finding),
        "assertion": outcome.assertion,
        "seconds": round(outcome.seconds, 3),
    }
