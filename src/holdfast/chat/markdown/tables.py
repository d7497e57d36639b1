"""A table in the room that there is: the widest columns give way first, and their cells go on in lines of their own."""

from collections.abc import Iterator, Sequence

from holdfast.chat.markdown.spans import Line, Span, fold_spans, line_width, trimmed

GAP = 2
NARROWEST = 6

Cell = Sequence[Span]


def draw_table(rows: Sequence[Sequence[Cell]], room: int) -> Iterator[Line]:
    """The lines of a table, a rule below its first row; one that has no room for its columns is told cell by cell."""
    columns = max(map(len, rows), default=0)
    widths = [max(line_width(row[number]) for row in rows if number < len(row)) for number in range(columns)]
    space = room - GAP * (columns - 1)
    if space < NARROWEST * columns and sum(widths) > space:
        yield from _cell_by_cell(rows, room)
        return
    while sum(widths) > space:
        widths[widths.index(max(widths))] -= 1
    for number, row in enumerate(rows):
        yield from _row(row, widths)
        if number == 0:
            yield [Span((" " * GAP).join("─" * width for width in widths), "dim")]


def _row(row: Sequence[Cell], widths: Sequence[int]) -> Iterator[Line]:
    cells = [fold_spans(cell, max(width, 1)) for cell, width in zip(row, widths, strict=False)]
    for number in range(max(map(len, cells), default=0)):
        line: Line = []
        for cell, width in zip(cells, widths, strict=False):
            part = cell[number] if number < len(cell) else []
            line += [*part, Span(" " * (width - line_width(part) + GAP))]
        yield trimmed(line)


def _cell_by_cell(rows: Sequence[Sequence[Cell]], room: int) -> Iterator[Line]:
    """Each row as lines of `heading: cell`."""
    heading, *others = rows
    for number, row in enumerate(others):
        if number:
            yield []
        for name, cell in zip(heading, row, strict=False):
            yield from fold_spans([*name, Span(": ", "bold"), *cell], room)
