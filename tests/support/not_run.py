"""The last thing that a run of the tests says: what was not run, and why.

A test that cannot run here is skipped with a reason that begins with NOT RUN. Those reasons come together in one block
at the very end, so that nobody takes a run for a whole one.
"""

from collections import Counter
from collections.abc import Generator

import pytest

MARK = "NOT RUN"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Generator[None]:
    """Tell of the tests that were not run, after everything else."""
    yield
    found: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", ()):
        if isinstance(report.longrepr, tuple) and MARK in (reason := report.longrepr[2]):
            found[reason.partition(MARK)[2].lstrip(": ")] += 1
    if not found:
        return
    terminalreporter.section(MARK, sep="!", red=True, bold=True)
    for reason, count in sorted(found.items()):
        terminalreporter.write_line(f"{count:>4} × {reason}")
    terminalreporter.write_line(
        f"{found.total()} tests were NOT RUN: this was not the whole suite.", red=True, bold=True
    )
