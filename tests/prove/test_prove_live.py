"""What a run shows while it runs: lines in place on a terminal, plain lines elsewhere, nothing when it is quiet."""

import io
import os
import pty
import re
import termios
from pathlib import Path

import pytest
from tests.prove.prover import DEAD_PROXY, command, prove
from tests.support.processes import holdfast

from holdfast.prove.view.live import View
from holdfast.terminal.text import escaped

NAMES = ["name", "isolation", "crash"]
CURSOR = re.compile(r"\x1b\[(\d*)([A-Za-z])")


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def plain_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)


def screen(written: str) -> list[str]:
    """What a terminal shows after all that was written to it; fails on anything but what we mean to use."""
    lines, row = [""], 0
    for text, move in re.findall(r"([^\x1b\n]*)(\x1b\[\d*(?:;\d+)*[A-Za-z]|\n|$)", written):
        lines[row] += text
        if move == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif move and not move.endswith("m"):
            amount, what = CURSOR.findall(move)[0]
            assert what in "AKJ", move
            if what == "A":
                row -= int(amount)
                assert row >= 0
            elif what == "K":
                lines[row] = ""
            else:
                lines[row:] = [""]
    return [line.rstrip() for line in lines]


def verdict(proof: str, word: str, reason: str = "so") -> dict[str, str]:
    return {"proof": proof, "step": "", "event": "verdict", "verdict": word, "reason": reason}


def test_each_proof_has_a_line_with_its_state_its_step_and_its_time() -> None:
    terminal, clock = Terminal(), Clock()
    view = View(terminal, NAMES, clock=clock)
    view.step("card", "read the card")
    assert screen(terminal.getvalue())[0] == "card: read the card"
    view.step("name", "tell")
    clock.now = 1.25
    view.step("isolation", "tell one")
    assert screen(terminal.getvalue())[:3] == [
        "» name         1.2 s  tell",
        "» isolation    0.0 s  tell one",
        "· crash",
    ]
    view.event(verdict("name", "proven"))
    view.event(verdict("isolation", "disproven", "it leaks"))
    clock.now = 9.0
    view.step("crash", "kill")
    assert screen(terminal.getvalue())[:3] == [
        "✓ name         1.2 s  proven",
        "✗ isolation    0.0 s  disproven: it leaks",
        "» crash        0.0 s  kill",
    ]
    view.clear()
    assert "".join(screen(terminal.getvalue())) == ""


def test_a_proof_that_waits_for_others_shows_that_its_step_is_done() -> None:
    terminal, clock = Terminal(), Clock()
    view = View(terminal, NAMES, clock=clock)
    view.step("crash", "tell")
    view.event({"proof": "crash", "step": "tell", "event": "answer"})
    clock.now = 3.0
    view.step("name", "tell")
    assert screen(terminal.getvalue())[2] == "» crash        3.0 s  tell: answered"
    view.step("crash", "kill")
    assert screen(terminal.getvalue())[2] == "» crash        3.0 s  kill"


def test_where_there_is_no_terminal_each_verdict_is_a_plain_line() -> None:
    file, clock = io.StringIO(), Clock()
    view = View(file, NAMES, clock=clock)
    view.step("name", "tell")
    clock.now = 0.5
    view.event(verdict("name", "proven"))
    view.event(verdict("crash", "not reached"))
    view.clear()
    assert file.getvalue() == "name: proven\ncrash: not reached\n"


def test_a_dumb_terminal_gets_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    terminal = Terminal()
    View(terminal, NAMES).event(verdict("name", "proven"))
    assert terminal.getvalue() == "name: proven\n"


def test_quiet_is_quiet() -> None:
    for stream in (Terminal(), io.StringIO()):
        view = View(stream, NAMES, quiet=True)
        view.step("name", "tell")
        view.event(verdict("name", "disproven"))
        view.clear()
        assert stream.getvalue() == ""


def test_colour_is_for_those_who_want_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for wanted in (True, False):
        terminal = Terminal()
        monkeypatch.setenv("NO_COLOR", "" if wanted else "1")
        View(terminal, NAMES).event(verdict("name", "proven"))
        assert ("\x1b[32m" in terminal.getvalue()) is wanted
        assert "✓ name" in screen(terminal.getvalue())[0]


def test_a_step_cannot_draw_on_the_terminal() -> None:
    terminal = Terminal()
    View(terminal, NAMES).event(verdict("name", "disproven", "\x1b[2Jgone\r\n"))
    assert "disproven: \\x1b[2Jgone\\r\\n" in screen(terminal.getvalue())[0]


def test_a_terminal_without_our_signs_gets_others() -> None:
    terminal = Terminal()
    terminal.encoding = "ascii"
    view = View(terminal, NAMES)
    view.event(verdict("name", "proven"))
    assert screen(terminal.getvalue())[0].startswith("+ name")
    assert terminal.getvalue().isascii()


@pytest.mark.parametrize(("columns", "rows"), [(200, 50), (30, 50), (60, 4), (8, 2)])
def test_the_lines_fit_any_terminal(monkeypatch: pytest.MonkeyPatch, columns: int, rows: int) -> None:
    terminal = Terminal()
    names = [f"proof-{number}" for number in range(20)]
    view = View(terminal, names)
    monkeypatch.setattr(view, "_size", lambda: (columns, rows))
    for name in names[:15]:
        view.step(name, "a step with a long name, longer than most")
    for name in names[:12]:
        view.event(verdict(name, "proven" if name != "proof-3" else "disproven", "words " * 30))
        shown = [line for line in screen(terminal.getvalue()) if line]
        assert len(shown) < rows
        assert max(map(len, shown)) < columns
    if rows == 50:
        assert len(shown) == 20
    if rows == 4:
        assert shown[0].startswith("✗ proof-3")


def test_control_characters_of_a_target_do_not_reach_the_terminal() -> None:
    assert escaped("\x1b[2Kproven\r\n“é”") == "\\x1b[2Kproven\\r\\n“é”"


@pytest.mark.parametrize("columns", [100, 44])
def test_on_a_real_terminal_the_lines_are_gone_when_the_table_comes(tmp_path: Path, columns: int) -> None:
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (30, columns))
    words = command("--target", "broken:none", "--only", "name,isolation", "--seed", "0", artifacts=tmp_path)[3:]
    with holdfast(*words, terminal=theirs, variables={**DEAD_PROXY, "TERM": "xterm-256color", "NO_COLOR": "1"}):
        os.close(theirs)
        said = b""
        while part := _read(ours):
            said += part
    os.close(ours)
    written = said.decode().replace("\r\n", "\n")
    assert re.search(r"» name +\d\.\d s  (tell|ask)", written)
    shown = [line for line in screen(re.sub(r"\x1b\[\d*(;\d+)*m", "", written)) if line]
    assert shown[0].startswith("proving broken:none with --seed")
    assert shown[1].split()[:3] == ["proof", "verdict", "s"]
    assert not [line for line in shown if line.startswith(("»", "·", "✓"))]
    assert [line for line in shown if line.startswith("PROVEN in")]


def test_quiet_says_the_verdict_and_what_is_not_proven(tmp_path: Path) -> None:
    fine = prove("--target", "broken:none", "--only", "name", "--quiet", artifacts=tmp_path)
    assert fine.stderr == ""
    assert re.fullmatch(r"PROVEN in [0-9.]+ s: 1 proven\nreport: .*/report\.html\n", fine.stdout)
    wrong = prove("--target", "broken:task-keyed", "--only", "name", "-q", artifacts=tmp_path)
    assert wrong.exit_code == 1
    assert re.match(r"\nname is disproven: \w+ was told and is not in the answer\n  expected: ", wrong.stdout)
    assert "proof " not in wrong.stdout
    assert "\nDISPROVEN in" in wrong.stdout


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""
