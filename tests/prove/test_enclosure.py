"""A command in an enclosure is heard and hears as it would without one; only the network is gone."""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from holdfast.prove.targets.process import HOST, free_port, port_answers
from holdfast.prove.targets.templates import enclosure

SCRIPT = [sys.executable, "-I", "-S", enclosure.__file__]
SECONDS = 10
SAID = 2_000_000
LISTEN = """\
import os, signal, socket, sys
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("ready", flush=True)
"""
SAYS_ALL_AND_ENDS = f"""{LISTEN}
taken, _ = listener.accept()
taken.recv(1)
taken.sendall(b"x" * {SAID})
os._exit(3)
"""
REFUSES_UNREAD = f"""{LISTEN}
while True:
    taken, _ = listener.accept()
    if taken.recv(1):
        taken.sendall(b"too large")
    taken.close()
"""
ASKS_AT_ITS_END = f"""{LISTEN}
def ask(*_):
    with socket.create_connection(("127.0.0.1", int(sys.argv[2])), 5) as model:
        print(model.recv(100).decode(), flush=True)
    os._exit(0)
signal.signal(signal.SIGTERM, ask)
print("steady", flush=True)
while True:
    signal.pause()
"""

pytestmark = pytest.mark.skipif(
    subprocess.run([*SCRIPT, "--check"], capture_output=True, check=False).returncode != 0,
    reason="NOT RUN: no command was enclosed: there are no namespaces here",
)


@contextmanager
def enclosed(command: str, model_port: int = 1) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A Python program in an enclosure, in a process group of its own, and the port of its door."""
    port = free_port()
    words = [*SCRIPT, str(port), str(model_port), sys.executable, "-c", command, str(port), str(model_port)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process, port
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def answer_to(port: int, said: bytes) -> bytes:
    """What the command answers, to its end."""
    heard = b""
    with socket.create_connection((HOST, port), SECONDS) as connection:
        with suppress(ConnectionError):
            connection.sendall(said)
        with suppress(ConnectionError):
            while piece := connection.recv(1 << 16):
                heard += piece
    return heard


def test_what_a_command_has_said_is_out_before_its_enclosure_ends() -> None:
    with enclosed(SAYS_ALL_AND_ENDS) as (process, port):
        assert len(answer_to(port, b"?")) == SAID
        assert process.wait(SECONDS) == 3
    assert not port_answers(port)


def test_a_refusal_is_heard_although_nobody_reads_what_is_still_being_sent() -> None:
    with enclosed(REFUSES_UNREAD) as (_, port):
        assert answer_to(port, b"?" * 10_000_000) == b"too large"


def test_a_command_that_is_to_end_still_has_its_model() -> None:
    with socket.create_server((HOST, 0)) as model:

        def answer() -> None:
            with suppress(OSError), model.accept()[0] as taken:
                taken.sendall(b"go on")

        threading.Thread(target=answer, daemon=True).start()
        with enclosed(ASKS_AT_ITS_END, model.getsockname()[1]) as (process, _):
            assert process.stdout is not None
            assert process.stdout.readline() == "steady\n"
            os.killpg(process.pid, signal.SIGTERM)
            assert process.stdout.readline() == "go on\n"
            assert process.wait(SECONDS) == 0
