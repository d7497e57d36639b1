"""`summary.md`: the verdict and the table, for a step summary, a pull request or a chat.

What a target said is shown as text: it can neither make markup of its own nor end a code block.
"""

import re
from html import escape

from holdfast.prove.report.markup import visible
from holdfast.prove.report.run_record import Document, counts, dicts, left_out_by_reason, outcomes, seeds, text
from holdfast.prove.verdict import GROUNDS

SIGNS = {"proven": "✅", "disproven": "❌", "inconclusive": "❓", "not reached": "⏭️"}
MAX_CELL = 300
MAX_BLOCK = 4_000


def markdown(summary: Document) -> str:
    """The run on one page, what is not proven in full."""
    found = outcomes(summary)
    target = summary.get("target")
    name = text(target.get("name")) if isinstance(target, dict) else ""
    seconds = summary.get("seconds")
    took = f" in {seconds:.1f} s" if isinstance(seconds, int | float) else ""
    lines = [
        f"## {cell(text(summary.get('verdict')).upper())}: {cell(name)}",
        "",
        f"{cell(counts(summary))}{took}{_spoken(summary)}.",
        "",
        "| proof | verdict | s | reason |",
        "|---|---|---:|---|",
        *(_row(outcome) for outcome in sorted(found, key=lambda outcome: outcome.get("verdict") != "disproven")),
    ]
    for reason, names in left_out_by_reason(summary).items():
        lines += ["", f"Left out: {cell(', '.join(names))} ({cell(reason)})."]
    for outcome in found:
        lines += _grounds(outcome)
    for layer in dicts(summary.get("layers")):
        if layer.get("state") != "ok":
            lines += _grounds({**layer, "name": f"layer {text(layer.get('name'))}: {text(layer.get('state'))}"})
    return "\n".join(lines) + "\n"


def _spoken(summary: Document) -> str:
    """The wire and the seed, of a run that has them."""
    if "wire" not in summary:
        return ""
    return f"; A2A {cell(text(summary.get('wire')))}, --seed {cell(seeds(summary))}"


def _row(outcome: Document) -> str:
    verdict = text(outcome.get("verdict"))
    sign = "⚠️" if outcome.get("fault") else SIGNS.get(verdict, "")
    seconds = outcome.get("seconds")
    took = f"{seconds:.1f}" if isinstance(seconds, int | float) and verdict != "not reached" else ""
    name, reason = cell(text(outcome.get("name"))), cell(text(outcome.get("reason")))
    return f"| {name} | {sign} {cell(verdict)} | {took} | {reason} |"


def _grounds(found: Document) -> list[str]:
    lines = []
    for key, label in GROUNDS.items():
        if found.get(key):
            lines += [f"{label}:", "", *block(text(found[key])), ""]
    return ["", f"### {cell(text(found.get('name')))}", "", *lines] if lines else []


def block(said: str) -> list[str]:
    """A code block with a fence that is not in the text."""
    said = visible(said)
    said = said if len(said) <= MAX_BLOCK else said[:MAX_BLOCK] + "…"
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", said)), default=0))
    return [f"{fence}text", said, fence]


def cell(said: str) -> str:
    """The text on one line, with all that means something in Markdown or HTML escaped."""
    line = " ".join(visible(said).split())
    line = line if len(line) <= MAX_CELL else line[:MAX_CELL] + "…"
    return re.sub(r"([\\`*_\[\]{}#|~!@])", r"\\\1", escape(line, quote=False))
