"""An agent process that kills itself with SIGKILL in one phase of the turn whose message is `die`.

The phases are places in the server's own code; nothing else of it is changed.
"""

import os
import signal
import sys
from collections.abc import AsyncIterator
from typing import Any

from holdfast.a2a import Turn, serve
from holdfast.a2a.protocol.wire import text_of
from holdfast.a2a.turns import runner
from holdfast.a2a.turns.acceptance import Acceptance, PlacedMessage

PHASES = ("offered", "accepted", "working", "streaming", "answering", "answered")


def die() -> None:
    """No goodbye."""
    os.kill(os.getpid(), signal.SIGKILL)


def dying(phase: str) -> None:
    """Have this process die in a phase."""
    accept, record = Acceptance.accept, vars(runner)["record"]

    async def accepting(self: Acceptance, offer: PlacedMessage) -> Any:
        dies = text_of(offer.message.parts) == "die"
        if dies and phase == "offered":
            die()
        accepted = await accept(self, offer)
        if dies and phase == "accepted":
            die()
        return accepted

    async def recording(store: Any, task: Any, ending: Any, lease: Any) -> Any:
        dies = any("last words" in str(event.payload) for event in ending.messages)
        if dies and phase == "answering":
            die()
        recorded = await record(store, task, ending, lease)
        if dies and phase == "answered":
            die()
        return recorded

    Acceptance.accept = accepting  # type: ignore[method-assign]
    vars(runner)["record"] = recording


async def agent(turn: Turn) -> AsyncIterator[str]:
    """Say what was heard; or die, and leave a line for each try in the workspace."""
    if turn.text == "die":
        with (turn.workspace / "tries").open("a") as tries:
            tries.write("try\n")
        if PHASE == "working":
            die()
        yield "last "
        if PHASE == "streaming":
            die()
        yield "words"
        return
    yield " | ".join([said.text for said in turn.history] + [turn.text])


if __name__ == "__main__":
    PHASE = sys.argv[3]
    dying(PHASE)
    serve(agent, data=sys.argv[1], port=int(sys.argv[2]), grace_seconds=0.2, allow_push=["127.0.0.1"])
