"""uvicorn that stops without delay: it is woken where uvicorn itself looks ten times a second, or naps.

A stop loses nothing that uvicorn's would keep: what was accepted is read before the connections are told to end, and
what is under way is answered, for as long as the grace lasts. A second Ctrl-C waits for nobody.
"""

import asyncio
import logging
import socket
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

import uvicorn

log = logging.getLogger("holdfast.http")

TICK_SECONDS = 1.0
"""How old the `Date` of an answer may be."""
ACCEPT_ROUNDS = 5
"""Rounds of the event loop from the acceptance of a connection to the first reading of what its client sent."""


class WebServer(uvicorn.Server):
    """A web server that a signal ends, or `stop`."""

    _loop: asyncio.AbstractEventLoop

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._asked_to_stop = asyncio.Event()
        self._one_less = asyncio.Event()
        self.server_state.connections = _Counted(self._one_less.set)
        self.server_state.tasks = _Counted(self._one_less.set)

    def stop(self) -> None:
        """Begin to stop; where the loop runs."""
        self.should_exit = True
        self._asked_to_stop.set()
        self._one_less.set()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to stop, or stop without waiting for anybody."""
        super().handle_exit(sig, frame)
        self._loop.call_soon_threadsafe(self.stop)

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until a signal comes, or `stop` is called."""
        self._loop = asyncio.get_running_loop()
        await super().serve(sockets)

    async def main_loop(self) -> None:
        """Wait to be asked to stop, and see to the `Date` of the answers."""
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                async with asyncio.timeout(TICK_SECONDS):
                    await self._asked_to_stop.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more, answer what is under way within the grace, and cancel the rest."""
        for server in self.servers:
            server.close()
        for listener in sockets or []:
            listener.close()
        for _ in range(ACCEPT_ROUNDS):
            await asyncio.sleep(0)
        for connection in list(self.server_state.connections):
            connection.shutdown()
        try:
            async with asyncio.timeout(self.config.timeout_graceful_shutdown):
                await self._until_all_left()
        except TimeoutError:
            log.warning("%d requests were not answered in time and are cancelled", len(self.server_state.tasks))
            for task in list(self.server_state.tasks):
                task.cancel()
        if not self.force_exit:
            await self.lifespan.shutdown()

    async def _until_all_left(self) -> None:
        state = self.server_state
        while (state.connections or state.tasks) and not self.force_exit:
            self._one_less.clear()
            await self._one_less.wait()
        for server in self.servers:
            await server.wait_closed()


class _Counted(set[Any]):
    """A set that says when something leaves it."""

    def __init__(self, left: Callable[[], None]) -> None:
        super().__init__()
        self._left = left

    def discard(self, item: Any) -> None:
        super().discard(item)
        self._left()

    def remove(self, item: Any) -> None:
        super().remove(item)
        self._left()
