"""Runs a command in a network namespace that has nothing but a loopback of its own, with one door in and one out.

`enclosure.py PORT MODEL_PORT COMMAND…`: connections to PORT on our loopback go to PORT inside, where the command
listens; those from inside to MODEL_PORT go to MODEL_PORT on our loopback. There is no other way in or out. It ends as
the command ends; SIGTERM is the command's to answer. `enclosure.py --check` ends with 0 where this can be done: on
Linux, as root or with user namespaces.

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
    if said in (NO_CONNECTION, b""):
        raise ConnectionRefusedError
    return socket.socket(fileno=descriptors[0])


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Carry one direction to its end, and tell the other side that this was all."""
    with suppress(OSError):
        while piece := await reader.read(PIECE):
            writer.write(piece)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()


async def carry(
    one: tuple[asyncio.StreamReader, asyncio.StreamWriter], other: tuple[asyncio.StreamReader, asyncio.StreamWriter]
) -> None:
    """Carry a connection both ways."""
    try:
        await asyncio.gather(pump(one[0], other[1]), pump(other[0], one[1]))
    finally:
        one[1].close()
        other[1].close()


async def run(inward: socket.socket, outward: socket.socket, behind: socket.socket, command: list[str]) -> int:
    """Keep both doors until the command has ended; its exit code."""
    port = inward.getsockname()[1]

    async def let_in(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            inner = await asyncio.open_connection(HOST, port)
        except OSError:
            writer.close()
            return
        await carry((reader, writer), inner)

    async def let_out(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            outer = await asyncio.open_connection(sock=outside(behind))
        except OSError:
            writer.close()
            return
        await carry((reader, writer), outer)

    # The command is in our group: it gets the signal that the leash passes on, and says itself when it is over.
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: None)
    async with await asyncio.start_server(let_in, sock=inward), await asyncio.start_server(let_out, sock=outward):
        process = await asyncio.create_subprocess_exec(*command)
        code = await process.wait()
        end_as(code)
    return code


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
    inward = listen(int(port))
    behind = stay_behind(int(model_port))
    enclose()
    asyncio.run(run(inward, listen(int(model_port)), behind, command))


if __name__ == "__main__":
    main(sys.argv[1:])
