"""An agent process for tests to kill: `wait` is never answered, `half` only by half, anything else with what was heard
before."""

import asyncio
import sys
from collections.abc import AsyncIterator

from holdfast.a2a import Turn, serve


async def stubborn(turn: Turn) -> AsyncIterator[str]:
    """Wait for ever, or say what was heard."""
    if turn.text == "half":
        yield "half an "
        yield "answer"
    if turn.text in {"wait", "half"}:
        (turn.workspace / "waiting").touch()
        await asyncio.Event().wait()
    yield " | ".join([said.text for said in turn.history] + [turn.text])


if __name__ == "__main__":
    serve(stubborn, data=sys.argv[1], port=int(sys.argv[2]), grace_seconds=0.2)
