"""What a run looks like on a terminal: a line of progress while it runs, then a table, then what to look at.

Results go to stdout and are the same with and without rich, but for colour. What a target said is shown with its
control characters escaped, so it cannot draw on the terminal.
"""

import shutil
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from holdfast.prove.run import NEEDS_RESTART, Outcome, Result
from holdfast.prove.summary import VERDICTS
from holdfast.prove.verdict import Exit, Verdict

STYLES = {
    Verdict.PROVEN: "green",
    Verdict.DISPROVEN: "bold red",
    Verdict.INCONCLUSIVE: "yellow",
    Verdict.NOT_REACHED: "dim",
}
EXIT_STYLES = {
    Exit.PROVEN: "bold green",
    Exit.DISPROVEN: "bold red",
    Exit.FAULT: "bold magenta",
    Exit.INCONCLUSIVE: "bold yellow",
}
CLEAR_LINE = "\r\x1b[2K"
NARROWEST_LAST_COLUMN = 20


class Progress:
    """One line on a terminal that says what is going on; silent where there is no terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._shown = stream.isatty()

    def step(self, proof: str, step: str) -> None:
        """Show that a proof takes a step."""
        if self._shown:
            width = shutil.get_terminal_size().columns - 1
            self._stream.write(CLEAR_LINE + f"… {proof}: {step}"[:width])
            self._stream.flush()

    def clear(self) -> None:
        """Leave no trace of the line."""
        if self._shown:
            self._stream.write(CLEAR_LINE)
            self._stream.flush()


def show(result: Result, folder: Path, seconds: float, stream: TextIO) -> None:
    """Print the table, the grounds of what is not proven, the verdict and where the evidence is."""
    broken = [outcome for outcome in result.prerequisites if outcome.finding.verdict is not Verdict.PROVEN]
    outcomes = [*broken, *result.proofs]
    rows = [_row(outcome) for outcome in outcomes]
    table(("proof", "verdict", "   s", "reason"), rows, stream, [STYLES[o.finding.verdict] for o in outcomes])
    if result.left_out:
        names = ", ".join(proof.name for proof in result.left_out)
        stream.write(f"\nleft out: {names} ({NEEDS_RESTART})\n")
    for outcome in outcomes:
        stream.write(grounds(outcome))
    stream.write("\n")
    _verdict_line(result, seconds, stream)
    stream.write(f"evidence: {folder}\n")


def grounds(outcome: Outcome) -> str:
    """What was expected, what came, what to do and a command that shows it; empty where there is none of it."""
    finding = outcome.finding
    labelled = {
        "expected": finding.expected,
        "got": finding.got,
        "hint": finding.hint,
        "show it": finding.curl,
    }
    lines = [f"  {label + ':':<10}{printable(text)}\n" for label, text in labelled.items() if text]
    return "".join((f"\n{outcome.proof.name}\n", *lines)) if lines else ""


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], stream: TextIO, styles: Sequence[str] | None = None
) -> None:
    """A table whose last column is folded to the width there is; `styles` colour the second column."""
    try:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        stream.writelines(f"{line}\n" for line in plain_table(header, rows, shutil.get_terminal_size().columns))
        return
    grid = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for title in header[:-1]:
        grid.add_column(title, no_wrap=True)
    grid.add_column(header[-1], overflow="fold", min_width=NARROWEST_LAST_COLUMN)
    for row, style in zip(rows, styles or [""] * len(rows), strict=True):
        grid.add_row(*(Text(cell, style=style if column == 1 else "") for column, cell in enumerate(row)))
    console = Console(file=stream, highlight=False)
    with console.capture() as captured:
        console.print(grid)
    stream.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def plain_table(header: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """The same table as lines of plain text."""
    everything = [header, *rows]
    widths = [max(len(row[column]) for row in everything) for column in range(len(header) - 1)]
    indent = " " * (sum(widths) + 2 * len(widths))
    room = max(NARROWEST_LAST_COLUMN, width - len(indent))
    lines: list[str] = []
    for row in everything:
        start = "".join(f"{cell:<{size}}  " for cell, size in zip(row, widths, strict=False))
        first, *more = textwrap.wrap(row[-1], room) or [""]
        lines.append((start + first).rstrip())
        lines += [indent + line for line in more]
    return lines


def printable(text: str) -> str:
    """The text with everything that is not a visible character or a space escaped."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def _row(outcome: Outcome) -> tuple[str, str, str, str]:
    finding = outcome.finding
    seconds = "" if finding.verdict is Verdict.NOT_REACHED else f"{outcome.seconds:.1f}"
    return outcome.proof.name, finding.verdict.value, f"{seconds:>4}", printable(finding.reason)


def _verdict_line(result: Result, seconds: float, stream: TextIO) -> None:
    word = VERDICTS[result.exit_code].upper()
    verdicts = [outcome.finding.verdict for outcome in result.proofs]
    counted = ((verdicts.count(verdict), verdict.value) for verdict in Verdict)
    counts = ", ".join(f"{number} {name}" for number, name in counted if number)
    tail = f" in {seconds:.1f} s: {counts}"
    try:
        from rich.console import Console
        from rich.text import Text
    except ImportError:
        stream.write(f"{word}{tail}\n")
        return
    line = Text.assemble((word, EXIT_STYLES[result.exit_code]), tail)
    Console(file=stream, highlight=False, soft_wrap=True).print(line)
