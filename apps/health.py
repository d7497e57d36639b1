"""A program's HTTP: `GET /health`, what else it serves, and nobody but whom the program is meant for.

The bundled simulator is served the same way. Signals are the program's business, so these servers take none.
"""

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Literal

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from holdfast.http.hosts import HostCheck
from holdfast.http.web_server import WebServer

GRACE = 2


class QuietServer(WebServer):
    """A web server that leaves the signals alone."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


def health_app(look: Callable[[], dict[str, Any]], routes: Sequence[Route], names: Sequence[str]) -> ASGIApp:
    """The routes of a program; `names` are the hosts that it may be called by."""

    async def health(request: Request) -> JSONResponse:
        return JSONResponse(look())

    return HostCheck(Starlette(routes=[Route("/health", health), *routes]), names)


@asynccontextmanager
async def served(app: ASGIApp, host: str, port: int, lifespan: Literal["on", "off"] = "off") -> AsyncIterator[str]:
    """Serve while the block runs; gives the address."""
    listener = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, lifespan=lifespan, ws="none", timeout_graceful_shutdown=GRACE
    )
    server = QuietServer(config)
    running = asyncio.create_task(server.serve(sockets=[listener]))
    bound = listener.getsockname()[1]
    try:
        yield f"http://{f'[{host}]' if ':' in host else host}:{bound}"
    finally:
        server.stop()
        with contextlib.suppress(asyncio.CancelledError):
            await running


def quiet() -> None:
    """Logs of libraries: what is wrong, and no line for each request."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
