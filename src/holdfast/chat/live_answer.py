"""An agent's words as they come, drawn as Markdown: finished blocks stay, the last one is drawn again as it grows.

Below it stands a line that says what is being done, with a sign of life, as long as something is.
"""

import time

from holdfast.chat.markdown import blocks_of, draw
from holdfast.chat.markdown.spans import as_text
from holdfast.chat.screen_lines import ScreenLines
from holdfast.terminal.screen import has_styles, styled, width
from holdfast.terminal.text import cut, fold, one_line

WORDS = "words"
NOTE = "note"
SIGNS = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
SECONDS_PER_SIGN = 0.1
SHOWN_AFTER = 1.0
"""Seconds after which the line also says how long it has been."""


class AnswerScreen:
    """The answer of one turn on the terminal."""

    def __init__(self, screen: ScreenLines | None = None) -> None:
        self._screen = screen or ScreenLines()
        self._text = ""
        self._above = ""
        self._doing = ""
        self._since = 0.0

    def add(self, piece: str) -> None:
        """Take a piece of the words."""
        self._text += piece

    def doing(self, what: str) -> None:
        """Say what is being done from now on; nothing if it is empty."""
        self._doing, self._since = what, time.monotonic()
        self.paint()

    def paint(self) -> None:
        """Show what there is by now."""
        self._settle_finished()
        lines = self._spaced(self._drawn(self._text), WORDS)
        if self._doing:
            lines = [*lines, *([""] if lines and lines[-1] else []), self._progress()]
        self._screen.show(lines)

    def settle(self) -> None:
        """Show all the words for good, and no line about what is being done; what comes next begins a block."""
        self._doing = ""
        self._settle(self._drawn(self._text), WORDS)
        self._text = ""

    def part(self) -> None:
        """Leave a line between all that is shown and what somebody else writes below it."""
        self.settle()
        if self._above:
            self._screen.settle([""])

    def note(self, text: str, style: str = "dim") -> None:
        """Show a line of the program's own, below the words so far."""
        self.settle()
        lines = [styled(line, style, self._screen.stream) for line in fold(one_line(text), width() - 1)]
        self._settle(lines, NOTE)

    def _settle_finished(self) -> None:
        """Draw the blocks that cannot change any more for good."""
        blocks = blocks_of(self._text)
        if len(blocks) < 2:
            return
        first = blocks[-1].first_line
        rows = self._text.split("\n")
        finished, self._text = "\n".join(rows[:first]), "\n".join(rows[first:])
        self._settle(self._drawn(finished), WORDS)

    def _drawn(self, text: str) -> list[str]:
        stream = self._screen.stream
        return [as_text(line, stream) for line in draw(blocks_of(text), width() - 1, styles=has_styles(stream))]

    def _settle(self, lines: list[str], kind: str) -> None:
        self._screen.settle(self._spaced(lines, kind))
        self._above = kind if lines else self._above

    def _spaced(self, lines: list[str], kind: str) -> list[str]:
        """The lines, after an empty one if they follow others; one note follows another at once."""
        together = not self._above or self._above == kind == NOTE
        return lines if together or not lines else ["", *lines]

    def _progress(self) -> str:
        passed = time.monotonic() - self._since
        sign = SIGNS[int(passed / SECONDS_PER_SIGN) % len(SIGNS)]
        long = f" {passed:.0f} s" if passed >= SHOWN_AFTER else ""
        said = cut(one_line(f"{sign} {self._doing}"), width() - 1 - len(long)) + long
        return styled(said, "dim", self._screen.stream)
