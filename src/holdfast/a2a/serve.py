"""A standalone A2A server process for any handler: its own data folder, its own store, one port."""

import asyncio
import math
import os
import signal
import socket
import sys
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import quote

from starlette.applications import Starlette

from holdfast.a2a.handler import Handler
from holdfast.a2a.server import A2AServer
from holdfast.store import open_store
from holdfast.store.lock import StoreLock

if TYPE_CHECKING:
    import uvicorn

SECONDS_TO_CLOSE = 5


def serve(
    handler: Handler,
    *,
    data: Path | str = "holdfast-data",
    host: str = "127.0.0.1",
    port: int = 8000,
    agent: str = "main",
    name: str = "holdfast",
    version: str = "1",
    grace_seconds: float = 5.0,
) -> None:
    """Serve a handler until SIGTERM or Ctrl-C, then give its turns the grace; sessions and workspace are in `data`."""
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)
    folder = Path(data).resolve()
    with StoreLock(folder / "holdfast.lock") as lock, socket.create_server((host, port)) as listener:
        lock.say({"pid": os.getpid(), "url": f"http://{host}:{listener.getsockname()[1]}"})
        asyncio.run(_serve(handler, folder, listener, grace_seconds, (agent, name, version)))


async def _serve(
    handler: Handler, folder: Path, listener: socket.socket, grace_seconds: float, described: tuple[str, str, str]
) -> None:
    workspace = folder / "workspace"
    workspace.mkdir(exist_ok=True)
    host, port = listener.getsockname()[:2]
    agent, name, version = described
    async with await open_store(f"sqlite:///{quote(str(folder))}/holdfast.db") as store:
        url = f"http://{host}:{port}"
        a2a = A2AServer(store, handler, agent=agent, name=name, version=version, workspace=workspace, url=url)
        await a2a.start(alone=True)
        await _web_server(a2a, grace_seconds).serve(sockets=[listener])


def _web_server(a2a: A2AServer, grace_seconds: float) -> "uvicorn.Server":
    """A web server that ends the turns before it waits for the requests that wait for them."""
    import uvicorn

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            await asyncio.gather(a2a.stop(grace_seconds), super().shutdown(sockets))

    config = uvicorn.Config(
        Starlette(routes=a2a.routes),
        log_level="warning",
        access_log=False,
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=math.ceil(grace_seconds) + SECONDS_TO_CLOSE,
    )
    return Server(config)


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    # uvicorn stops in its own time and then raises the signal again: it ends here, as a success.
    sys.exit(0)
