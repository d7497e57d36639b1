"""How much of a gateway anybody can take: sizes, numbers, and how long it waits for a client.

A client that stays within them never notices. One that does not is told which one it met: 408, 413, 429, 431 or 503
as a problem, 1008 or 1009 on a live feed.
"""

import logging
from dataclasses import dataclass

from holdfast.gateway.connections.rates import Rate
from holdfast.gateway.connections.unsent_output import BEHIND_SECONDS, MOST_BYTES

KB = 1024
MB = 1024 * KB
GB = 1024 * MB
SPARE_FILES = 256
"""Descriptors beside those of connections: the database, logs, archives on their way."""

FRAMES = Rate(20, 200)
TOKEN_RATE = 500.0
FAILURES = Rate(1, 20)
"""How often one address may send a wrong token before it is told to wait."""

log = logging.getLogger("holdfast.gateway")


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """The limits of one gateway."""

    max_body: int = 16 * MB
    max_archive: int = 8 * GB
    """The body of an import, which is kept on disk."""
    max_upload: int = 51 * MB
    """The body of an upload to the agent's workspace, which is kept on disk: 50 MB of files."""
    max_message: int = 68 * MB
    """The body of a message to the agent: 50 MB of files as they are written in JSON."""
    max_bodies: int = 256 * MB
    """All bodies together that are in memory at one moment."""
    max_state: int = 1 * MB
    """A session's state. One that is larger already, stored before or imported, is read, and can be made smaller."""
    max_unsent: int = MOST_BYTES
    """All output together that clients have yet to take."""
    behind_seconds: float = BEHIND_SECONDS
    """How far behind a modest pace a client has to be before it is cut, if others need the room."""
    max_connections: int = 2_000
    """Live feeds are connections too. One address, unless it is this machine's, gets half of them."""
    max_header_bytes: int = 32 * KB
    max_headers: int = 100
    max_queued: int = 16
    """Requests that a connection sends before it has its answers."""
    header_seconds: float = 10
    """For a request's head, from its first byte, or from the connection's start."""
    body_seconds: float = 30
    body_rate: int = 1 * KB
    """Bytes a second of a body, over each `body_seconds`, while the gateway is ready to take them."""
    linger_seconds: float = 5
    """For a client that is refused to read why, while what it goes on sending is thrown away."""
    max_frame: int = 64 * KB
    frames: Rate = FRAMES
    """What a client may send on a live feed, which needs nothing from it."""
    rate: float | None = None
    """Requests a second of one caller; 0 is any number, None any number without tokens and `TOKEN_RATE` with them."""

    @property
    def max_of_an_address(self) -> int:
        """Connections from one address that is not this machine's."""
        return max(1, self.max_connections // 2)

    def requests(self, *, tokens: bool) -> Rate | None:
        """How often a caller may ask, in a gateway that asks for tokens, or not."""
        rate = self.rate if self.rate is not None else TOKEN_RATE if tokens else 0
        return Rate(rate, max(1, round(rate * 2))) if rate else None


def make_room(connections: int) -> None:
    """Let this process have as many descriptors as the connections need; a warning if it may not."""
    try:
        import resource
    except ImportError:
        return
    wanted = connections + SPARE_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    possible = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (possible, hard))
    if possible < wanted:
        log.warning(
            "%d connections need %d open files, and this process may have %d: raise `ulimit -n`, or use "
            "--max-connections %d",
            *(connections, wanted, possible, max(1, possible - SPARE_FILES)),
        )
