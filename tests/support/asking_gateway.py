"""A gateway whose agent takes a moment before it answers, and asks back when a message begins with `Ask back`.

All else is the bundled agent's. The moment follows from the message, so that a turn takes as long wherever it is run.
"""

import asyncio
import zlib
from collections.abc import AsyncIterator
from typing import Any

from holdfast import runtime
from holdfast.a2a import Handler, InputRequired, Turn
from holdfast.a2a.handler import Output
from holdfast.cli import main

ASK = "Ask back"
STEPS = 8
STEP_SECONDS = 0.15


def asking(bundled: Handler) -> Handler:
    """The agent that has this one inside."""

    async def handle(turn: Turn) -> AsyncIterator[Output]:
        for _ in range(zlib.crc32(turn.message_id.encode()) % STEPS):
            await asyncio.sleep(STEP_SECONDS)
        if turn.text.startswith(ASK):
            yield InputRequired("which one?")
            return
        async for output in bundled(turn):
            yield output

    return handle


if __name__ == "__main__":
    make = runtime.bundled_agent

    def made(*given: Any, **options: Any) -> Handler:
        return asking(make(*given, **options))

    runtime.bundled_agent = made
    main()
