"""What a run looks like on a terminal when it is over: a table, then what to look at.

What a target said is shown with its control characters escaped, so it cannot draw on the terminal.
"""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from holdfast.prove.verdict import GROUNDS, Exit, Verdict
from holdfast.terminal.screen import styled, width
from holdfast.terminal.table import folded_table
from holdfast.terminal.text import escaped

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


def show(summary: Mapping[str, Any], report: Path, stream: TextIO, *, quiet: bool = False) -> None:
    """Print the table, the grounds of what is not proven, where it broke, the verdict and where the report is.

    Quiet is without the table; what that would have said of what is not proven stands before its grounds.
    """
    broken = [found for found in summary["prerequisites"] if found["verdict"] != Verdict.PROVEN]
    outcomes = [*broken, *summary["proofs"]]
    if not quiet:
        rows = [_row(outcome) for outcome in outcomes]
        styles = [STYLES[Verdict(outcome["verdict"])] for outcome in outcomes]
        table(("proof", "verdict", "   s", "reason"), rows, stream, styles)
        stream.write(_by_reason("left out", summary["left_out"]))
    for outcome in outcomes:
        stream.write(_in_full(outcome) if quiet else grounds(outcome))
    if quiet:
        missed = {found["name"]: found["reason"] for found in outcomes if found["verdict"] == Verdict.NOT_REACHED}
        stream.write(_by_reason("not reached", missed))
    stream.write(layers(summary.get("layers", ())))
    stream.write(_how_to_try(summary, outcomes))
    if not quiet or summary["exit_code"] != Exit.PROVEN:
        stream.write("\n")
    _verdict_line(summary, stream)
    stream.write(f"report: {report}\n")


def grounds(found: Mapping[str, Any]) -> str:
    """What was expected, what came, what to do and a command that shows it; empty where there is none of it."""
    lines = [f"  {label + ':':<10}{escaped(found[key])}\n" for key, label in GROUNDS.items() if found.get(key)]
    return "".join((f"\n{escaped(str(found['name']))}\n", *lines)) if lines else ""


def _in_full(outcome: Mapping[str, Any]) -> str:
    """The verdict, the reason and the grounds of what is not proven; what was not reached is told elsewhere."""
    if outcome["verdict"] in {Verdict.PROVEN, Verdict.NOT_REACHED}:
        return ""
    lines = grounds(outcome).splitlines(keepends=True)[2:]
    return "".join((f"\n{escaped(outcome['name'])} is {outcome['verdict']}: {escaped(outcome['reason'])}\n", *lines))


def table(header: Sequence[str], rows: Sequence[Sequence[str]], stream: TextIO, styles: Sequence[str] = ()) -> None:
    """Print a table whose last column is folded to the width there is; `styles` colour the second column."""
    stream.writelines(f"{line}\n" for line in folded_table(header, rows, width(), stream, styles))


def layers(found: Sequence[Mapping[str, Any]]) -> str:
    """Where it broke: a line for each layer, from the outermost inwards, and the grounds of those that are broken."""
    lines = [f"  {escaped(layer['state']):<9}{escaped(layer['name'])}\n" for layer in found]
    told = [grounds(layer) for layer in found if layer["state"] == "broken"]
    title = "where it broke" if told else "no layer is broken by itself"
    return "".join((f"\n{title}\n", *lines, *told)) if lines else ""


def _how_to_try(summary: Mapping[str, Any], outcomes: Sequence[Mapping[str, Any]]) -> str:
    """Where commands were shown for a target that was ours and has ended: how to have one that they can be tried on."""
    arguments = summary["arguments"]
    ended = summary["target"]["command"] and not arguments.get("keep_running")
    if not ended or not any(found["verdict"] == Verdict.DISPROVEN and found.get("curl") for found in outcomes):
        return ""
    line, elsewhere = arguments.get("command"), arguments.get("store") or "runs" in summary
    template = arguments.get("template")
    named = f" --template {shlex.quote(template)}" if template else ""
    how = f"holdfast prove --again {shlex.quote(summary['evidence'])}{named}"
    if elsewhere or (line and "{data}" not in line):
        how = "run again with --keep-running"
    return f"\nthe target has ended; to try these commands: {how}\n"


def _by_reason(what: str, reasons: Mapping[str, str]) -> str:
    """The proofs that this happened to, those with one reason on one line."""
    lines = []
    for reason in dict.fromkeys(reasons.values()):
        names = ", ".join(escaped(name) for name, own in reasons.items() if own == reason)
        lines.append(f"{what}: {names} ({escaped(reason)})\n")
    return "".join(("\n", *lines)) if lines else ""


def _row(outcome: Mapping[str, Any]) -> tuple[str, str, str, str]:
    seconds = "" if outcome["verdict"] == Verdict.NOT_REACHED else f"{outcome['seconds']:.1f}"
    return escaped(outcome["name"]), outcome["verdict"], f"{seconds:>4}", escaped(outcome["reason"])


def _verdict_line(summary: Mapping[str, Any], stream: TextIO) -> None:
    word = summary["verdict"].upper()
    counted = Counter(outcome["verdict"] for outcome in summary["proofs"])
    counts = ", ".join(f"{counted[verdict]} {verdict.value}" for verdict in Verdict if counted[verdict])
    runs = f" and {len(summary['runs'])} runs" if "runs" in summary else ""
    left_out = f", {len(summary['left_out'])} left out" if summary["left_out"] else ""
    tail = f" in {summary['seconds']:.1f} s{runs}: {counts or 'nothing was checked'}{left_out}"
    stream.write(f"{styled(word, EXIT_STYLES[Exit(summary['exit_code'])], stream)}{tail}\n")
