"""The report of `doctor --session-sqlite`: totals, targets, issues, and what the store has."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import click

from holdfast.cli import output
from holdfast.store.health import StoreStatistics
from holdfast.terminal.text import one_line
from holdfast.transcripts.legacy import LegacyIssue, LegacyTarget
from holdfast.transcripts.legacy.layout import UNREFERENCED

COUNTS = (
    "legacyEntries",
    "sqliteEntries",
    "importedEntries",
    "importedTranscriptEvents",
    "validatedEntries",
    "validatedTranscriptEvents",
    "archivedFiles",
    "unreferencedJsonl",
)


@dataclass(slots=True)
class SessionReport:
    """What a mode found or did; `failed` if it must not end in success."""

    mode: str
    targets: list[dict[str, Any]] = field(default_factory=list)
    issues: list[dict[str, Any]] = field(default_factory=list)
    statistics: StoreStatistics | None = None
    totals: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))
    failed: bool = False
    done: list[str] = field(default_factory=list)
    """What was done, in words."""

    def add_target(self, target: LegacyTarget) -> dict[str, Any]:
        """Take an agent's part of the older layout into account; its own counts, to be added to."""
        self.add_issues(target.issues)
        about = {"agentId": target.agent, "index": str(target.index), **dict.fromkeys(COUNTS, 0)}
        self.targets.append(about)
        self.count(about, "legacyEntries", target.entries)
        self.count(about, "unreferencedJsonl", sum(issue.code == UNREFERENCED for issue in target.issues))
        return about

    def count(self, target: dict[str, Any] | None, name: str, number: int) -> None:
        """Add to a total, and to a target's own."""
        self.totals[name] += number
        if target is not None:
            target[name] += number

    def add_issues(self, issues: Iterable[LegacyIssue]) -> None:
        """Name what is wrong with the files."""
        for issue in issues:
            self.add_issue(issue.code, issue.message, issue.session_key)

    def add_issue(self, code: str, message: str, session_key: str | None) -> None:
        """Name what is wrong."""
        self.issues.append({"code": code, "message": message, "sessionKey": session_key})

    def document(self) -> dict[str, Any]:
        """The report as JSON has it."""
        found = self.statistics
        stats = None
        if found is not None:
            self.totals["sqliteEntries"] = found.entries
            stats = {
                "dbSizeBytes": found.size_bytes,
                "walSizeBytes": found.log_bytes,
                "integrityCheck": found.integrity,
                "largestSessions": [
                    {"sessionId": each.session_id, "events": each.events, "sizeBytes": each.size_bytes}
                    for each in found.largest
                ],
            }
        totals = {"targets": len(self.targets), **self.totals, "issues": len(self.issues)}
        return {
            "mode": self.mode,
            "failed": self.failed,
            "totals": totals,
            "targets": self.targets,
            "issues": self.issues,
            "dbStats": stats,
            "done": self.done,
        }


def show_report(report: dict[str, Any]) -> None:
    """The report for people."""
    output.pairs([(name, f"{value:,}") for name, value in report["totals"].items()])
    stats = report["dbStats"]
    if stats is not None:
        sizes = f"{output.size(stats['dbSizeBytes'])}, log {output.size(stats['walSizeBytes'])}"
        output.pairs([("store", sizes), ("integrity", stats["integrityCheck"])])
    for issue in report["issues"]:
        click.echo(f"{issue['code']}: {one_line(issue['message'])}")
    for each in report["done"]:
        click.echo(one_line(each), err=True)
