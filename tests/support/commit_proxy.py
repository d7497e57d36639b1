"""A proxy before PostgreSQL that ends connections at a COMMIT: before the server hears it, or before it can answer.

Only the COMMIT of a transaction that has changed rows is meant; each one that is to be lost is told beforehand, and
whatever the test wants to happen at that moment happens before the client can notice.
"""

import contextlib
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum

from psycopg.conninfo import conninfo_to_dict

CHUNK = 64 * 1024
ERROR_FREE = "?sslmode=disable&gssencmode=disable"
CHANGES = (b"INSERT", b"UPDATE", b"DELETE")


class Moment(Enum):
    """When the connection ends."""

    BEFORE = "the server never hears the COMMIT"
    AFTER = "the server has committed, and its answer is lost"


def nothing() -> None:
    """What happens at that moment, unless a test wants more."""


@dataclass(slots=True)
class CommitProxy:
    """Passes on what both sides say; `losses` are the next COMMITs to lose, and what is to happen then."""

    server: str
    port: int
    database: str
    user: str
    losses: deque[tuple[Moment, Callable[[], None]]] = field(default_factory=deque)
    lost: int = 0

    @property
    def url(self) -> str:
        """The database, by way of the proxy."""
        return f"postgresql://{self.user}@127.0.0.1:{self.port}/{self.database}{ERROR_FREE}"

    def lose(self, moment: Moment, meanwhile: Callable[[], None] = nothing) -> None:
        """Lose one more COMMIT."""
        self.losses.append((moment, meanwhile))

    def serve(self, client: socket.socket) -> None:
        """One connection, to its end."""
        with socket.socket(socket.AF_UNIX) as server, client:
            server.connect(self.server)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = _Connection(self, client, server)
            answering = threading.Thread(target=connection.answers, daemon=True)
            answering.start()
            connection.requests()
            answering.join()


@dataclass(slots=True)
class _Connection:
    proxy: CommitProxy
    client: socket.socket
    server: socket.socket
    changed: bool = False
    cut: bool = False

    def requests(self) -> None:
        """Pass on what the client says."""
        with contextlib.suppress(OSError):
            while data := self.client.recv(CHUNK):
                if b"COMMIT\0" in data and self._loses(Moment.BEFORE):
                    break
                self.server.sendall(data)
        self._end()

    def answers(self) -> None:
        """Pass on what the server says, message by message."""
        with contextlib.suppress(OSError):
            while message := self._message():
                if message[:1] == b"C" and self._is_lost(message[5:]):
                    break
                self.client.sendall(message)
        if not self.cut:
            self._end()

    def _is_lost(self, tag: bytes) -> bool:
        if tag.startswith(b"BEGIN"):
            self.changed = False
        elif tag.startswith(CHANGES):
            self.changed = True
        elif tag == b"COMMIT\0":
            return self._loses(Moment.AFTER)
        return False

    def _loses(self, moment: Moment) -> bool:
        losses = self.proxy.losses
        if not losses or losses[0][0] is not moment or not (self.changed or moment is Moment.BEFORE):
            return False
        _, meanwhile = losses.popleft()
        self.proxy.lost += 1
        if moment is Moment.BEFORE:
            self.cut = True
            self.server.shutdown(socket.SHUT_RDWR)  # or the transaction would keep its locks meanwhile
        meanwhile()
        return True

    def _message(self) -> bytes:
        head = self._exactly(5)
        return head + self._exactly(int.from_bytes(head[1:], "big") - 4) if head else b""

    def _exactly(self, length: int) -> bytes:
        data = b""
        while len(data) < length:
            more = self.server.recv(length - len(data))
            if not more:
                return b""
            data += more
        return data

    def _end(self) -> None:
        for side in (self.client, self.server):
            with contextlib.suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)


@contextmanager
def proxy_before(url: str) -> Iterator[CommitProxy]:
    """A proxy before the database of this URL, which names the folder of the server's socket."""
    where = conninfo_to_dict(url)
    listener = socket.create_server(("127.0.0.1", 0))
    path = f"{where['host']}/.s.PGSQL.{where.get('port') or 5432}"
    proxy = CommitProxy(path, listener.getsockname()[1], str(where["dbname"]), str(where["user"]))

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                threading.Thread(target=proxy.serve, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield proxy
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
