"""A gateway that a command runs for itself: the API over an open store, on a socket in a private folder."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import uvicorn

from holdfast.gateway.app import create_app
from holdfast.gateway.gateway import Gateway
from holdfast.store import Store


class _Quiet(uvicorn.Server):
    """uvicorn without its hands on the signals: they are the command's."""

    @contextlib.contextmanager
    def capture_signals(self):  # type: ignore[no-untyped-def]
        yield


@contextlib.asynccontextmanager
async def serving_on(store: Store, socket: Path, data: Path | None) -> AsyncIterator[None]:
    """Serve the store's API on a Unix socket while inside."""
    gateway = Gateway(store, data)
    config = uvicorn.Config(
        create_app(store, gateway=gateway),
        uds=str(socket),
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="auto",
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=5,
    )
    server = _Quiet(config)
    task = asyncio.create_task(server.serve())
    try:
        while not server.started:
            if task.done():
                await task
            await asyncio.sleep(0.005)
        yield
    finally:
        await gateway.stop_feeds(1)
        server.should_exit = True
        await task
