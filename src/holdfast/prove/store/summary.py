"""The result of a run, as a table for people and as one JSON document: `summary.json`, and what --json prints."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from holdfast.core.clock import to_iso
from holdfast.core.redact import redact
from holdfast.prove.evidence import pretty
from holdfast.prove.store.clauses import contract
from holdfast.prove.store.run import ClauseOutcome, ContractPlan, ContractResult
from holdfast.prove.summary_members import finding_members, version_members
from holdfast.prove.verdict import VERDICTS
from holdfast.prove.view import terminal
from holdfast.terminal.text import escaped


def summarize(
    result: ContractResult,
    plan: ContractPlan,
    *,
    arguments: Mapping[str, Any],
    started_at: int,
    seconds: float,
    folder: Path,
) -> dict[str, Any]:
    """Everything that a reader or a program needs to know of a run."""
    return {
        "format": 1,
        "verdict": VERDICTS[result.exit_code],
        "exit_code": int(result.exit_code),
        "seed": plan.seed,
        "store": redact(result.subject.name),
        "adapter": redact(plan.adapter),
        "offers": sorted(result.subject.offers),
        "started_at": to_iso(started_at),
        "seconds": round(seconds, 3),
        "counts": dict(Counter(outcome.word for outcome in result.outcomes)),
        "clauses": [_outcome(outcome) for outcome in result.outcomes],
        "arguments": {name: _plain(value) for name, value in arguments.items() if value is not None},
        "versions": version_members(),
        "evidence": str(folder),
    }


def show(result: ContractResult, folder: Path, seconds: float, stream: TextIO) -> None:
    """Print the table, the grounds of what is not proven, the verdict with its counts, and where the evidence is."""
    rows = [_row(outcome) for outcome in result.outcomes]
    styles = [terminal.STYLES[outcome.finding.verdict] for outcome in result.outcomes]
    terminal.table(("clause", "verdict", "   s", "reason"), rows, stream, styles)
    for outcome in result.outcomes:
        finding = outcome.finding
        labelled = {"expected": finding.expected, "got": finding.got, "hint": finding.hint}
        lines = [f"  {label + ':':<10}{_safe(text)}\n" for label, text in labelled.items() if text]
        if lines:
            stream.write("".join((f"\n{outcome.clause.name}\n", *lines)))
    counts = ", ".join(f"{number} {word}" for word, number in Counter(o.word for o in result.outcomes).items())
    stream.write(f"\n{VERDICTS[result.exit_code].upper()} in {seconds:.1f} s: {counts}\nevidence: {folder}\n")


def show_contract(as_json: bool, stream: TextIO) -> None:
    """Print every clause, what it needs of a store, and what it claims."""
    clauses = contract().values()
    if as_json:
        listed = [{"name": c.name, "claim": c.claim, "needs": sorted(c.needs)} for c in clauses]
        stream.write(pretty({"clauses": listed}).decode())
        return
    rows = [(clause.name, ", ".join(sorted(clause.needs)), clause.claim) for clause in clauses]
    terminal.table(("clause", "needs", "claim"), rows, stream)


def _row(outcome: ClauseOutcome) -> tuple[str, str, str, str]:
    seconds = f"{outcome.seconds:.1f}" if outcome.seconds else ""
    return outcome.clause.name, outcome.word, f"{seconds:>4}", _safe(outcome.finding.reason)


def _outcome(outcome: ClauseOutcome) -> dict[str, Any]:
    return {
        "name": outcome.clause.name,
        "claim": outcome.clause.claim,
        **finding_members(outcome.finding),
        "verdict": outcome.word,
        "seconds": round(outcome.seconds, 3),
    }


def _safe(text: str) -> str:
    return escaped(redact(text))


def _plain(value: Any) -> Any:
    return redact(str(value)) if isinstance(value, str | Path) else value
