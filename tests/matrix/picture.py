"""The matrix as a picture: a row for each template, a square for each proof, and what exploring found.

Verdicts differ in shape as well as in colour. It has colours for light and for dark, as its reader prefers, and loads
nothing.
"""

from collections.abc import Sequence

from tests.matrix.cell import FAULT, CellRun
from tests.matrix.page import LEFT_OUT, NOT_RUN, Runs, counted, description, found, verdict_of

from holdfast.prove.report.markup import Markup, join, tag
from holdfast.prove.runtime.proofs import catalogue

NAMES, HEAD, SQUARE, GAP, ROW, SIDE = 150, 118, 20, 4, 34, 14
LEGEND = 40
WORD_LETTER, WEAK_LETTER = 6.6, 5.8
"""How wide a letter is, about."""

STYLE = """
svg { font-family: system-ui, 'DejaVu Sans', sans-serif; font-size: 12px; }
.ground { fill: #ffffff; } .word { fill: #1f2328; } .weak { fill: #59636e; font-size: 11px; }
.proven { fill: #1a7f37; } .disproven { fill: #cf222e; } .inconclusive { fill: #9a6700; } .none { fill: #d1d9e0; }
.sign { fill: none; stroke: #ffffff; stroke-width: 2; } .weak-sign { fill: none; stroke: #59636e; stroke-width: 2; }
@media (prefers-color-scheme: dark) {
  .ground { fill: #0d1117; } .word { fill: #f0f6fc; } .weak { fill: #9198a1; }
  .proven { fill: #238636; } .disproven { fill: #da3633; } .inconclusive { fill: #9e6a03; } .none { fill: #30363d; }
  .weak-sign { stroke: #9198a1; }
}
"""

SIGNS = {
    "proven": "M5 10.5 L8.5 14 L15 6.5",
    "disproven": "M6 6 L14 14 M14 6 L6 14",
    "inconclusive": "M7 8 a3 3 0 1 1 4.5 2.5 Q10 11.5 10 13 M10 15 L10 16.5",
    LEFT_OUT: "M6 10 L14 10",
}
LEGENDS = {
    "proven": "proven",
    "disproven": "disproven",
    "inconclusive": "inconclusive, or not reached",
    LEFT_OUT: "left out",
}


def picture(templates: Sequence[str], runs: Runs) -> str:
    """The picture as SVG."""
    proofs = list(catalogue())
    found = max((len(_explored(runs.get((template, "explore")))) for template in templates), default=0)
    width = NAMES + len(proofs) * (SQUARE + GAP) + round(max(found, len("explored")) * WORD_LETTER) + 2 * SIDE
    height = HEAD + len(templates) * ROW + LEGEND
    heads = [_head(number, proof) for number, proof in enumerate(proofs)]
    explored = tag("text", "explored", x=str(_x(len(proofs)) + SIDE), y=str(HEAD - 8), class_="weak")
    rows = [_row(number, template, proofs, runs) for number, template in enumerate(templates)]
    svg = tag(
        "svg",
        tag("title", description(templates, runs)),
        tag("style", Markup(STYLE)),
        tag("rect", width=str(width), height=str(height), rx="8", class_="ground"),
        *heads,
        explored,
        *rows,
        _legend(height - LEGEND / 2 - 6),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        width=str(width),
        height=str(height),
        role="img",
    )
    return f"{svg}\n"


def _x(number: int) -> int:
    return NAMES + number * (SQUARE + GAP)


def _head(number: int, proof: str) -> Markup:
    x, y = _x(number) + SQUARE - 5, HEAD - 8
    return tag("text", proof, x=str(x), y=str(y), transform=f"rotate(-60 {x} {y})", class_="weak")


def _row(number: int, template: str, proofs: Sequence[str], runs: Runs) -> Markup:
    y = HEAD + number * ROW
    proven, explored = runs.get((template, "catalogue")), runs.get((template, "explore"))
    runtime = next((run.runtime for run in (proven, explored) if run is not None and run.runtime), counted(proven))
    words = [
        tag("text", template, x=str(SIDE), y=str(y + 11), class_="word"),
        tag("text", runtime.removeprefix(f"{template} "), x=str(SIDE), y=str(y + 25), class_="weak"),
        tag("text", _explored(explored), x=str(_x(len(proofs)) + SIDE), y=str(y + 15), class_="word"),
    ]
    squares = [
        _square(_x(place), y, verdict, f"{template}, {proof}: {verdict}")
        for place, proof in enumerate(proofs)
        for verdict in (verdict_of(proven, proof),)
    ]
    return join(*words, *squares)


def _square(x: float, y: float, verdict: str, says: str) -> Markup:
    """A square with its sign; nothing but its outline where nothing was run."""
    kind = {LEFT_OUT: "none", NOT_RUN: "none", "not reached": "inconclusive"}.get(verdict, verdict)
    sign = SIGNS.get("inconclusive" if kind == "inconclusive" else verdict)
    style = "weak-sign" if verdict == LEFT_OUT else "sign"
    return tag(
        "g",
        tag("title", says),
        tag("rect", width=str(SQUARE), height=str(SQUARE), rx="3", class_=kind),
        *([tag("path", d=sign, class_=style)] if sign else []),
        transform=f"translate({x:g} {y:g})",
    )


def _explored(run: CellRun | None) -> str:
    if run is None or run.verdict == FAULT:
        return counted(run)
    return f"{run.explored['histories']} histories: {found(run)}"


def _legend(y: float) -> Markup:
    pieces, x = [], float(SIDE)
    for verdict, says in LEGENDS.items():
        pieces += [_square(x, y, verdict, says), tag("text", says, x=f"{x + 26:g}", y=f"{y + 15:g}", class_="weak")]
        x += 44 + WEAK_LETTER * len(says)
    return join(*pieces)
