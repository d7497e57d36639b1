"""Tables: rows under headings, in the columns that there are. Cells never drive the terminal.

Where the terminal is too narrow there are two ways. A list is cut: from the last column on cells are shortened or left
out. A text is folded: its column is the last, and goes on in lines of its own, below the others if need be.
"""

from collections.abc import Sequence
from typing import TextIO

from holdfast.terminal.screen import styled
from holdfast.terminal.text import cut, fold, one_line, width_of

GAP = "  "
SHORTEST_HEADING = 3
NARROWEST_TEXT = 20


def cut_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    room: int,
    *,
    right: Sequence[str] = (),
    whole: Sequence[str] = (),
) -> list[str]:
    """The lines of a table that is cut to its room, but for the columns that are to stay whole."""
    lines, widths = _measured(columns, rows)
    left = room - sum(width + len(GAP) for width, name in zip(widths, columns, strict=True) if name in whole)
    for number, name in enumerate(columns):
        if name not in whole:
            widths[number] = min(widths[number], max(left, 0))
            left -= widths[number] + len(GAP)
    shown = [number for number, name in enumerate(columns) if widths[number] >= min(width_of(name), SHORTEST_HEADING)]
    texts = [
        _joined([_padded(cut(line[n], widths[n]), widths[n], right=columns[n] in right) for n in shown])
        for line in lines
    ]
    return [styled(texts[0], "bold"), *texts[1:]]


def folded_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    room: int,
    stream: TextIO,
    styles: Sequence[str] = (),
) -> list[str]:
    """The lines of a table that is folded to its room; `styles` are those of the second cell of each row."""
    lines, widths = _measured(columns, rows)
    taken = sum(width + len(GAP) for width in widths[:-1])
    beside = room - taken >= NARROWEST_TEXT
    indent = " " * taken if beside else GAP
    texts: list[str] = []
    for number, line in enumerate(lines):
        cells = [_padded(cell, width) for cell, width in zip(line[:-1], widths[:-1], strict=True)]
        text = fold(line[-1], max(room - len(indent), 1))
        if beside:
            cells.append(text.pop(0))
        if number == 0:
            texts += [styled(each, "bold", stream) for each in (_joined(cells), *(indent + more for more in text))]
            continue
        if styles:
            word = line[1]
            cells[1] = styled(word, styles[number - 1], stream) + cells[1][len(word) :]
        texts += (_joined(cells), *(indent + more for more in text))
    return texts


def _measured(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[list[list[str]], list[int]]:
    """The heading and the rows, harmless, and how wide each column is."""
    lines = [list(columns), *([one_line(cell) for cell in row] for row in rows)]
    return lines, [max(width_of(line[number]) for line in lines) for number in range(len(columns))]


def _padded(cell: str, width: int, *, right: bool = False) -> str:
    space = " " * (width - width_of(cell))
    return space + cell if right else cell + space


def _joined(cells: Sequence[str]) -> str:
    return GAP.join(cells).rstrip()
