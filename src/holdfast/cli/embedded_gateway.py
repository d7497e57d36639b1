"""A gateway that a command runs for itself: the API over an open store, on a socket in a private folder."""

import asyncio
import contextlib
import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import uvicorn

from holdfast.gateway.app import create_app
from holdfast.gateway.connections.limits import ConnectionLimits
from holdfast.gateway.connections.protocols import live_protocol
from holdfast.gateway.gateway import Gateway
from holdfast.http.web_server import WebServer
from holdfast.store import Store

LONGEST_FOLDER = 75
"""A Unix socket's whole path may have 103 bytes everywhere; our folder's and the socket's names come on top."""


class _Quiet(WebServer):
    """A web server without its hands on the signals: they are the command's."""

    @contextlib.contextmanager
    def capture_signals(self):  # type: ignore[no-untyped-def]
        yield


@contextlib.contextmanager
def private_folder() -> Iterator[Path]:
    """A folder for the socket that only this user may enter: among the temporary files, or in /tmp if those lie too
    deep for a socket."""
    fits = len(os.fsencode(tempfile.gettempdir())) <= LONGEST_FOLDER
    with tempfile.TemporaryDirectory(prefix="holdfast-", dir=None if fits else "/tmp") as folder:
        yield Path(folder)


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
        ws=live_protocol(ConnectionLimits(), gateway.unsent),
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
        server.stop()
        await task
