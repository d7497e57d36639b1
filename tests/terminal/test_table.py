"""Tables that fit any terminal, and lines of progress for those who can see them."""

import io
from collections.abc import Sequence

import pytest

from holdfast.terminal.progress import ProgressLine
from holdfast.terminal.screen import styled, width
from holdfast.terminal.table import cut_table, folded_table


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


def folded(rows: Sequence[Sequence[str]], room: int) -> list[str]:
    return folded_table(("proof", "verdict", "reason"), rows, room, io.StringIO())


def test_a_long_reason_is_folded_under_itself() -> None:
    lines = folded([("name", "proven", "word " * 12)], 50)
    assert len(lines) > 2
    assert {line.index("word") for line in lines[1:]} == {lines[0].index("reason")}


def test_a_reason_that_has_no_room_beside_goes_below_and_is_whole() -> None:
    words = "word " * 12
    lines = folded([("a-long-name", "inconclusive", words)], 30)
    assert max(map(len, lines)) <= 30
    assert lines[2] == "a-long-name  inconclusive"
    assert " ".join(lines[3:]).split() == words.split()


def test_wide_characters_keep_the_columns_straight() -> None:
    lines = folded([("日本", "proven", "a"), ("name", "proven", "b")], 80)
    assert lines[1:] == ["日本   proven   a", "name   proven   b"]


def test_only_the_second_cell_is_styled_and_only_where_styles_show() -> None:
    rows = [("name", "proven", "why")]
    shown = folded_table(("proof", "verdict", "reason"), rows, 80, Terminal(), ["green"])
    assert shown == ["\x1b[1mproof  verdict  reason\x1b[0m", "name   \x1b[32mproven\x1b[0m   why"]
    assert "\x1b" not in "".join(folded(rows, 80))


def test_a_table_is_cut_from_its_end_and_whole_columns_stay() -> None:
    rows = [["a-session", "1,000", "日本語日本語"], ["b", "2", "\x1b[2J"]]
    columns = ("session", "events", "user")
    assert cut_table(columns, rows, 80, right=("events",)) == [
        "session    events  user",
        "a-session   1,000  日本語日本語",
        "b               2  \ufffd[2J",
    ]
    assert cut_table(columns, rows, 24, right=("events",))[1] == "a-session   1,000  日本…"
    assert cut_table(columns, rows, 10, whole=("session",))[1:] == ["a-session", "b"]


@pytest.mark.parametrize(
    ("variables", "shown"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False), ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False)],
)
def test_styles_are_for_terminals_that_want_them(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], shown: bool
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert (styled("x", "bold red", Terminal()) == "\x1b[1;31mx\x1b[0m") is shown
    assert styled("x", "bold red", io.StringIO()) == "x"


def test_styles_can_be_forced_into_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert styled("x", "dim", io.StringIO()) == "\x1b[2mx\x1b[0m"
    assert styled("x", "", io.StringIO()) == "x"


@pytest.mark.parametrize(("named", "found"), [("44", 44), ("0", None), ("-3", None), ("wide", None)])
def test_the_width_is_what_columns_says_if_it_is_one(
    monkeypatch: pytest.MonkeyPatch, named: str, found: int | None
) -> None:
    without = width()
    monkeypatch.setenv("COLUMNS", named)
    assert width() == (found or without)


def test_progress_is_shown_on_a_terminal_and_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, file, dumb = Terminal(), io.StringIO(), Terminal()
    for stream in (terminal, file, dumb):
        monkeypatch.setenv("TERM", "dumb" if stream is dumb else "xterm")
        progress = ProgressLine(stream)
        progress("crash: \x1b[2Jstart again\n", at_once=True)
        progress.clear()
    assert terminal.getvalue() == "\r\x1b[2Kcrash: \ufffd[2Jstart again \r\x1b[2K"
    assert (file.getvalue(), dumb.getvalue()) == ("", "")


def test_progress_is_cut_to_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "10")
    terminal = Terminal()
    with ProgressLine(terminal) as progress:
        progress("a text that is too long")
        progress("not said, because the first was said just now")
    assert terminal.getvalue() == "\r\x1b[2Ka text t…\r\x1b[2K"
