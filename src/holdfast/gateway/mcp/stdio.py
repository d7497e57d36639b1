"""The protocol on stdin and stdout: a line is a message.

Nothing else goes to stdout: while this serves, what the process prints goes to stderr. Lines are read and written by
threads of their own, which nobody waits for, so a signal ends it also while it waits for a line. A line is checked as a
body is, and refused as one. When stdin ends, what is under way gets a moment to be answered.
"""

import asyncio
import os
import select
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeAlias

import anyio
import mcp_types as wire
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from holdfast.core import HoldfastError
from holdfast.gateway.mcp.message import LARGEST_CALL, NoMessage, error_answer, message_in

PIECE = 64 * 1024
FEW = 16
"""Lines that wait to be read; the client waits with more."""
LAST_SECONDS = 5.0
"""For what is under way when stdin ends."""

Item: TypeAlias = SessionMessage | Exception


async def serve(server: Any) -> None:
    """Serve one client until it closes stdin, or reads stdout no more."""
    with standard_streams() as (source, sink):
        await StdioClient(StdinLines(source), StdoutLines(sink)).hold(server)


class StdioClient:
    """One client's messages, in and out, and which of its requests are under way."""

    def __init__(self, reader: "StdinLines", writer: "StdoutLines", last_seconds: float = LAST_SECONDS) -> None:
        self._reader = reader
        self._writer = writer
        self._last_seconds = last_seconds
        self._open: set[str | int] = set()
        self._answered = asyncio.Event()

    async def hold(self, server: Any) -> None:
        """Have the server answer until the client has gone."""
        into, messages = anyio.create_memory_object_stream[Item](0)
        answers, out_of = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as both:
            both.start_soon(self._read, into)
            both.start_soon(self._write, out_of, both.cancel_scope)
            await server.run(messages, answers, server.create_initialization_options())
            both.cancel_scope.cancel()

    async def _read(self, into: MemoryObjectSendStream[Item]) -> None:
        async with into:
            while (line := await self._reader.line()) is not None:
                if not line.strip():
                    continue
                try:
                    message = _message(line)
                except HoldfastError as error:
                    await self._writer.write(error_answer(error))
                    continue
                self._note(message)
                await into.send(SessionMessage(message))
            with anyio.move_on_after(self._last_seconds):
                while self._open:
                    self._answered.clear()
                    await self._answered.wait()

    async def _write(self, out_of: MemoryObjectReceiveStream[SessionMessage], ending: anyio.CancelScope) -> None:
        async with out_of:
            async for answer in out_of:
                message = answer.message
                try:
                    await self._writer.write(message.model_dump_json(by_alias=True, exclude_unset=True).encode())
                except OSError:
                    ending.cancel()  # nobody reads any more
                if isinstance(message, wire.JSONRPCResponse | wire.JSONRPCError) and message.id is not None:
                    self._close(message.id)

    def _note(self, message: wire.JSONRPCMessage) -> None:
        """Remember a request, and forget one that is cancelled: it gets no answer."""
        if isinstance(message, wire.JSONRPCRequest):
            self._open.add(message.id)
        elif isinstance(message, wire.JSONRPCNotification) and message.method == "notifications/cancelled":
            request = (message.params or {}).get("requestId")
            if isinstance(request, str | int):
                self._close(request)

    def _close(self, request: str | int) -> None:
        self._open.discard(request)
        self._answered.set()


class StdinLines:
    """The lines of a descriptor, read by a thread; too long ones are told apart, not kept."""

    def __init__(self, source: int, longest: int = LARGEST_CALL) -> None:
        self._source = source
        self._longest = longest
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue(FEW)
        threading.Thread(target=self._run, name="holdfast-stdin", daemon=True).start()

    async def line(self) -> bytes | None:
        """The next line; one byte more than is allowed, if it is longer; None at the end."""
        return await self._lines.get()

    def _run(self) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            for line in self._read():
                self._give(line)
            self._give(None)

    def _read(self) -> Iterator[bytes]:
        kept = bytearray()
        while piece := _whenever(self._source, select.POLLIN, partial(os.read, self._source, PIECE)):
            *whole, rest = piece.split(b"\n")
            for end in whole:
                kept += end
                yield bytes(kept[: self._longest + 1])
                kept.clear()
            kept += rest
            del kept[self._longest + 1 :]
        if kept:
            yield bytes(kept)

    def _give(self, line: bytes | None) -> None:
        asyncio.run_coroutine_threadsafe(self._lines.put(line), self._loop).result()


class StdoutLines:
    """Lines for a descriptor, written by a thread in their order."""

    def __init__(self, sink: int) -> None:
        self._sink = sink
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[tuple[bytes, asyncio.Future[None]]] = SimpleQueue()
        threading.Thread(target=self._run, name="holdfast-stdout", daemon=True).start()

    async def write(self, line: bytes) -> None:
        """Return when the line is written; OSError if it cannot be."""
        done = self._loop.create_future()
        self._queue.put((line + b"\n", done))
        await done

    def _run(self) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            while True:
                line, done = self._queue.get()
                error: OSError | None = None
                try:
                    self._write_all(line)
                except OSError as raised:
                    error = raised
                self._loop.call_soon_threadsafe(_settle, done, error)

    def _write_all(self, line: bytes) -> None:
        written = 0
        while written < len(line):
            written += _whenever(self._sink, select.POLLOUT, partial(os.write, self._sink, line[written:]))


@contextmanager
def standard_streams() -> Iterator[tuple[int, int]]:
    """Descriptors of stdin and stdout for us alone; in their places, nothing to read, and stderr."""
    source, sink = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    try:
        os.dup2(nowhere, 0)
        os.dup2(2, 1)
        yield source, sink
    finally:
        os.dup2(source, 0)
        os.dup2(sink, 1)
        os.close(nowhere)


def _whenever(descriptor: int, event: int, use: Callable[[], Any]) -> Any:
    """Use a descriptor, also one that whoever started us has made not to block."""
    while True:
        try:
            return use()
        except BlockingIOError:
            poll = select.poll()
            poll.register(descriptor, event)
            poll.poll()


def _settle(done: "asyncio.Future[None]", error: OSError | None) -> None:
    if done.done():
        return
    if error is None:
        done.set_result(None)
    else:
        done.set_exception(error)


def _message(line: bytes) -> wire.JSONRPCMessage:
    """The message that a line is; InvalidJson or NoMessage if it is none."""
    try:
        return wire.jsonrpc_message_adapter.validate_python(message_in(line), by_name=False)
    except ValidationError:
        raise NoMessage("a line is one message of JSON-RPC 2.0") from None
