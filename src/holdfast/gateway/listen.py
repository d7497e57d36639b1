"""The socket that a gateway listens on: on this machine's own addresses only.

Its connections share one rule for clients that have gone deaf: when nothing could be delivered for a minute the
kernel drops the connection. A client that takes a little now and then is never dropped.
"""

import socket

from holdfast.gateway.errors import CannotListen, PublicBind
from holdfast.gateway.layers import is_loopback

BACKLOG = 2048
DEAF_MS = 60_000


def listen(host: str, port: int, *, deaf_ms: int = DEAF_MS) -> socket.socket:
    """A listening socket; PublicBind for an address that others can reach, CannotListen if it is taken."""
    family, address = _address(host, port)
    try:
        listener = socket.create_server(address, family=family, backlog=BACKLOG)
    except OSError as error:
        raise CannotListen(f"cannot listen on {host} port {port}: {error.strerror}", port=port) from error
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, deaf_ms)
    return listener


def url_of(host: str, listener: socket.socket) -> str:
    """The address to tell clients."""
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{listener.getsockname()[1]}"


def _address(host: str, port: int) -> tuple[socket.AddressFamily, tuple[str, int]]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise CannotListen(f"{host!r:.80} is not an address: {error.strerror}") from error
    addresses = sorted((family, str(address[0])) for family, _, _, _, address in found)
    for _, address in addresses:
        if not is_loopback(address):
            raise PublicBind(f"{host} can be reached from other machines, and there is no authentication yet")
    family, address = addresses[0]
    return family, (address, port)
