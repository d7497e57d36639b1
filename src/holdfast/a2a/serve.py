"""A standalone A2A server process for any handler: its own data folder, its own store, one port."""

import asyncio
import math
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import quote

from starlette.applications import Starlette

from holdfast.a2a.card import Form
from holdfast.a2a.handler import Handler
from holdfast.a2a.server import A2AServer
from holdfast.a2a.url_guard import UrlGuard
from holdfast.core.loopback import is_loopback
from holdfast.store import Store, open_store
from holdfast.store.lock import Claim, StoreLock

if TYPE_CHECKING:
    import uvicorn

SECONDS_TO_CLOSE = 5


def serve(
    handler: Handler,
    *,
    data: Path | str = "holdfast-data",
    host: str = "127.0.0.1",
    port: int = 8000,
    url: str | None = None,
    agent: str = "main",
    name: str = "holdfast",
    version: str = "1",
    card: Form = "1.0",
    resume: bool = False,
    allow_push: Iterable[str] = (),
    grace_seconds: float = 5.0,
) -> None:
    """Serve a handler until SIGTERM or Ctrl-C, then give its turns the grace; sessions and workspace are in `data`.

    `url` is what the agent card tells clients, if they come by another address than this one; `resume` lets a turn be
    begun again that a killed process was in; `allow_push` names hosts that news may be posted to though their
    addresses are not public.
    """
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)
    folder = Path(data).resolve()
    workspace = folder / "workspace"
    with StoreLock(folder / "holdfast.lock") as lock, socket.create_server((host, port)) as listener:
        here = f"http://{host}:{listener.getsockname()[1]}"
        lock.say({"pid": os.getpid(), "url": here})
        workspace.mkdir(exist_ok=True)
        make = partial(
            A2AServer,
            handler=handler,
            agent=agent,
            name=name,
            version=version,
            workspace=workspace,
            url=url or (here if is_loopback(listener.getsockname()[0]) else None),
            card=card,
            resume=resume,
            guard=UrlGuard(allow_push),
        )
        asyncio.run(_serve(make, folder, lock.claim(here), listener, grace_seconds))


async def _serve(
    make: Callable[[Store], A2AServer], folder: Path, claim: Claim, listener: socket.socket, grace_seconds: float
) -> None:
    async with await open_store(f"sqlite:///{quote(str(folder))}/holdfast.db", claim=claim) as store:
        a2a = make(store)
        await a2a.start(alone=True)
        await web_server(a2a, grace_seconds).serve(sockets=[listener])


def web_server(a2a: A2AServer, grace_seconds: float) -> "uvicorn.Server":
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
        proxy_headers=False,
        timeout_graceful_shutdown=math.ceil(grace_seconds) + SECONDS_TO_CLOSE,
    )
    return Server(config)


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    # uvicorn stops in its own time and then raises the signal again: it ends here, as a success.
    sys.exit(0)
