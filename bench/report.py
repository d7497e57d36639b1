"""A run's report: a table to read, JSON to compare, and a folder that keeps both."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.line import Line

WORDS = {True: "holds", False: "MISSED", None: "not run"}
STYLES = {True: "green", False: "bold red", None: "bold yellow"}


@dataclass(frozen=True, slots=True)
class Report:
    """What one run found."""

    started: datetime
    machine: Mapping[str, str]
    lines: Sequence[Line]

    def as_json(self) -> str:
        """The report as JSON text."""
        found: dict[str, Any] = {
            "started": self.started.isoformat(timespec="seconds"),
            "machine": dict(self.machine),
            "lines": [line.as_json() for line in self.lines],
        }
        return json.dumps(found, indent=2, ensure_ascii=False)


def new_folder(artifacts: Path, started: datetime) -> Path:
    """The folder of this run, with `latest` beside it pointing there."""
    runs = artifacts / "bench"
    folder = runs / started.strftime("%Y%m%dT%H%M%SZ")
    folder.mkdir(parents=True, exist_ok=True)
    (artifacts / ".gitignore").write_text("*\n")
    latest = runs / "latest"
    latest.unlink(missing_ok=True)
    latest.symlink_to(folder.name)
    return folder


def now() -> datetime:
    """The time that names a run."""
    return datetime.now(UTC)


def show(report: Report) -> None:
    """Print the table, with colours where they can be."""
    rows = [
        (line.name, line.what, number(line.value, line.unit), line.goal, WORDS[line.holds], aside(line))
        for line in report.lines
    ]
    titles = ("line", "what", "found", "goal", "", "beside")
    print(" · ".join(f"{name} {value}" for name, value in report.machine.items()))
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        for row in (titles, *rows):
            print(" | ".join(row))
        return
    table = Table(*titles)
    for line, row in zip(report.lines, rows, strict=True):
        table.add_row(*row[:4], f"[{STYLES[line.holds]}]{row[4]}[/]", row[5])
    Console().print(table)


def number(value: float | None, unit: str = "") -> str:
    """A number with as many digits as it deserves."""
    if value is None:
        return "–"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f} {unit}".strip()


def aside(line: Line) -> str:
    """What else was seen."""
    return "; ".join(filter(None, [*(f"{name} {number(value)}" for name, value in line.beside.items()), line.note]))
