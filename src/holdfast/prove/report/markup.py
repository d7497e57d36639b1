"""HTML that cannot be forged: whatever is not made by `tag` is text, and is escaped on the way into the page."""

from html import escape

from holdfast.terminal.text import escaped

VOID = frozenset({"meta"})


class Markup(str):
    """A piece of HTML that `tag` made."""

    __slots__ = ()


def tag(name: str, /, *inside: str, **attributes: str | bool | None) -> Markup:
    """An element. Text inside is escaped, markup is not; an attribute that is None or False is left out."""
    written = "".join(_attribute(key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items())
    return Markup(f"<{name}{written}>{join(*inside)}" + ("" if name in VOID else f"</{name}>"))


def join(*pieces: str) -> Markup:
    """The pieces one after the other, texts among them escaped."""
    return Markup("".join(piece if isinstance(piece, Markup) else escape(visible(piece)) for piece in pieces))


def visible(text: str) -> str:
    """The text with what cannot be seen (controls, direction marks) shown as its escape; lines stay lines."""
    return escaped(text, keep="\n\t")


def _attribute(name: str, value: str | bool | None) -> str:
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{escape(visible(value))}"'
