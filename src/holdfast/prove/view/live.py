"""What a run looks like while it runs: a line per proof with its state, its step and its time.

On a terminal the lines are drawn again in place and leave no trace; where there is none, each verdict is a plain line.
Nothing here depends on colour, and NO_COLOR takes it away.
"""

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from holdfast.prove.verdict import Verdict
from holdfast.prove.view.terminal import STYLES
from holdfast.terminal.screen import has_lines_that_change, styled
from holdfast.terminal.text import escaped

DRAW_EVERY_SECONDS = 0.1
MARKS = {Verdict.PROVEN: "✓", Verdict.DISPROVEN: "✗", Verdict.INCONCLUSIVE: "?", Verdict.NOT_REACHED: "-"}
WAITING, AT_WORK = "·", "»"
IN_ASCII = str.maketrans("✓✗·»…", "+x.>~")


@dataclass(slots=True)
class _Line:
    """One proof as it stands: waiting until it has begun, at work until it has a verdict."""

    name: str
    began: float | None = None
    ended: float | None = None
    step: str = ""
    verdict: Verdict | None = None

    def seconds(self, now: float) -> str:
        return "" if self.began is None else f"{(self.ended or now) - self.began:.1f} s"


class View:
    """The lines of one run on a stream; silent if it is to be quiet."""

    def __init__(
        self, stream: TextIO, names: Sequence[str], *, quiet: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream
        self._clock = clock
        self._lines = {name: _Line(name) for name in names}
        self._aside = ""
        self._drawn = 0
        self._quiet = quiet
        self._in_place = not quiet and has_lines_that_change(stream)
        self._ascii = not (stream.encoding or "ascii").lower().startswith("utf")

    def step(self, proof: str, step: str) -> None:
        """A proof, or what the run does besides, takes a step."""
        line = self._lines.get(proof)
        if line is None:
            self._aside = f"{proof}: {step}" if proof else step
        elif line.verdict is None:
            self._aside = ""
            line.began = self._clock() if line.began is None else line.began
            line.step = step
        self._draw()

    def event(self, event: dict[str, Any]) -> None:
        """See an event of the run: an answer ends a step, a verdict ends the line of its proof."""
        line = self._lines.get(event["proof"])
        if line is None:
            return
        if event["event"] == "answer" and line.verdict is None:
            # What waits for the restart that others are not ready for shows that its own step is done.
            line.step = f"{event['step']}: answered"
        if event["event"] != "verdict":
            return
        line.verdict, line.step = Verdict(event["verdict"]), str(event.get("reason", ""))
        line.ended = self._clock()
        if not self._in_place and not self._quiet:
            self._write(f"{line.name}: {line.verdict.value}\n")
        self._draw()

    async def keep_drawing(self) -> None:
        """Let time be seen to pass, until cancelled."""
        while self._in_place:
            self._draw()
            await asyncio.sleep(DRAW_EVERY_SECONDS)

    def clear(self) -> None:
        """Leave no trace of the lines."""
        if self._drawn:
            # Line by line: some terminals keep a copy of what is erased all at once.
            up = f"\x1b[{self._drawn}A"
            self._write(up + "\x1b[2K\n" * self._drawn + up)
            self._drawn = 0

    def _draw(self) -> None:
        if not self._in_place:
            return
        columns, rows = self._size()
        lines = self._fitting(max(rows - 1, 1))
        up = f"\x1b[{self._drawn}A" if self._drawn else ""
        self._write(up + "".join(f"\x1b[2K{self._styled(line, columns - 1)}\n" for line in lines) + "\x1b[J")
        self._drawn = len(lines)

    def _fitting(self, rows: int) -> list[_Line | str]:
        """The lines that have room: what is proven gives way first, then what waits."""
        proven = [line for line in self._lines.values() if line.verdict is Verdict.PROVEN]
        waiting = [line for line in self._lines.values() if line.began is None and line.verdict is None]
        shown: list[_Line | str] = [*filter(None, [self._aside]), *self._lines.values()]
        for gone, word, mark in ((proven, "proven", MARKS[Verdict.PROVEN]), (waiting, "waiting", WAITING)):
            if len(shown) > rows and len(gone) > 1:
                shown = [line for line in shown if not isinstance(line, _Line) or line not in gone]
                shown.append(f"{mark} {len(gone)} {word}")
        return shown[:rows]

    def _styled(self, line: "_Line | str", room: int) -> str:
        if isinstance(line, str):
            return self._cut(line, room)
        now, verdict = self._clock(), line.verdict
        mark = MARKS[verdict] if verdict else WAITING if line.began is None else AT_WORK
        width = max(len(name) for name in self._lines)
        state = verdict.value if verdict else ""
        text = f"{mark} {line.name:<{width}}  {line.seconds(now):>7}  {state or line.step}"
        if verdict not in (None, Verdict.PROVEN):
            text += f": {line.step}"
        style = STYLES[verdict] if verdict else "dim" if line.began is None else ""
        return styled(self._cut(text, room), style, self._stream)

    def _cut(self, text: str, room: int) -> str:
        text = escaped(text)
        cut = text if len(text) <= room else text[: max(room - 1, 0)] + "…"
        return cut.translate(IN_ASCII) if self._ascii else cut

    def _size(self) -> tuple[int, int]:
        try:
            return os.get_terminal_size(self._stream.fileno())
        except (OSError, ValueError):
            return os.terminal_size((80, 24))

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
