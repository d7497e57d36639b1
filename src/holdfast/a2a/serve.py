"""A standalone A2A server process for any handler: its own data folder, its own store, one port.

What cannot be served is refused before anything is begun, with a sentence about what to do. What is served is only for
those it is meant for: a page of another site in a browser on this machine is not.
"""

import asyncio
import functools
import inspect
import math
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote, urlsplit

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.routing import Route

from holdfast.a2a.handler import Handler
from holdfast.a2a.protocol.card import Form
from holdfast.a2a.push.url_guard import UrlGuard
from holdfast.a2a.server import REPLY_SECONDS, A2AServer
from holdfast.a2a.token_check import TokenCheck
from holdfast.core import HoldfastError
from holdfast.core.errors import StoreInUse
from holdfast.core.loopback import is_loopback
from holdfast.core.store_file import Claim, StoreLock
from holdfast.http.answers import JsonLine
from holdfast.http.hosts import HostCheck
from holdfast.store import Store, open_store

if TYPE_CHECKING:
    from holdfast.http.web_server import WebServer

SECONDS_TO_CLOSE = 5
CANNOT = 2


class _CannotListen(HoldfastError):
    """The address cannot be listened on."""

    code = "cannot_listen"
    status = 503
    hint = "stop what listens there, or give serve() another port"


def serve(
    handler: Handler,
    *,
    data: Path | str = "holdfast-data",
    workspace: Path | str | None = None,
    host: str = "127.0.0.1",
    port: int = 8000,
    url: str | None = None,
    agent: str = "main",
    name: str = "holdfast",
    version: str = "1",
    card: Form = "1.0",
    asks_for_approval: bool = False,
    resume: bool = False,
    reply_seconds: float = REPLY_SECONDS,
    allow_push: Iterable[str] = (),
    allow_hosts: Iterable[str] = (),
    token: str | None = None,
    grace_seconds: float = 5.0,
) -> None:
    """Serve a handler until SIGTERM or Ctrl-C, then give its turns the grace; sessions are in `data`, and so is the
    workspace if it has no folder of its own.

    `token` is what every caller must send as a bearer token; then a request may name any host, since no page of
    another site has the token. `url` is what the agent card tells clients, if they come by another address than this
    one; `asks_for_approval` tells them that the agent can be told to ask before it acts; `resume` lets a turn be begun
    again that a killed process was in; `reply_seconds` is how long a stream waits for a plain `Reply` before it shows a
    task; `allow_push` names hosts that news may be posted to though their addresses are not public,
    `allow_hosts` names by which clients reach this server beside `host`, that of `url`, and the loopback ones.
    A handler that is none is a TypeError; what else is in the way ends the program with a hint.
    """
    check_handler(handler)
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)
    folder = Path(data).resolve()
    desk = folder / "workspace" if workspace is None else Path(workspace).resolve()
    hosts = [host, *allow_hosts, *([urlsplit(url).hostname or ""] if url else [])]
    try:
        with listen(host, port) as listener, StoreLock(folder / "holdfast.lock") as lock:
            here = f"http://{host}:{listener.getsockname()[1]}"
            lock.say({"pid": os.getpid(), "url": here})
            desk.mkdir(parents=workspace is not None, exist_ok=True)
            make = partial(
                A2AServer,
                handler=handler,
                agent=agent,
                name=name,
                version=version,
                workspace=desk,
                url=url or (here if is_loopback(listener.getsockname()[0]) else None),
                card=card,
                asks_for_token=token is not None,
                asks_for_approval=asks_for_approval,
                resume=resume,
                reply_seconds=reply_seconds,
                guard=UrlGuard(allow_push),
            )
            said = f"{name} serves A2A at {here}, its data in {folder}"
            front = partial(
                web_server, grace_seconds=grace_seconds, version=version, hosts=hosts, token=token, said=said
            )
            asyncio.run(_serve(make, front, folder, lock.claim(here), listener))
    except StoreInUse as error:
        end_with_hint(error.message, "stop that server, or give serve() another data folder")
    except HoldfastError as error:
        end_with_hint(error.message, error.hint)


def check_handler(handler: Any) -> None:
    """TypeError unless it is an async generator function, or is called like one."""
    called = inspect.unwrap(handler.func if isinstance(handler, functools.partial) else handler)
    if not (inspect.isasyncgenfunction(called) or inspect.isasyncgenfunction(type(called).__call__)):
        raise TypeError(
            f"{handler!r:.200} is not an async generator function: a handler is `async def` and yields its answer, "
            "piece by piece"
        )


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; _CannotListen if the address is taken, or is none."""
    try:
        listener = socket.create_server((host, port))
    except OSError as error:
        raise _CannotListen(f"cannot listen on {host} port {port}: {os.strerror(error.errno or 0)}") from error
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def end_with_hint(message: str, hint: str | None) -> NoReturn:
    """End the program because it cannot serve, and say what to do."""
    sys.stderr.write(f"error: {message}\n" + (f"hint: {hint}\n" if hint else ""))
    sys.exit(CANNOT)


async def _serve(
    make: Callable[[Store], A2AServer],
    front: "Callable[[A2AServer], WebServer]",
    folder: Path,
    claim: Claim,
    listener: socket.socket,
) -> None:
    async with await open_store(f"sqlite:///{quote(str(folder))}/holdfast.db", claim=claim) as store:
        a2a = make(store)
        await a2a.start(alone=True)
        await front(a2a).serve(sockets=[listener])


def web_server(
    a2a: A2AServer,
    *,
    grace_seconds: float,
    version: str = "1",
    hosts: Iterable[str] = (),
    token: str | None = None,
    said: str = "",
) -> "WebServer":
    """A web server that answers to `hosts` beside the loopback names, or to callers with the `token`, puts
    out what is to be `said` once it serves, and ends the turns before it waits for the requests that wait for them."""
    import uvicorn

    from holdfast.http.web_server import WebServer

    async def health(_request: Request) -> JsonLine:
        return JsonLine({"status": "ok", "version": version})

    class _Server(WebServer):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            sys.stderr.write(f"{said}\n")

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            await asyncio.gather(a2a.stop(grace_seconds), super().shutdown(sockets))

    layers = [Middleware(HostCheck, hosts=list(hosts), any_host=token is not None)]
    layers += [Middleware(TokenCheck, token=token)] if token is not None else []
    config = uvicorn.Config(
        Starlette(routes=[*a2a.routes, Route("/health", health)], middleware=layers),
        log_level="warning",
        access_log=False,
        lifespan="off",
        ws="none",
        proxy_headers=False,
        timeout_graceful_shutdown=math.ceil(grace_seconds) + SECONDS_TO_CLOSE,
    )
    return _Server(config)


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    # uvicorn stops in its own time and then raises the signal again: it ends here, as a success.
    sys.exit(0)
