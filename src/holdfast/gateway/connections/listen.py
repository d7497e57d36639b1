"""The socket that a gateway listens on.

Its connections share one rule for clients that have gone deaf: when nothing could be delivered for a minute the
kernel drops the connection. A client that takes a little now and then is never dropped.
"""

import os
import socket

from holdfast.core.loopback import is_loopback
from holdfast.gateway.errors import CannotBind

BACKLOG = 2048
DEAF_MS = 60_000


def listen(host: str, port: int, *, deaf_ms: int = DEAF_MS, option: str = "--port") -> socket.socket:
    """A listening socket; CannotBind if the address is taken, or is none: the port is what the option says."""
    family, address = _addresses(host, port)[0]
    try:
        listener = socket.create_server(address, family=family, backlog=BACKLOG)
    except OSError as error:
        why = f"cannot listen on {host} port {port}: {os.strerror(error.errno or 0)}"
        raise CannotBind(why, hint=f"stop what listens there, or use another {option}", port=port) from error
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, deaf_ms)
    return listener


def url_of(host: str, listener: socket.socket) -> str:
    """The address to tell clients."""
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{listener.getsockname()[1]}"


def is_public(host: str) -> bool:
    """Whether the address, or one of those that a name stands for, can be reached from other machines."""
    return not all(is_loopback(address[0]) for _, address in _addresses(host, 0))


def _addresses(host: str, port: int) -> list[tuple[socket.AddressFamily, tuple[str, int]]]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise CannotBind(f"{host!r:.80} is not an address: {getattr(error, 'strerror', error)}") from error
    return sorted((family, (str(address[0]), port)) for family, _, _, _, address in found)
