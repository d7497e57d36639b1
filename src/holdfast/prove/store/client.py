"""A client as the proof holds it: a child process in a session of its own and on a leash, which can be killed.

However the proof ends, kill -9 included, its clients end with it (see `leash`).
"""

import asyncio
import json
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.core.errors import HoldfastError
from holdfast.prove import leash

LONGEST_LINE = 2**28
GRACE_SECONDS = 5.0

start_process = asyncio.create_subprocess_exec


class ClientFault(HoldfastError):
    """A client could not be started or ended by itself: nothing can be said of the store."""

    code = "client_fault"


class StoreTrouble(HoldfastError):
    """The store failed where it was not being tried: the clause cannot be judged."""

    code = "store_trouble"


@dataclass(frozen=True, slots=True)
class ClientAnswer:
    """What came of a request: a value, or why the store refused, or what went wrong."""

    value: Any = None
    refused: str = ""
    error: str = ""

    @property
    def accepted(self) -> bool:
        """Whether it was done."""
        return not self.refused and not self.error

    @property
    def trouble(self) -> str:
        """Why it was not done; empty if it was."""
        return self.refused or self.error


@dataclass(frozen=True, slots=True)
class Subject:
    """What an adapter says of its store."""

    name: str
    offers: frozenset[str]


class StoreClient:
    """One child process. `start` makes one that has loaded the adapter; `open` opens the store."""

    def __init__(self, process: asyncio.subprocess.Process, leash_end: socket.socket, log: Path) -> None:
        self._process = process
        self._leash = leash_end
        self._log = log
        self.subject = Subject("", frozenset())

    @classmethod
    async def start(cls, adapter: str, folder: Path, log: Path) -> "StoreClient":
        """Start a process and wait until it has loaded the adapter."""
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-m", "holdfast.prove.store.child", adapter, str(folder)]
        try:
            with log.open("ab") as output:
                process = await start_process(
                    *(sys.executable, "-I", "-S", leash.__file__, str(theirs.fileno()), "-", *command),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=output,
                    start_new_session=True,
                    pass_fds=(theirs.fileno(),),
                    limit=LONGEST_LINE,
                )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        client = cls(process, ours, log)
        try:
            hello = await client.line()
            if "error" in hello:
                raise ClientFault(f"the adapter cannot be used: {hello['error']}", hint=f"see {log}")
        except BaseException:
            await client.end()
            raise
        client.subject = Subject(hello["subject"], frozenset(hello["offers"]))
        return client

    @property
    def pid(self) -> int:
        return self._process.pid

    async def call(self, verb: str, **request: Any) -> ClientAnswer:
        """One request and its answer."""
        await self.send(verb, **request)
        said = await self.line()
        return ClientAnswer(said.get("value"), said.get("refused", ""), said.get("error", ""))

    async def must(self, verb: str, **request: Any) -> Any:
        """The value of a request that the clause is not about; StoreTrouble if it was not done."""
        answer = await self.call(verb, **request)
        if not answer.accepted:
            raise StoreTrouble(f"{verb} failed: {answer.trouble}", hint=f"see {self._log}")
        return answer.value

    async def send(self, verb: str, **request: Any) -> None:
        """A request whose answers are read with `line`."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": verb, **request}).encode() + b"\n")
        with suppress(ConnectionError):
            await self._process.stdin.drain()

    async def line(self) -> dict[str, Any]:
        """The next line that the child says; ClientFault if it ended."""
        said = await self.next_line()
        if said is None:
            code = await self._process.wait()
            raise ClientFault(f"a client ended by itself with exit code {code}", hint=f"see {self._log}")
        return said

    async def next_line(self) -> dict[str, Any] | None:
        """The next line that the child said; None at the end, also where a kill cut a line short."""
        assert self._process.stdout is not None
        raw = await self._process.stdout.readline()
        if not raw.endswith(b"\n"):
            return None
        said: dict[str, Any] = json.loads(raw)
        return said

    async def close(self) -> None:
        """Close the store in an orderly way and let the process end."""
        await self.must("close")
        assert self._process.stdin is not None
        self._process.stdin.close()
        # A library's own threads may keep the process; the store is closed by now.
        with suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), GRACE_SECONDS)
        await self.kill()

    async def kill(self) -> None:
        """SIGKILL, at once."""
        self.abandon()
        await self._process.wait()

    async def end(self) -> None:
        """Kill it, drop what it still had to say, and see its pipes closed."""
        await self.kill()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        with suppress(ConnectionError):
            await self._process.stdin.wait_closed()
        await self._process.stdout.read()

    def abandon(self) -> None:
        """Let go of the leash, which kills the process and all that it ever started."""
        leash.let_go(self._leash)
