"""What stands inside a paragraph: emphasis, code, links. With styles its marks become styles, without they stay."""

from collections.abc import Sequence

from markdown_it.token import Token

from holdfast.chat.markdown.spans import BREAK, Span, span

MARKS = {"strong": ("**", "bold"), "em": ("*", "italic"), "s": ("~~", "dim")}
CODE = "cyan"
LINK = "underline"
ASIDE = "dim"


def spans_of(tokens: Sequence[Token], *, styles: bool, base: str = "") -> list[Span]:
    """The spans of an inline token's children; `base` is the style of what they stand in."""
    return _Inline(styles, base).read(tokens)


class _Inline:
    """The reading of one paragraph: which styles are on, and which links are open."""

    def __init__(self, styles: bool, base: str) -> None:
        self._styles = styles
        self._on = base.split()
        self._links: list[tuple[str, int]] = []
        self._spans: list[Span] = []

    def read(self, tokens: Sequence[Token]) -> list[Span]:
        for token in tokens:
            self._take(token)
        return self._spans

    def _take(self, token: Token) -> None:
        name, _, edge = token.type.rpartition("_")
        if name in MARKS:
            self._mark(*MARKS[name], opens=edge == "open")
        elif name == "link":
            self._link(token, opens=edge == "open")
        elif token.type == "softbreak":
            self._say(" ")
        elif token.type == "hardbreak":
            self._spans.append(BREAK)
        elif token.type == "code_inline":
            self._say(token.content if self._styles else f"`{token.content}`", CODE)
        elif token.type == "image":
            self._say(f"[{token.content or 'image'}]", LINK)
            self._say(f" ({token.attrGet('src')})", ASIDE)
        else:
            self._say(token.content)

    def _mark(self, mark: str, style: str, *, opens: bool) -> None:
        if not self._styles:
            self._say(mark)
        elif opens:
            self._on.append(style)
        else:
            self._on.remove(style)

    def _link(self, token: Token, *, opens: bool) -> None:
        if opens:
            self._links.append((str(token.attrGet("href") or ""), len(self._spans)))
            self._on.append(LINK)
            return
        self._on.remove(LINK)
        address, first = self._links.pop()
        words = "".join(each.text for each in self._spans[first:])
        if address and words not in (address, address.removeprefix("mailto:")):
            self._say(f" ({address})", ASIDE)

    def _say(self, text: str, style: str = "") -> None:
        if text:
            self._spans.append(span(text, " ".join(dict.fromkeys([*self._on, *style.split()]))))
