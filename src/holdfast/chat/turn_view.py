"""One turn on the terminal: the words as they come, a sign of life while tools run, a line for each that has run."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from holdfast.chat.conversation import ChatStatus, ChatTurnEvent, ToolBegin, ToolEnd, TurnAnswer, Words
from holdfast.chat.live_answer import AnswerScreen
from holdfast.core.statuses import FINISHED

TICK_SECONDS = 0.1
PAINT_SECONDS = 0.05
PAINT_PAUSE = 4
"""How many times as long as a painting took there is none: a long paragraph must not keep the turn waiting."""
THINKS = "thinking"


class TurnView:
    """What a person sees of a turn."""

    def __init__(self, answer: AnswerScreen | None = None) -> None:
        self._answer = answer or AnswerScreen()
        self._doing = ""
        self._waits = False
        self._next_painting = 0.0

    def hear(self, event: ChatTurnEvent) -> None:
        """Show what happens."""
        if isinstance(event, Words):
            self._do("")
            self._answer.add(event.text)
            self._paint()
        elif isinstance(event, ToolBegin):
            self._do(_line(event.tool, event.shown))
        elif isinstance(event, ToolEnd):
            self._tool_ended(event)
            self._do(THINKS)
        elif isinstance(event, ChatStatus):
            self._answer.note(event.text)

    @asynccontextmanager
    async def live(self) -> AsyncIterator[None]:
        """Be alive as long as the turn runs; at its end all words stand for good."""
        self._do(THINKS)
        ticking = asyncio.create_task(self._tick())
        try:
            yield
        finally:
            ticking.cancel()
            self._answer.settle()

    @asynccontextmanager
    async def pause(self) -> AsyncIterator[None]:
        """Write nothing meanwhile: the terminal is somebody else's."""
        doing = self._doing
        self._waits = True
        self._answer.part()
        try:
            yield
        finally:
            self._waits = False
            self._doing = ""
            self._do(doing)

    def end(self, answer: TurnAnswer) -> None:
        """Say how the turn was checked, and why it failed if it did."""
        for command, passed in answer.checks:
            self._answer.note(f"{'✓' if passed else '✗'} {command}", "green" if passed else "red")
        if answer.detail:
            self._answer.note(answer.detail, "red")

    def stopped(self, kept: str) -> None:
        """Say that the turn was stopped, and what is kept of it."""
        self._answer.note(f"stopped: {kept}", "yellow")

    def _tool_ended(self, event: ToolEnd) -> None:
        ran = event.status == FINISHED
        why = "" if ran else f": {event.text.splitlines()[0] if event.text else event.status}"
        self._answer.note(f"{'✓' if ran else '✗'} {_line(event.tool, event.shown)}{why}", "dim" if ran else "red")

    def _do(self, what: str) -> None:
        if what != self._doing:
            self._doing = what
            self._answer.doing(what)

    def _paint(self) -> None:
        """Paint, unless that was just done."""
        begun = time.monotonic()
        if begun >= self._next_painting:
            self._answer.paint()
            now = time.monotonic()
            self._next_painting = now + max(PAINT_SECONDS, PAINT_PAUSE * (now - begun))

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            if not self._waits:
                self._paint()


def _line(tool: str, shown: str) -> str:
    return f"{tool}: {shown}" if shown else tool
