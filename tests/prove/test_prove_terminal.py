"""Tables that fit any terminal and lose nothing, and a line of progress for those who can see one."""

import io

from holdfast.prove.terminal import Progress, layers, plain_table


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_long_reason_is_folded_under_itself() -> None:
    lines = plain_table(("proof", "verdict", "reason"), [("name", "proven", "word " * 12)], 50)
    assert len(lines) > 2
    assert {line.index("word") for line in lines[1:]} == {lines[0].index("reason")}


def test_a_reason_that_has_no_room_beside_goes_below_and_is_whole() -> None:
    words = "word " * 12
    lines = plain_table(("proof", "verdict", "reason"), [("a-long-name", "inconclusive", words)], 30)
    assert max(map(len, lines)) <= 30
    assert lines[2] == "a-long-name  inconclusive"
    assert " ".join(lines[3:]).split() == words.split()


def test_the_layers_say_where_it_broke_only_if_one_did() -> None:
    card = {"name": "card", "state": "ok", "expected": "JSON", "got": "JSON", "curl": ""}
    store = {"name": "store", "state": "broken", "expected": "rows", "got": "none", "curl": "cat log"}
    assert layers([card]) == "\nno layer is broken by itself\n  ok       card\n"
    told = "\nstore\n  expected: rows\n  got:      none\n  show it:  cat log\n"
    assert layers([card, store]) == "\nwhere it broke\n  ok       card\n  broken   store\n" + told
    assert layers([]) == ""


def test_progress_is_shown_on_a_terminal_and_nowhere_else() -> None:
    terminal, file = Terminal(), io.StringIO()
    for stream in (terminal, file):
        progress = Progress(stream)
        progress.step("crash", "start again")
        progress.clear()
    assert "crash: start again" in terminal.getvalue()
    assert file.getvalue() == ""
