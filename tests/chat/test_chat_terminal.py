"""The program at a real terminal: what is typed and shown, and Ctrl-C, which stops the turn and not the program."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.processes import PATIENCE, ForkedCommand, holdfast

CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
PASTE = "\x1b[?2004h"
"""What the editor asks of the terminal as it begins to read a line."""
READY = "<ready>"
CTRL_C, CTRL_D, UP = "\x03", "\x04", "\x1b[A"


class Typist:
    """Somebody at a terminal with a program on it, who types only once what they wait for is there."""

    def __init__(self, terminal: int, process: ForkedCommand) -> None:
        self.process = process
        self._terminal = terminal
        self._seen = ""
        self._read = 0

    def wait_for(self, text: str) -> str:
        """All that has come since the last wait, up to this text."""
        deadline = time.monotonic() + PATIENCE
        while (at := self._seen.find(text, self._read)) < 0:
            assert time.monotonic() < deadline, f"{text!r} did not come:\n{self._seen[self._read :]}"
            self._look()
        came, self._read = self._seen[self._read : at], at + len(text)
        return came

    def type(self, keys: str, then: str = READY) -> str:
        """Press keys; all that comes before what is waited for."""
        os.write(self._terminal, keys.encode())
        return self.wait_for(then)

    def leave(self) -> int:
        """Ctrl-D; the exit code."""
        os.write(self._terminal, CTRL_D.encode())
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None and time.monotonic() < deadline:
            self._look()
        return self.process.wait(PATIENCE)

    def _look(self) -> None:
        if select.select([self._terminal], [], [], 0.05)[0]:
            try:
                came = os.read(self._terminal, 65536)
            except OSError:  # the program has closed it
                return
            said = came.decode(errors="replace").replace(PASTE, READY)
            self._seen += CODES.sub("", said).replace("\r", "")


@contextmanager
def chat(folder: Path, *arguments: str, columns: int = 100) -> Iterator[Typist]:
    """A chat in a folder, with its first prompt still to come."""
    own, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    variables = {"TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", "XDG_STATE_HOME": str(folder / "home")}
    with holdfast("chat", *arguments, terminal=theirs, folder=folder, variables=variables) as process:
        os.close(theirs)
        try:
            yield Typist(own, process)
        finally:
            os.close(own)


def test_a_conversation_with_all_that_one_does_in_it(tmp_path: Path) -> None:
    with chat(tmp_path) as person:
        assert "the simulator in this process, no real model" in person.wait_for(READY)
        assert "Nice to meet you, Ada." in person.type("My name is Ada.\r")
        assert "You said: one two" in person.type("one\\\rtwo\r")
        person.type("Slowly count to 4000.\r", then="1 2 3")
        person.process.send_signal(signal.SIGINT)
        person.wait_for("stopped: what you see is kept, marked as interrupted")
        person.wait_for(READY)
        assert "Your name is Ada." in person.type("What is my name?\r")
        assert "Ctrl-D or /quit ends" in person.type(f"half a line{CTRL_C}")
        assert "Your name is Ada." in person.type(f"{UP}\r")
        assert "there is no command /hlep" in person.type("/hlep\r")
        person.type("/mode prompt\r")
        asked = person.type("Append the line 'hi' to the file a.txt\r", then="yes / no / always?")
        assert "May append_file do this?" in asked
        assert "text: hi" in asked
        assert "written to .holdfast/permission-rules.json" in person.type("always\r")
        assert person.leave() == 0
    assert (tmp_path / "a.txt").read_text() == "hi\n"
    rules = json.loads((tmp_path / ".holdfast/permission-rules.json").read_text())
    assert rules == {"allow": [{"tool": "append_file", "path_contains": "a.txt"}]}
    history = tmp_path / "home/holdfast/chat-history"
    assert "+My name is Ada." in history.read_text()
    assert history.stat().st_mode & 0o777 == 0o600


def test_a_killed_chat_goes_on_and_what_an_agent_says_stays_text(tmp_path: Path) -> None:
    with chat(tmp_path, columns=40) as person:
        person.wait_for(READY)
        person.type("My name is Ada.\r")
        person.process.kill()
    with chat(tmp_path, "--resume", "last", columns=40) as person:
        person.wait_for(READY)
        assert "Your name is Ada." in person.type("What is my name?\r")
        shown = person.type("Say: &#27;[2J *done*\r")
        assert "�[2J" in shown
        refused = person.type("/resume 20260101T000000Z-00000000\r")
        told = refused[refused.index("error: ") :].splitlines()
        assert "there is no conversation '20260101T000000Z" in " ".join(told)
        assert max(len(line) for line in told) < 40
        assert person.leave() == 0


def test_the_rules_of_a_folder_are_asked_about_once(tmp_path: Path) -> None:
    rules = tmp_path / ".holdfast/permission-rules.json"
    rules.parent.mkdir()
    rules.write_text('{"allow":[{"tool":"bash"},{"path_contains":"a.txt"}]}')
    append = "Append the line 'hi' to the file a.txt\r"
    with chat(tmp_path, "--mode", "prompt") as person:
        asked = person.wait_for("trust them: yes / no?")
        assert "bash for whatever it is asked" in asked
        assert "every tool for every path with 'a.txt' in it" in asked
        assert "they do not count in this chat" in person.type("no\r", then=READY)
        person.type(append, then="yes / no?")
        person.type("no\r")
        assert person.leave() == 0
    assert not (tmp_path / "a.txt").exists()
    with chat(tmp_path, "--mode", "prompt") as person:
        person.wait_for("trust them: yes / no?")
        person.type("yes\r")
        person.type(append)
        assert person.leave() == 0
    assert (tmp_path / "a.txt").read_text() == "hi\n"
    with chat(tmp_path) as person:
        assert "trust" not in person.wait_for(READY)
        assert person.leave() == 0
    assert len(list(tmp_path.glob(".holdfast/*trust*"))) == 0


def test_an_interrupt_or_a_closed_terminal_loses_nothing_that_was_shown(tmp_path: Path) -> None:
    with chat(tmp_path) as person:
        person.wait_for(READY)
        person.process.send_signal(signal.SIGINT)
        assert "Nice to meet you, Ada." in person.type("My name is Ada.\r")
        person.process.send_signal(signal.SIGINT)
        assert "Your name is Ada." in person.type("What is my name?\r")
        person.type("Slowly count to 4000.\r", then="1 2 3")
        person.process.send_signal(signal.SIGHUP)
        assert person.process.wait(PATIENCE) == 128 + signal.SIGHUP
    (stored,) = (tmp_path / ".holdfast/sessions").glob("*Z-????????.json")
    last = json.loads(stored.read_text())["messages"][-1]
    assert last["role"] == "assistant"
    assert last["content"].startswith("1 2 3")
    assert last["content"].endswith("[INTERRUPTED]")
