"""What is typed: lines with history and completion, several at a time, and short answers to questions.

Enter sends. Alt-Enter, Ctrl-J or a backslash before Enter begins a new line; what is pasted keeps its lines. The
history is the user's own file.
"""

import os
import sys
import termios
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import ColorDepth

from holdfast.terminal.screen import has_styles, styled

PROMPT = "› "
CONTINUATION = "· "


class LineEditor:
    """The keyboard of one terminal."""

    def __init__(self, commands: Sequence[str], history_file: Path | None) -> None:
        depth = None if has_styles(sys.stdout) else ColorDepth.DEPTH_1_BIT
        self._lines: PromptSession[str] = PromptSession(
            history=_history(history_file),
            completer=WordCompleter([f"/{name}" for name in commands], sentence=True),
            complete_while_typing=False,
            multiline=True,
            prompt_continuation=CONTINUATION,
            key_bindings=_keys(),
            color_depth=depth,
            enable_open_in_editor=False,
        )
        self._answers: PromptSession[str] = PromptSession(history=InMemoryHistory(), color_depth=depth)

    async def read(self) -> str:
        """What the user says next; KeyboardInterrupt on Ctrl-C, EOFError on Ctrl-D."""
        return await self._lines.prompt_async(ANSI(styled(PROMPT, "bold green")), handle_sigint=False)

    async def ask(self, prompt: str) -> str:
        """The answer to a question; what was typed before it was asked is no answer."""
        self._forget_keys()
        return await self._answers.prompt_async(prompt, handle_sigint=False)

    def _forget_keys(self) -> None:
        clear_typeahead(self._answers.input)
        with suppress(termios.error, OSError):
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


@contextmanager
def quiet_keys() -> Iterator[None]:
    """Show no keys that are pressed meanwhile; Ctrl-C still interrupts, and what was typed is there afterwards."""
    try:
        descriptor = sys.stdin.fileno()
        before = termios.tcgetattr(descriptor)
    except (termios.error, OSError, ValueError):
        yield
        return
    quiet = [before[0] & ~termios.ICRNL, *before[1:3], before[3] & ~(termios.ECHO | termios.ICANON), *before[4:]]
    termios.tcsetattr(descriptor, termios.TCSANOW, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSANOW, before)


def _history(path: Path | None) -> History:
    """The history in a file, or for this process only if there can be none."""
    if path is None:
        return InMemoryHistory()
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600))
    except OSError:
        return InMemoryHistory()
    return FileHistory(path)


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def _enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.current_line_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter")
    @keys.add("c-j")
    def _new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return keys
