"""Markdown on a terminal: wide, narrow, with styles and without; nothing in it drives the terminal."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.chat.markdown import blocks_of, draw
from holdfast.chat.markdown.spans import as_text, line_width
from holdfast.terminal.text import is_harmless

PAGE = """\
# A title

Some **bold** and *slanted* words, `code` and [a link](http://a.example/b).

1. one
2. two
   - nested

> a quote

```python
def hello():
    return "a line that is longer than the narrow one"
```

| name | what it is |
|---|---|
| one | some words in a cell |
"""
WIDE = """\
# A title

Some **bold** and *slanted* words, `code` and a link (http://a.example/b).

1. one
2. two
   • nested

│ a quote

```python
def hello():
    return "a line that is longer than the narrow one"
```

name  what it is
────  ────────────────────
one   some words in a cell
"""
NARROW = """\
# A title

Some **bold** and
*slanted* words,
`code` and a link
(http://a.example/b)
.

1. one
2. two
   • nested

│ a quote

```python
def hello():
    return "a line t
hat is longer than t
he narrow one"
```

name  what it is
────  ──────────────
one   some words in
      a cell
"""


class Terminal(io.StringIO):
    """A stream that people look at."""

    def isatty(self) -> bool:
        return True


def plain(text: str, room: int) -> str:
    lines = draw(blocks_of(text), room, styles=False)
    return "".join(f"{as_text(line, io.StringIO())}\n" for line in lines)


def in_styles(text: str) -> list[str]:
    return [as_text(line, Terminal()) for line in draw(blocks_of(text), 60, styles=True)]


@pytest.mark.parametrize(("room", "drawn"), [(80, WIDE), (20, NARROW)], ids=["wide", "narrow"])
def test_without_styles_the_marks_stay(room: int, drawn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert plain(PAGE, room) == drawn


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("# Title", ["\x1b[1;4mTitle\x1b[0m"]),
        ("a **b** c", ["a \x1b[1mb\x1b[0m c"]),
        ("*a **b***", ["\x1b[3ma \x1b[0m\x1b[3;1mb\x1b[0m"]),
        ("`x y`", ["\x1b[36mx y\x1b[0m"]),
        ("```\nx\n```", ["  \x1b[36mx\x1b[0m"]),
        ("<http://a.example>", ["\x1b[4mhttp://a.example\x1b[0m"]),
        ("- a", ["\x1b[2m• \x1b[0ma"]),
    ],
)
def test_with_styles_the_marks_are_styles(text: str, drawn: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert in_styles(text) == drawn


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("a\x1b[31mred", "a�[31mred\n"),
        ("`\x1b]0;title\x07`", "`�]0;title�`\n"),
        ("```\n\x1b[2J\n```", "```\n�[2J\n```\n"),
        ("```\x1b[2J\nx\n```", "```�[2J\nx\n```\n"),
        ("[x](http://a.example/\u202eb)", "x (http://a.example/%E2%80%AEb)\n"),
        ("<script>\nalert(1)\n</script>", "<script> alert(1) </script>\n"),
        ("&#27;[31m", "�[31m\n"),
    ],
)
def test_what_would_drive_the_terminal_is_shown_instead(text: str, drawn: str) -> None:
    assert plain(text, 60) == drawn


def test_a_table_that_has_no_room_is_told_cell_by_cell() -> None:
    text = "|a|b|c|\n|-|-|-|\n|one|two words|three|\n|1|2|3|\n"
    assert plain(text, 12) == "a: one\nb: two words\nc: three\n\na: 1\nb: 2\nc: 3\n"


PIECES = st.sampled_from(
    ["word ", "日本語", "**", "*", "`", "```\n", "\n", "\n\n", "- ", "1. ", "> ", "    ",
     "| a | b |\n|---|---|\n", "# ", "|",
     "[", "](x)", "<", "~~", "\x1b[31m", "\u202e", "\t", "\\", "---\n", "a" * 30, "!["]
)  # fmt: skip


@settings(max_examples=60)
@given(st.lists(PIECES, max_size=40).map("".join) | st.text(max_size=200), st.integers(2, 60), st.booleans())
def test_no_line_is_too_wide_and_nothing_is_harmful(text: str, room: int, styles: bool) -> None:
    for line in draw(blocks_of(text), room, styles=styles):
        assert line_width(line) <= room
        assert all(is_harmless(char) for span in line for char in span.text)
