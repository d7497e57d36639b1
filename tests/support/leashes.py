"""Commands of ours on a leash, forked instead of started as two new interpreters.

The leash is the real one, with the command as its child and all that it promises; only the step in between, from
`exec` to our first line, is left out. What is no command of ours is started as ever.

A test forks them from the server of `processes`. A proof that was itself forked, and so is small and has no threads of
the tests, forks them from itself.
"""

import asyncio
import gc
import os
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Any, Protocol

from tests.support.processes import ForkedProcess, run_module, spawn

from holdfast.prove import leash
from holdfast.prove.store import client
from holdfast.prove.targets import process

OURS = ("holdfast", "holdfast.prove.broken", "holdfast.prove.store.child")
LEASH_WORDS = 4
"""The interpreter, its two options and the script: what stands before the arguments of a leash."""
HOLDER = 3

Stream = int | IO[bytes]


class Forked(Protocol):
    """What we need of a process."""

    @property
    def pid(self) -> int: ...

    @property
    def sentinel(self) -> int: ...

    def wait(self) -> int: ...


Fork = Callable[..., Any]
"""From a function and its arguments to a process that is `Forked`."""


def popen(words: Sequence[str], **options: Any) -> Any:
    """`subprocess.Popen` of a command on a leash, forked from the server."""
    return _popen(_from_the_server, words, **options)


async def create(*words: str, **options: Any) -> Any:
    """`asyncio.create_subprocess_exec` of a command on a leash, forked from the server."""
    return await _create(_from_the_server, *words, **options)


def fork_from_here() -> None:
    """From now on, fork from this process what it puts on a leash."""
    process.start_process = partial(_popen, _OwnFork)  # type: ignore[assignment]
    client.start_process = partial(_create, _OwnFork)


def _from_the_server(target: Callable[..., None], *args: Any) -> ForkedProcess:
    return ForkedProcess((), spawn(target, *args))


class _OwnFork:
    """A child of this process; its members are those of `subprocess.Popen`, and mean the same."""

    def __init__(self, target: Callable[..., None], *args: Any) -> None:
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            try:
                target(*args)
            finally:
                os._exit(1)
        self.sentinel = os.pidfd_open(self.pid)

    def poll(self) -> int | None:
        return self._see(os.WNOHANG)

    def wait(self) -> int:
        code = self._see(0)
        assert code is not None
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def _see(self, how: int) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, how)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
                os.close(self.sentinel)
        return self.returncode


def module_of(command: Sequence[str]) -> tuple[str, list[str]] | None:
    """The module of ours that a command runs, and its arguments."""
    words = [word for word in command[1:2] if word != "-P"] + list(command[2:])
    if command[0] == sys.executable and words[0] == "-m" and words[1] in OURS:
        return words[1], words[2:]
    return None


def _popen(fork: Fork, words: Sequence[str], **options: Any) -> Any:
    if module_of(words[LEASH_WORDS + 2 :]) is None:
        return subprocess.Popen(words, **options)
    return _start(fork, words, **options)


async def _create(fork: Fork, *words: str, limit: int, **options: Any) -> Any:
    if module_of(words[LEASH_WORDS + 2 :]) is None:
        return await asyncio.create_subprocess_exec(*words, limit=limit, **options)
    (its_in, our_out), (our_in, its_out) = os.pipe(), os.pipe()
    try:
        forked = _start(fork, words, **options | {"stdin": its_in, "stdout": its_out})
    finally:
        os.close(its_in)
        os.close(its_out)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=limit)
    said, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(our_in, "rb", 0))
    try:
        pipe, protocol = await loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), os.fdopen(our_out, "wb", 0)
        )
    except asyncio.CancelledError:  # whoever wanted the process does not any more
        said.close()
        await asyncio.sleep(0)
        raise
    return _Created(forked, asyncio.StreamWriter(pipe, protocol, None, loop), reader, said)


class _Created:
    """A forked process; its members are those of `asyncio.subprocess.Process`, and mean the same."""

    def __init__(
        self, forked: Forked, stdin: asyncio.StreamWriter, stdout: asyncio.StreamReader, said: asyncio.ReadTransport
    ) -> None:
        self._said = said
        self.pid = forked.pid
        self.stdin = stdin
        self.stdout = stdout
        self._forked = forked
        self._ended = asyncio.Event()
        asyncio.get_running_loop().add_reader(forked.sentinel, self._end)

    async def wait(self) -> int:
        await self._ended.wait()
        with suppress(TimeoutError):
            async with asyncio.timeout(1):
                while not self._said.is_closing():  # nobody is left who could say more
                    await asyncio.sleep(0.001)
        self._said.close()
        await asyncio.sleep(0)
        return self._forked.wait()

    def _end(self) -> None:
        asyncio.get_running_loop().remove_reader(self._forked.sentinel)
        self._ended.set()


def _start(
    fork: Fork,
    words: Sequence[str],
    *,
    stdin: int,
    stdout: Stream,
    stderr: Stream,
    pass_fds: tuple[int],
    start_new_session: bool,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Any:
    """Fork a leash, which forks its command."""
    assert start_new_session
    streams = [_sent(stdin), _sent(stdout), _sent(stdout if stderr == subprocess.STDOUT else stderr)]
    streams.append(_sent(pass_fds[0]))
    log, *command = words[LEASH_WORDS + 1 :]
    where = str(cwd or Path.cwd())
    try:
        return fork(_hold, streams, log, command, where, dict(os.environ if env is None else env))
    finally:
        for end in streams:
            end.close()


def _sent(stream: Stream) -> Connection:
    """A stream that a fork can be given."""
    if stream == subprocess.DEVNULL:
        return Connection(os.open(os.devnull, os.O_RDWR))
    return Connection(os.dup(stream if isinstance(stream, int) else stream.fileno()))


def _hold(streams: list[Connection], log: str, command: list[str], folder: str, env: dict[str, str]) -> None:
    """Be the leash, with its streams and the holder's end, and nothing else open or set."""
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    tempfile.tempdir = None  # the server may have looked for it
    gc.freeze()
    signal.set_wakeup_fd(-1)
    for caught in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(caught, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Out of the way first: a stream's number may be one that another is about to have.
    for number, kept in enumerate([os.dup(stream.fileno()) for stream in streams]):
        os.dup2(kept, number)
    os.closerange(HOLDER + 1, os.sysconf("SC_OPEN_MAX"))
    leash.become = _become  # type: ignore[assignment]
    leash.main(HOLDER, log, command)


def _become(command: list[str], leash_pid: int) -> None:
    """In the child: be the command, as `leash.become` does, with nothing open that an `exec` would have closed."""
    os.setpgid(0, 0)
    leash.prctl(leash.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != leash_pid:
        os._exit(1)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.closerange(HOLDER, os.sysconf("SC_OPEN_MAX"))
    code: Any = 1
    try:
        module, arguments = module_of(command) or ("", [])
        run_module(module, arguments, stdin=True)
        code = 0
    except SystemExit as end:
        code = end.code
        if isinstance(code, str):
            sys.stderr.write(f"{code}\n")
    except BaseException:
        traceback.print_exc()
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))
