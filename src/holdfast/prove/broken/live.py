"""A turn that runs: the answer so far, and those who follow it."""

import asyncio
from collections.abc import AsyncGenerator


class LiveAnswer:
    """The pieces of an answer as they come. Followers are places in it, so none holds it up."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.ended = False
        self._news = asyncio.Event()

    @property
    def text(self) -> str:
        """The answer so far."""
        return "".join(self.pieces)

    def say(self, piece: str) -> None:
        self.pieces.append(piece)
        self._wake()

    def end(self) -> None:
        """No more pieces will come."""
        self.ended = True
        self._wake()

    async def follow(self, place: int) -> AsyncGenerator[str]:
        """The pieces from a place on, until the end."""
        while True:
            news = self._news
            while place < len(self.pieces):
                yield self.pieces[place]
                place += 1
            if self.ended:
                return
            await news.wait()

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()
