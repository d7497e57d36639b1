"""What a container, a platform or a proof tells an agent by its environment: where it listens, and where its data are.

`PORT` (8000), `HOST` (127.0.0.1), `DATA` (./data), `WORKSPACE` (DATA/workspace), `A2A_TOKEN` (a token that every caller
must have) and `ALLOW_HOST` (names by which clients reach it, with commas between them). On an address that others can
reach it serves nobody without a token.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from holdfast.a2a.handler import Handler
from holdfast.a2a.protocol.card import Form
from holdfast.a2a.serve import end_with_hint, serve
from holdfast.a2a.server import REPLY_SECONDS
from holdfast.core.loopback import is_loopback

PORT = "8000"
HOST = "127.0.0.1"
DATA = "data"
MOST = 65_535


def data_folder(name: str) -> Path:
    """The folder of an agent's own data, below `DATA`, where Holdfast has its own; made if it is not there."""
    folder = Path(os.environ.get("DATA") or DATA).resolve() / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def serve_from_environment(
    handler: Handler,
    *,
    name: str,
    version: str = "1",
    card: Form = "both",
    asks_for_approval: bool = False,
    resume: bool = False,
    reply_seconds: float = REPLY_SECONDS,
) -> None:
    """`serve` with what the environment says; what the agent itself is, its program says."""
    environ = os.environ
    host, token = environ.get("HOST") or HOST, environ.get("A2A_TOKEN") or None
    port = _port(environ)
    if token is None and not is_loopback(host):
        end_with_hint(
            f"others can reach {host}, and no token is asked for",
            "set A2A_TOKEN, or HOST to a loopback address",
        )
    serve(
        handler,
        data=environ.get("DATA") or DATA,
        workspace=environ.get("WORKSPACE") or None,
        host=host,
        port=port,
        token=token,
        name=name,
        version=version,
        card=card,
        asks_for_approval=asks_for_approval,
        resume=resume,
        reply_seconds=reply_seconds,
        allow_hosts=[each.strip() for each in environ.get("ALLOW_HOST", "").split(",") if each.strip()],
    )


def _port(environ: Mapping[str, str]) -> int:
    given = environ.get("PORT") or PORT
    if not (given.isascii() and given.isdigit() and int(given) <= MOST):
        end_with_hint(f"PORT is {given!r:.100}, which is not a port", "set it to a number from 0 to 65535")
    return int(given)
