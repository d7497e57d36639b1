"""An answer that comes in pieces: at the end the screen shows what the whole answer looks like, however it came."""

import io
import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.chat.test_chat_markdown import PAGE, plain

from holdfast.chat.conversation import COMPLETED, ToolBegin, ToolEnd, TurnAnswer, Words
from holdfast.chat.live_answer import AnswerScreen
from holdfast.chat.screen_lines import ScreenLines
from holdfast.chat.turn_view import TurnView

CODES = re.compile(r"\x1b\[(\d*)([AJ])|\r|\n|[^\x1b\r\n]+")


class Screen(io.StringIO):
    """A terminal with endless rows that keeps what stands on it, and refuses what our lines never need."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = [""]
        self._row = 0

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        end = 0
        for found in CODES.finditer(text):
            assert found.start() == end, f"{text[end : found.start()]!r} drives the terminal"
            end = found.end()
            self._take(found)
        assert end == len(text)
        return len(text)

    def _take(self, found: re.Match[str]) -> None:
        if found[0] == "\n":
            self._row += 1
            self.rows += [""] * (self._row + 1 - len(self.rows))
        elif found[2] == "A":
            self._row -= int(found[1])
            assert self._row >= 0
        elif found[2] == "J":
            del self.rows[self._row :]
            self.rows.append("")
        elif found[0] != "\r":
            self.rows[self._row] += found[0]

    def text(self) -> str:
        return "\n".join(self.rows)


@pytest.fixture(autouse=True)
def _a_plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "41")
    monkeypatch.setenv("LINES", "1000")


def pieces_of(text: str, cuts: list[int]) -> list[str]:
    places = sorted({0, len(text), *(cut % len(text) for cut in cuts)})
    return [text[start:end] for start, end in pairwise(places)]


@settings(max_examples=12)
@given(st.lists(st.integers(0, 10_000), max_size=30))
def test_pieces_show_what_the_whole_shows(cuts: list[int]) -> None:
    screen = Screen()
    answer = AnswerScreen(ScreenLines(screen))
    for piece in pieces_of(PAGE, cuts):
        answer.add(piece)
        answer.paint()
    answer.settle()
    assert screen.text() == plain(PAGE, 40)


def test_where_nothing_can_be_taken_back_every_line_is_written_once() -> None:
    stream = io.StringIO()
    answer = AnswerScreen(ScreenLines(stream))
    for char in PAGE:
        answer.add(char)
        answer.paint()
    answer.settle()
    assert stream.getvalue() == plain(PAGE, 40)


def test_a_screen_with_few_rows_is_never_left_upwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINES", "4")
    screen = Screen()
    lines = ScreenLines(screen)
    lines.show([f"line {number}" for number in range(10)])
    lines.settle([f"changed {number}" for number in range(10)])
    assert screen.rows == [*(f"line {number}" for number in range(7)), "changed 7", "changed 8", "changed 9", ""]


async def test_a_turn_shows_words_tools_and_checks_and_leaves_no_sign_of_life() -> None:
    screen = Screen()
    view = TurnView(AnswerScreen(ScreenLines(screen)))
    async with view.live():
        view.hear(Words("Let me **look**."))
        view.hear(ToolBegin("bash", "ls"))
        assert "⠋ bash: ls" in screen.text()
        view.hear(ToolEnd("bash", "ls", "finished", "a.txt"))
        view.hear(ToolEnd("write", "x\x1b[2J", "refused", "error: not permitted: no\nmore"))
        view.hear(Words("Done."))
    view.end(TurnAnswer("Done.", COMPLETED, checks=(("test -f x", False),)))
    shown = "Let me **look**.\n\n✓ bash: ls\n✗ write: x�[2J: error: not permitted: no\n\nDone.\n\n✗ test -f x\n"
    assert screen.text() == shown


async def test_a_question_stands_apart_from_the_words_before_it() -> None:
    screen = Screen()
    view = TurnView(AnswerScreen(ScreenLines(screen)))
    async with view.live():
        async with view.pause():
            screen.write("May it?\n")
        view.hear(Words("Let me look."))
        async with view.pause():
            screen.write("May it?\n")
        view.hear(ToolEnd("bash", "ls", "finished", "a.txt"))
    assert screen.text() == "May it?\nLet me look.\n\nMay it?\n\n✓ bash: ls\n"


def test_a_paragraph_that_takes_long_to_paint_is_painted_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    paintings = 0

    class Slow(AnswerScreen):
        def paint(self) -> None:
            nonlocal now, paintings
            now += 1.0
            paintings += 1

    monkeypatch.setattr("holdfast.chat.turn_view.time.monotonic", lambda: now)
    view = TurnView(Slow(ScreenLines(Screen())))
    for _ in range(1000):
        now += 0.01
        view.hear(Words("word "))
    assert paintings < 5
