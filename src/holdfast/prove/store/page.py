"""The results of several runs as a page: a table of clauses by stores, then why what is disproven is.

    python -m holdfast.prove.store.page docs/prove-store.md SUMMARY.json...

What stands between the page's two marks is replaced; nothing in it is written by hand.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from holdfast.core import strict_json
from holdfast.core.errors import InvalidInput
from holdfast.prove.store.clauses import contract

BEGIN = "<!-- results: written by scripts/prove-stores -->\n"
END = "<!-- end of results -->\n"
SHOWN = {"disproven": "**disproven**", "not offered": "–"}


def results(summaries: Sequence[dict[str, Any]]) -> str:
    """Everything between the marks."""
    names = [Path(summary["adapter"]).stem for summary in summaries]
    lines = [_row("clause", names), _row("---", ["---"] * len(names))]
    verdicts = [{clause["name"]: clause["verdict"] for clause in summary["clauses"]} for summary in summaries]
    lines += [_row(name, [SHOWN.get(found[name], found[name]) for found in verdicts]) for name in contract()]
    lines.append("\n– is not offered: the store has no words for it, so nothing was asked and nothing is green.\n")
    for name, summary in zip(names, summaries, strict=True):
        lines += _told(name, summary)
    return "\n".join(lines)


def replaced(page: str, between: str) -> str:
    """The page with other results."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise InvalidInput("the page has no marks for results", hint=f"put {BEGIN.strip()} and {END.strip()} on it")
    return f"{before}{begin}\n{between}\n{end}{after}"


def _told(name: str, summary: dict[str, Any]) -> list[str]:
    counts = ", ".join(f"{number} {word}" for word, number in summary["counts"].items())
    bounds = summary["arguments"]
    lines = [
        f"**{name}**: {summary['store']}. {counts}; {summary['started_at'][:10]}, seed {summary['seed']}, "
        f"{bounds['cycles']} cycles, {bounds['events']} events, {summary['seconds']:.0f} s."
    ]
    for clause in summary["clauses"]:
        if clause["verdict"] in {"disproven", "inconclusive"}:
            got = f" ({clause['got'][:160]})" if clause["got"] else ""
            lines.append(f"- {clause['name']} {clause['verdict']}: {clause['reason']}{got}")
        elif clause["name"] == "long-session" and clause["verdict"] == "proven":
            lines.append(f"- long-session: {clause['reason']}")
    return [*lines, ""]


def _row(first: str, cells: Sequence[str]) -> str:
    return f"| {' | '.join((first, *cells))} |"


def main(page: Path, summaries: Sequence[Path]) -> None:
    """Write the results into the page."""
    read = [strict_json.parse(path.read_bytes()) for path in summaries]
    page.write_text(replaced(page.read_text(), results(read)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(word) for word in sys.argv[2:]])
