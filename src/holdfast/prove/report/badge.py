"""A badge for a README: the verdict of a run and how many claims were proven, as a small SVG that loads nothing."""

from typing import Any

from holdfast.prove.report.markup import join, tag
from holdfast.prove.report.run_record import dicts, text

LABEL = "holdfast"
COLOURS = {"proven": "#1a7f37", "disproven": "#cf222e", "inconclusive": "#9a6700", "fault": "#6e7781"}
CHARACTER = 6.6
"""How wide one is about; the texts are fitted to their places whatever the font."""
SIDE = 6.0
HEIGHT = "20"
FONT = "Verdana, 'DejaVu Sans', sans-serif"


def badge(summary: dict[str, Any]) -> bytes:
    """The badge of a run."""
    verdict = text(summary.get("verdict"))
    claims = [*dicts(summary.get("proofs")), *dicts(summary.get("clauses"))]
    proven = sum(claim.get("verdict") == "proven" for claim in claims)
    said = f"{verdict} {proven}/{len(claims)}"
    left, right = _width(LABEL), _width(said)
    places = ((LABEL, 0.0, left, "#24292f"), (said, left, right, COLOURS.get(verdict, COLOURS["fault"])))
    shapes = [tag("rect", x=f"{x:g}", width=f"{width:g}", height=HEIGHT, fill=fill) for _, x, width, fill in places]
    words = [
        tag("text", word, x=f"{x + SIDE:g}", y="14", textLength=f"{width - 2 * SIDE:g}", fill="#fff")
        for word, x, width, _ in places
    ]
    svg = tag(
        "svg",
        tag("title", f"{LABEL}: {said}"),
        join(*shapes),
        tag("g", *words, font_family=FONT, font_size="11"),
        xmlns="http://www.w3.org/2000/svg",
        width=f"{left + right:g}",
        height=HEIGHT,
        role="img",
        aria_label=f"{LABEL}: {said}",
    )
    return f"{svg}\n".encode()


def _width(word: str) -> float:
    return round(len(word) * CHARACTER + 2 * SIDE, 1)
