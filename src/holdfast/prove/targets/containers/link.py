"""A port on loopback behind which the runtime answers: the near side of `relay`."""

import asyncio
import contextlib
import itertools
import socket
from collections.abc import Sequence
from pathlib import Path

from holdfast.prove.targets.containers import relay
from holdfast.prove.targets.containers.relay import Pieces

HOST = "127.0.0.1"
FAR_SIDE = Path(relay.__file__).read_text()


class Link:
    """Listens from the beginning, so that its port is known; carries once it was opened, in one event loop."""

    def __init__(self) -> None:
        self._socket = socket.create_server((HOST, 0))
        self.port: int = self._socket.getsockname()[1]
        self._numbers = itertools.count(1)
        self._process: asyncio.subprocess.Process | None = None
        self._server: asyncio.Server | None = None
        self._work: set[asyncio.Task[None]] = set()

    @property
    def opened(self) -> bool:
        """Whether the far side runs."""
        return self._process is not None and self._process.returncode is None

    async def open(self, inside: Sequence[str], place: tuple[str, int]) -> None:
        """Start the far side with this command prefix, which runs what follows in the sender; it leads to the place."""
        host, port = place
        self._process = await asyncio.create_subprocess_exec(
            *inside,
            *("python3", "-c", FAR_SIDE, host, str(port)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        pieces = Pieces(self._process.stdout, self._process.stdin)
        self._keep(asyncio.create_task(pieces.run()))

        async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with contextlib.suppress(asyncio.CancelledError):  # at the end of the loop, of which asyncio would complain
                await pieces.carry(next(self._numbers), reader, writer)

        self._server = await asyncio.start_server(carry, sock=self._socket)

    def close(self) -> None:
        """End the far side and stop listening; waits for nothing."""
        if self._server is not None:
            with contextlib.suppress(RuntimeError):  # the loop that it served may be over
                self._server.close()
        self._socket.close()
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, RuntimeError):
                self._process.kill()

    def _keep(self, work: "asyncio.Task[None]") -> None:
        self._work.add(work)
        work.add_done_callback(self._work.discard)
