"""Reads over POST whose client hangs up: they are ended, as reads over GET are.

The server does not tell a handler that its client has gone. Whoever only reads has then nothing left to do, so it is
cancelled, and with it whatever it waits for in the store.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any

from starlette.requests import ClientDisconnect, Request

PATIENCE_SECONDS = 0.05
"""A read that is answered sooner is not watched: most are."""


async def unless_gone(request: Request, read: Coroutine[Any, Any, Any]) -> Any:
    """What is read; ClientDisconnect, and it is read no further, if the client hangs up. The body was taken before."""
    reading = asyncio.ensure_future(read)
    gone = None
    try:
        await asyncio.wait((reading,), timeout=PATIENCE_SECONDS)
        if not reading.done():
            gone = asyncio.ensure_future(_gone(request))
            await asyncio.wait((reading, gone), return_when=asyncio.FIRST_COMPLETED)
        if not reading.done():
            raise ClientDisconnect
        return reading.result()
    finally:
        ended = [task for task in (reading, gone) if task is not None and not task.done()]
        for task in ended:
            task.cancel()
        await asyncio.gather(*ended, return_exceptions=True)


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
