"""The simulator in process, as a backend."""

import asyncio
from collections.abc import Sequence

from holdfast.models.messages import CompletionResponse, Message, Tool
from holdfast.models.simulator.answer import answer


class SimulatorBackend:
    """A model whose answers follow from the prompt alone; it keeps nothing between calls."""

    async def complete(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> CompletionResponse:
        """The simulator's answer, after the time that the user asked it to think for."""
        given = answer(messages, tools)
        await asyncio.sleep(given.delay)
        return given.response
