"""Server-sent events as a client takes them from a gateway, and hides nothing of what it is told."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
from tests.gateway.process import PATIENCE
from tests.support.web import async_web_client


@dataclass(frozen=True, slots=True)
class Told:
    """One event, and the comments before it."""

    event: str
    id: str | None
    data: Any
    comments: int = 0


@dataclass(slots=True)
class EventStream:
    """One connection to a feed."""

    answer: httpx2.Response
    lines: AsyncIterator[str]
    retry: int | None = None
    comments: int = field(default=0)

    async def next(self) -> Told | None:
        """The next event; None when the stream has come to its proper end."""
        async with asyncio.timeout(PATIENCE):
            return await self._next()

    async def all(self, count: int) -> list[Told]:
        """So many events."""
        found = [await self.next() for _ in range(count)]
        assert all(found)
        return [each for each in found if each is not None]

    async def _next(self) -> Told | None:
        event, place, data, comments = "message", None, [], 0
        async for line in self.lines:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if line and not name:
                comments += 1
                self.comments += 1
            elif name == "event":
                event = value
            elif name == "id":
                place = value
            elif name == "data":
                data.append(value)
            elif name == "retry":
                self.retry = int(value)
            elif not line and data:
                return Told(event, place, json.loads("\n".join(data)), comments)
            else:
                assert not line, f"not a line of an event stream: {line!r}"
        return None

    async def beat(self) -> None:
        """Return at the next comment; nothing else may come before it."""
        async with asyncio.timeout(PATIENCE):
            async for line in self.lines:
                assert not line or line.startswith(":")
                if line:
                    return


@asynccontextmanager
async def following(url: str, last_event_id: str | None = None, **headers: str) -> AsyncIterator[EventStream]:
    """A feed, with its first event not taken yet; a refusal is an answer without a stream."""
    if last_event_id is not None:
        headers["Last-Event-ID"] = last_event_id
    async with (
        async_web_client() as client,
        client.stream("GET", url, headers=headers) as answer,
    ):
        if answer.status_code != 200:
            await answer.aread()
        yield EventStream(answer, lines_of(answer))


async def lines_of(answer: httpx2.Response) -> AsyncIterator[str]:
    """The lines as the gateway ends them; other characters that some take for line ends are part of a line."""
    rest = b""
    async for piece in answer.aiter_bytes():
        assert b"\r" not in piece
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            yield line.decode()
    assert not rest
