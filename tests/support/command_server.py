"""A `holdfast` for shell scripts that is forked instead of started as a new interpreter.

`command_in(folder)` puts a script of that name there. It hands its words, folder, environment and streams to the test,
which forks the command from the server of `processes`; it passes signals on, and ends as the command does. If it is
killed, so is the command.
"""

import array
import json
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path

from tests.support.processes import ForkedProcess, become, spawn

LONGEST = 2**20
SCRIPT = """#!{python} -IS
import array, json, os, signal, socket, sys
asked = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, lambda number, frame: asked.send(str(number).encode()))
asked.connect({address!r})
words = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
asked.sendmsg([words], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))])
for number in range(3):
    os.close(number)
code = int(asked.recv(32))
if code < 0:
    signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
"""


@contextmanager
def command_in(folder: Path) -> Iterator[None]:
    """Whoever has this folder in PATH runs a forked `holdfast`."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(str(folder / "commands"))
        listening.listen()
        script = folder / "holdfast"
        script.write_text(SCRIPT.format(python=sys.executable, address=str(folder / "commands")))
        script.chmod(0o755)
        serving = threading.Thread(target=_serve, args=(listening,), daemon=True)
        serving.start()
        try:
            yield
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            serving.join()


def _serve(listening: socket.socket) -> None:
    """Run what is asked for, until nobody listens any more and all of it has ended."""
    running = []
    with suppress(OSError):
        while True:
            asked, _ = listening.accept()
            running.append(threading.Thread(target=_run, args=(asked,), daemon=True))
            running[-1].start()
    for each in running:
        each.join()


def _run(asked: socket.socket) -> None:
    """Run one command; its end is told, and whoever asked may send it signals."""
    with asked:
        words, streams = _received(asked)
        if not words:
            return
        arguments, folder, environment = json.loads(words)
        command = ForkedProcess(
            arguments, spawn(become, "holdfast", tuple(arguments), environment, folder, dict(enumerate(streams)))
        )
        for stream in streams:
            stream.close()
        telling = threading.Thread(target=_tell, args=(command, asked), daemon=True)
        telling.start()
        with suppress(OSError):
            while number := asked.recv(32):
                command.send_signal(int(number))
        command.kill()
        telling.join()


def _tell(command: ForkedProcess, asked: socket.socket) -> None:
    code = command.wait()
    with suppress(OSError):
        asked.send(str(code).encode())


def _received(asked: socket.socket) -> tuple[bytes, list[Connection]]:
    """The words of a command, and its streams."""
    numbers = array.array("i")
    words, more, *_ = asked.recvmsg(LONGEST, socket.CMSG_SPACE(3 * numbers.itemsize))
    for _level, _kind, data in more:
        numbers.frombytes(data)
    return words, [Connection(number) for number in numbers]
