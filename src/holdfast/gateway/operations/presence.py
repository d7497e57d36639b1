"""A gateway's word, in a store that others share, that it lives: every few seconds, and its last when it stops."""

import asyncio
import logging
import os
import secrets
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from holdfast.core import HoldfastError, SystemClock
from holdfast.store import Store
from holdfast.store.tasks import LiveServer

BEAT_SECONDS = 5.0
LIVES_MS = 15_000

log = logging.getLogger("holdfast.gateway")


@asynccontextmanager
async def present(store: Store, url: str) -> AsyncIterator[None]:
    """Be among the store's servers while inside."""
    server = LiveServer(secrets.token_hex(8), url, socket.gethostname(), os.getpid(), SystemClock().now())
    await store.servers.beat(server, LIVES_MS)
    beating = asyncio.create_task(_beat(store, server))
    try:
        yield
    finally:
        beating.cancel()
        with suppress(asyncio.CancelledError):
            await beating
        with suppress(HoldfastError):
            await store.servers.leave(server)


async def _beat(store: Store, server: LiveServer) -> None:
    while True:
        await asyncio.sleep(BEAT_SECONDS)
        try:
            await store.servers.beat(server, LIVES_MS)
        except HoldfastError as error:
            log.warning("the gateway cannot say that it lives: %s", error)
