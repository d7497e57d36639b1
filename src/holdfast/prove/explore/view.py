"""What an exploration looks like: one line that changes while it runs, then the claims and the smallest history."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from holdfast.prove.explore.run import Exploration, ExplorePlan
from holdfast.prove.explore.summary import explored
from holdfast.prove.verdict import Exit, Verdict
from holdfast.prove.view import terminal
from holdfast.terminal.progress import ProgressLine
from holdfast.terminal.screen import styled
from holdfast.terminal.text import escaped


class ExploreView:
    """The line of one run on a stream; silent if it is to be quiet."""

    def __init__(self, stream: TextIO, plan: ExplorePlan, *, quiet: bool = False) -> None:
        self._stream = stream
        self._plan = plan
        self._quiet = quiet
        self._line = ProgressLine(stream)
        self._began = time.monotonic()

    def begin(self, name: str, wire: str) -> None:
        """Say what is about to be explored, and how to do the same again."""
        if not self._quiet:
            side = f", {self._plan.workers} side by side" if self._plan.workers > 1 else ""
            over = f" over A2A {wire}" if wire else ""
            self._stream.write(f"exploring {name}{over} with --seed {self._plan.seed}{side}\n")

    def news(self, found: Exploration) -> None:
        """Show how far it is."""
        if not self._quiet:
            self._line(f"{counts(explored(found))} · {self._progress(found)} · {found.phase}")

    def clear(self) -> None:
        """Leave no trace of the line."""
        self._line.clear()

    def _progress(self, found: Exploration) -> str:
        if self._plan.histories is not None:
            return f"{found.coverage.histories} of {self._plan.histories}"
        return f"{time.monotonic() - self._began:.0f} of {self._plan.budget:.0f} s"


def counts(explored: Mapping[str, Any]) -> str:
    """How much was explored, in words."""
    number, operations = explored["histories"], explored["operations"]
    return (
        f"{number:,} {'history' if number == 1 else 'histories'}, {operations:,} operations, "
        f"{explored['kills']:,} kills, {explored['situations']:,} situations"
    )


def show(summary: Mapping[str, Any], folder: Path, stream: TextIO, *, quiet: bool = False) -> None:
    """Print the claims, each violation with its smallest history, the verdict and where the report is."""
    outcomes = summary["proofs"]
    if not quiet:
        rows = [(found["name"], found["verdict"], escaped(found["reason"])) for found in outcomes]
        styles = [terminal.STYLES[Verdict(found["verdict"])] for found in outcomes]
        terminal.table(("claim", "verdict", "reason"), rows, stream, styles)
        if summary["left_out"]:
            stream.write(f"\nleft out: {', '.join(summary['left_out'])} (nothing that was done shows it)\n")
        for what, words in summary["not_offered"].items():
            stream.write(f"not tried: {what} ({escaped(words)})\n")
        if summary["explored"]["pauses"]:
            longest = summary["explored"]["longest_pause_seconds"]
            stream.write(f"pauses lasted {longest:g} s at most: what a longer lease hides was not tried\n")
        if summary["explored"]["unfinished"]:
            stream.write(f"begun and not finished in time: {summary['explored']['unfinished']} histories\n")
    for number, violation in enumerate(summary["violations"], 1):
        stream.write(_violation(violation, number, folder))
    word = styled(summary["verdict"].upper(), terminal.EXIT_STYLES[Exit(summary["exit_code"])], stream)
    stream.write(f"\n{word} in {summary['seconds']:.1f} s: {counts(summary['explored'])}\n")
    stream.write(f"report: {folder / 'report.html'}\n")


def _violation(violation: Mapping[str, Any], number: int, folder: Path) -> str:
    sure = "" if violation["confirmed"] else ", so it is not called a violation"
    head = f"\n{violation['claim']}: {escaped(violation['reason'])} "
    head += f"(seen {violation['shown']} of {violation['tried']} times{sure})\n"
    lines = [f"  {place:>2}. {escaped(step)}\n" for place, step in enumerate(violation["steps"], 1)]
    told = {name: violation[name] for name in ("expected", "got", "asked_again")}
    told["undone"] = ", ".join(violation["undone"])
    told["again"] = f"--replay {folder / f'violation-{number}.json'}"
    lines += [f"  {name.replace('_', ' ') + ':':<13}{escaped(words)}\n" for name, words in told.items() if words]
    return "".join((head, *lines))
