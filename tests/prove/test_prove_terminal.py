"""What is shown cannot be forged by what a target says, and what is kept has no passwords in it."""

import io

from holdfast.prove.redact import hide_passwords
from holdfast.prove.terminal import Progress, plain_table, printable


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_control_characters_of_a_target_do_not_reach_the_terminal() -> None:
    assert printable("\x1b[2Kproven\r\n“é”") == "\\x1b[2Kproven\\r\\n“é”"


def test_passwords_are_taken_out_of_urls() -> None:
    assert hide_passwords("--store postgresql://me:s3cret@db/x") == "--store postgresql://me:***@db/x"
    assert hide_passwords("http://127.0.0.1:9000/a2a") == "http://127.0.0.1:9000/a2a"


def test_a_long_reason_is_folded_under_itself() -> None:
    lines = plain_table(("proof", "verdict", "reason"), [("name", "proven", "word " * 12)], 50)
    assert len(lines) > 2
    assert {line.index("word") for line in lines[1:]} == {lines[0].index("reason")}


def test_progress_is_shown_on_a_terminal_and_nowhere_else() -> None:
    terminal, file = Terminal(), io.StringIO()
    for stream in (terminal, file):
        progress = Progress(stream)
        progress.step("crash", "start again")
        progress.clear()
    assert "crash: start again" in terminal.getvalue()
    assert file.getvalue() == ""
