"""A document's blocks as lines of a terminal: headings, paragraphs, lists, quotes, code, tables.

Lists and quotes stand in each other; each takes room from what is inside it. How deep they go is bounded by the parser.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

from holdfast.chat.markdown.inline import spans_of
from holdfast.chat.markdown.spans import Line, Span, chop, fold_spans, span
from holdfast.chat.markdown.tables import draw_table
from holdfast.terminal.text import one_line

NARROWEST = 8
"""Columns that a text needs at least; where there are fewer, it stands without the marks of its list or quote."""
RULE = 40
CODE = "cyan"
HEADINGS = {"h1": "bold underline", "h2": "bold"}
HEADING = "bold"


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a document, and the line of the source that it begins on."""

    node: SyntaxTreeNode
    first_line: int


def blocks_of(text: str) -> list[Block]:
    """The blocks of a document, in order."""
    tree = SyntaxTreeNode(_parser().parse(text))
    return [Block(node, node.map[0] if node.map else 0) for node in tree.children]


def draw(blocks: Sequence[Block], room: int, *, styles: bool) -> list[Line]:
    """The lines of some blocks, an empty one between two."""
    return _Drawing(styles).stacked([block.node for block in blocks], max(room, 2))


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


class _Drawing:
    """One drawing, with styles or without."""

    def __init__(self, styles: bool) -> None:
        self._styles = styles

    def stacked(self, nodes: Sequence[SyntaxTreeNode], room: int, *, tight: bool = False) -> list[Line]:
        """Blocks below each other."""
        lines: list[Line] = []
        for node in nodes:
            drawn = list(self._block(node, room))
            if lines and drawn and not tight:
                lines.append([])
            lines += drawn
        return lines

    def _block(self, node: SyntaxTreeNode, room: int) -> Iterator[Line]:
        if node.type == "heading":
            yield from self._heading(node, room)
        elif node.type == "paragraph":
            yield from self._text(node, room)
        elif node.type in {"fence", "code_block"}:
            yield from self._code(node, room)
        elif node.type in {"bullet_list", "ordered_list"}:
            yield from self._list(node, room)
        elif node.type == "blockquote":
            yield from self._inset(node.children, "│ ", "│ ", room)
        elif node.type == "hr":
            yield [Span("─" * min(room, RULE), "dim")]
        elif node.type == "table":
            yield from draw_table(self._rows(node), room)
        else:
            yield from fold_spans([span(node.content)], room)

    def _heading(self, node: SyntaxTreeNode, room: int) -> Iterator[Line]:
        mark = [] if self._styles else [Span(f"{node.markup if node.markup.startswith('#') else '#'} ")]
        style = HEADINGS.get(node.tag, HEADING)
        yield from fold_spans([*mark, *self._inline(node, style)], room)

    def _text(self, node: SyntaxTreeNode, room: int) -> list[Line]:
        return fold_spans(self._inline(node), room)

    def _code(self, node: SyntaxTreeNode, room: int) -> Iterator[Line]:
        if not self._styles:
            yield from chop(one_line(f"```{node.info.strip()}"), "", room)
        indent = "  " if self._styles and room >= NARROWEST else ""
        for text in node.content.rstrip("\n").split("\n"):
            for piece in chop(one_line(text.expandtabs(4)), CODE, room - len(indent)):
                yield [Span(indent), *piece]
        if not self._styles:
            yield from chop("```", "", room)

    def _list(self, node: SyntaxTreeNode, room: int) -> Iterator[Line]:
        number = int(node.attrs.get("start", 1))
        tight = all(child.hidden for item in node.children for child in item.children if child.type == "paragraph")
        for count, item in enumerate(node.children):
            mark = f"{number + count}. " if node.type == "ordered_list" else "• "
            if count and not tight:
                yield []
            yield from self._inset(item.children, mark, " " * len(mark), room, tight=tight)

    def _inset(
        self, nodes: Sequence[SyntaxTreeNode], first: str, rest: str, room: int, *, tight: bool = False
    ) -> Iterator[Line]:
        """Blocks with a mark before their first line and another before the others, if there is room for marks."""
        if room - len(first) < NARROWEST:
            first = rest = ""
        for number, line in enumerate(self.stacked(nodes, room - len(first), tight=tight) or [[]]):
            yield [Span(rest if number else first, "dim"), *line]

    def _rows(self, node: SyntaxTreeNode) -> list[list[list[Span]]]:
        """The cells of a table, its heading first."""
        return [
            [self._inline(cell, HEADING if part.type == "thead" else "") for cell in row.children]
            for part in node.children
            for row in part.children
        ]

    def _inline(self, node: SyntaxTreeNode, base: str = "") -> list[Span]:
        tokens: list[Token] = [each for child in node.children if child.token for each in child.token.children or []]
        return spans_of(tokens, styles=self._styles, base=base)
