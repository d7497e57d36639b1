"""Runs a command in a network namespace that has nothing but a loopback of its own, with one door in and one out.

`enclosure.py PORT MODEL_PORT COMMAND…`: connections to PORT on our loopback go to PORT inside, where the command
listens; those from inside to MODEL_PORT go to MODEL_PORT on our loopback. There is no other way in or out. It ends as
the command ends, once all that the command has said is out; SIGTERM is the command's to answer. `enclosure.py --check`
ends with 0 where this can be done: on Linux, as root or with user namespaces.

A socket stays in the namespace in which it was made. So the door in is opened before the namespace is left, and a
child that stays behind makes the connections that lead out. Nothing but the standard library can be imported.
"""

import asyncio
import ctypes
import fcntl
import os
import signal
import socket
import struct
import sys
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from pathlib import Path

HOST = "127.0.0.1"
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
SIOCSIFFLAGS = 0x8914
UP_AND_RUNNING = 0x41
PIECE = 64 * 1024
BACKLOG = 512
NO_CONNECTION = b"-"
RETRY_SECONDS = 0.1
LAST_SECONDS = 1.0
"""For what the command had said before it ended, to whoever is slow to hear it."""


def enclose() -> None:
    """Leave the network for one that is empty but for a loopback; OSError where nobody may."""
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()
    if libc.unshare(CLONE_NEWNET) != 0:
        if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        for file, line in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            Path("/proc/self", file).write_text(line)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", UP_AND_RUNNING))


def listen(port: int) -> socket.socket:
    """A socket that listens on loopback in the namespace of now."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((HOST, port))
    listener.listen(BACKLOG)
    return listener


def stay_behind(port: int) -> socket.socket:
    """Leave a child in the namespace of now that makes connections to the port there; where to ask it for one."""
    ours, theirs = socket.socketpair()
    if os.fork():
        theirs.close()
        return ours
    ours.close()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the command may need its model until it has ended
    while theirs.recv(1):
        with socket.socket() as dialled:
            try:
                dialled.connect((HOST, port))
                socket.send_fds(theirs, [b"+"], [dialled.fileno()])
            except OSError:
                theirs.send(NO_CONNECTION)
    os._exit(0)


def outside(behind: socket.socket) -> socket.socket:
    """A connection that leads out; OSError if there is nobody to connect to."""
    behind.send(b"?")
    said, descriptors, _, _ = socket.recv_fds(behind, 1, 1)
    if said in (NO_CONNECTION, b"") or not descriptors:
        raise ConnectionRefusedError
    return socket.socket(fileno=descriptors[0])


class Door:
    """Takes connections at a listener and carries each to the one that `dial` makes for it.

    Plain sockets, since with streams a side that can no longer be written to can no longer be read either.
    """

    def __init__(self, listener: socket.socket, dial: Callable[[], Awaitable[socket.socket]]) -> None:
        self._listener = listener
        self._dial = dial
        self._carried: set[asyncio.Task[None]] = set()
        self._answers: set[asyncio.Task[None]] = set()

    async def keep(self) -> None:
        """Let through whoever comes."""
        loop = asyncio.get_running_loop()
        self._listener.setblocking(False)
        while True:
            try:
                taken, _ = await loop.sock_accept(self._listener)
            except OSError:  # too many open files: some will be closed
                await asyncio.sleep(RETRY_SECONDS)
                continue
            _keep(self._carried, self._carry(taken))

    async def shut(self) -> None:
        """Take nobody any more, and carry to its end what those who were let in are being told."""
        self._listener.close()
        if self._answers:
            await asyncio.wait(self._answers, timeout=LAST_SECONDS)

    async def _carry(self, taken: socket.socket) -> None:
        with taken, suppress(OSError), await self._dial() as other:
            for side in (taken, other):
                side.setblocking(False)
                side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            answer = _keep(self._answers, pump(other, taken))
            await pump(taken, other)
            await answer


def _keep(tasks: set[asyncio.Task[None]], what: Coroutine[None, None, None]) -> asyncio.Task[None]:
    task = asyncio.get_running_loop().create_task(what)
    tasks.add(task)
    task.add_done_callback(tasks.discard)
    return task


async def pump(source: socket.socket, sink: socket.socket) -> None:
    """Carry one direction to its end, and tell the other side that this was all."""
    loop = asyncio.get_running_loop()
    with suppress(OSError):
        while piece := await loop.sock_recv(source, PIECE):
            await loop.sock_sendall(sink, piece)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


async def run(inward: socket.socket, outward: socket.socket, behind: socket.socket, command: list[str]) -> None:
    """Keep both doors until the command has ended and all that it had said is out; then end as it did."""
    place = inward.getsockname()

    async def inside() -> socket.socket:
        inner = socket.socket()
        inner.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(inner, place)
        except OSError:
            inner.close()
            raise
        return inner

    async def model() -> socket.socket:
        return outside(behind)

    # The command is in our group: it gets the signal that the leash passes on, and says itself when it is over.
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: None)
    entry, exit_ = Door(inward, inside), Door(outward, model)
    doors = [asyncio.create_task(door.keep()) for door in (entry, exit_)]
    process = await asyncio.create_subprocess_exec(*command)
    code = await process.wait()
    for door in doors:
        door.cancel()
    await asyncio.wait(doors)
    await entry.shut()
    end_as(code)


def end_as(code: int) -> None:
    """End with the exit code, or by the signal, of the command; whatever is under way ends with us."""
    if code < 0:
        with suppress(OSError, ValueError):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def main(words: list[str]) -> None:
    """What the command line asks for."""
    if words == ["--check"]:
        try:
            enclose()
            listen(0).close()
        except (OSError, AttributeError) as error:
            sys.exit(f"no network namespace can be had: {error}")
        return
    port, model_port, *command = words
    behind = stay_behind(int(model_port))  # first, so that it does not have the socket of the door
    inward = listen(int(port))
    enclose()
    asyncio.run(run(inward, listen(int(model_port)), behind, command))


if __name__ == "__main__":
    main(sys.argv[1:])
