"""The simulator in process, as a backend."""

import asyncio
from collections.abc import AsyncIterator, Sequence

from holdfast.models.messages import CompletionResponse, Message, Tool
from holdfast.models.simulator.answer import answer
from holdfast.models.simulator.pieces import pieces

MODEL = "sim-1"


class SimulatorBackend:
    """A model whose answers follow from the prompt alone; it keeps nothing between calls."""

    model = MODEL

    async def complete(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> CompletionResponse:
        """The simulator's answer, after the time that the user asked it to think for."""
        given = answer(messages, tools)
        await asyncio.sleep(given.delay)
        return given.response

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[Tool] = ()
    ) -> AsyncIterator[str | CompletionResponse]:
        """The words of the answer, piece by piece at the pace that the user asked for, and then the whole answer."""
        given = answer(messages, tools)
        await asyncio.sleep(given.delay)
        for piece in pieces(given.response.content):
            yield piece
            await asyncio.sleep(given.pace)
        yield given.response
