"""The one way in which tests start a process, wait for its words and see its end.

Whoever needs a process starts it here:

- `holdfast("serve", …)` is `python -m holdfast serve …`: a process with its own pid, pipes, environment and exit code,
  which dies of signals. It is forked from a server that has imported what our commands import, so that a start costs a
  fifth of the time; from our first line on it does the same. A proof forks its targets (see `leashes`).
- `python("-m", "holdfast", …)` is a new interpreter, for tests of what Python does before our first line and after our
  last one: imports, closed streams, memory, the clean-up at the end.
- `spawn(function, …)` is a child that runs a function of the tests.

To a test the first two are alike; both are killed at the end of their `with`. A command whose process is not the point
needs none of this: `tests/cli/command.py` runs it in the test's own process.
"""

import multiprocessing
import os
import runpy
import select
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import BufferedReader, BufferedWriter, FileIO, TextIOWrapper
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for_any
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, Self

PATIENCE = 60.0
THEIRS = ("HOLDFAST_", "OPENAI_", "COLUMNS", "LINES", "NO_COLOR")
"""How variables begin that commands of ours read."""

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    [
        *("tests.support.children", "tests.support.processes"),
        *("holdfast.cli.serve", "holdfast.cli.service", "holdfast.cli.sessions", "holdfast.cli.sim"),
        *("holdfast.cli.embedded_gateway", "holdfast.gateway.serve", "holdfast.models.simulator.app"),
        # what these import only when they need it
        *("holdfast.gateway.connections.with_websockets", "uvicorn.protocols.http.httptools_impl", "pydantic.v1"),
        *("holdfast.gateway.connections.with_httptools", "holdfast.runtime", "encodings.idna"),
        *("uvloop", "uvicorn.lifespan.off"),
        *("holdfast.store.sqlite.engine", "holdfast.store.postgres.engine"),
        *("httpcore2", "httpx2", "anyio._backends._asyncio", "websockets.asyncio.client"),
        *("tests.support.leashes", "holdfast.prove.broken.__main__", "holdfast.prove.store.child"),
        *("holdfast.cli.prove", "holdfast.prove.runtime.command", "holdfast.prove.store.command"),
        *("holdfast.prove.explore.command", "holdfast.prove.report", "holdfast.prove.view.live"),
        *("hypothesis.strategies", "pytest"),  # which the module of a child's target may import
        "tests.support.before_forks",
    ]
)


ENDS = threading.Lock()
"""An end is read from a pipe, once: by whoever asks for it, or by whoever starts another process meanwhile."""


def spawn(target: Callable[..., object], *args: Any) -> ForkServerProcess:
    """Start a child that runs `target`."""
    process = CONTEXT.Process(target=target, args=args, daemon=True)
    with ENDS:
        process.start()
    return process


def environment() -> dict[str, str]:
    """The tests' own, without what would change a command of ours."""
    return {name: value for name, value in os.environ.items() if not name.startswith(THEIRS)}


class ForkedProcess:
    """A process that was forked; its members are those of `subprocess.Popen`, and mean the same."""

    def __init__(self, args: Sequence[str], child: ForkServerProcess) -> None:
        self.args = args
        self._child = child

    @property
    def pid(self) -> int:
        assert self._child.pid is not None
        return self._child.pid

    @property
    def returncode(self) -> int | None:
        """The exit code of a process that was seen to end: by `poll`, `wait` or `communicate`."""
        return self.poll()

    @property
    def sentinel(self) -> int:
        """A file that is ready once the process has ended."""
        return self._child.sentinel

    def poll(self) -> int | None:
        with ENDS:
            return self._child.exitcode

    def wait(self, timeout: float | None = None) -> int:
        wait_for_any([self.sentinel], timeout)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has ended, and the one who forked it is about to say so
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class ForkedCommand(ForkedProcess):
    """A command of ours as a process."""

    def __init__(
        self,
        module: str,
        arguments: tuple[str, ...],
        variables: Mapping[str, str],
        *,
        terminal: int | None = None,
        folder: Path | None = None,
    ) -> None:
        self.stdout: IO[str] | None = None
        self.stderr: IO[str] | None = None
        if terminal is None:
            (out, its_out), (err, its_err) = (CONTEXT.Pipe(duplex=False) for _ in range(2))
            self.stdout, self.stderr = _text(out), _text(err)
            streams = {1: its_out, 2: its_err}
        else:
            streams = {number: Connection(os.dup(terminal)) for number in range(3)}
        where = str(folder or Path.cwd())
        super().__init__(arguments, spawn(become, module, arguments, dict(variables), where, streams))
        for stream in streams.values():
            stream.close()

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """What it still says on stdout and stderr, until it ends."""
        said = ["", ""]

        def read(number: int, pipe: IO[str] | None) -> None:
            said[number] = pipe.read() if pipe is not None and not pipe.closed else ""

        pipes = enumerate((self.stdout, self.stderr))
        readers = [threading.Thread(target=read, args=each, daemon=True) for each in pipes]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(timeout)
            if reader.is_alive():
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        self.wait(timeout)
        return said[0], said[1]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self.wait()
        for pipe in (self.stdout, self.stderr):
            if pipe is not None:
                pipe.close()


Process = ForkedCommand | subprocess.Popen[str]


def holdfast(
    *arguments: str,
    module: str = "holdfast",
    terminal: int | None = None,
    folder: Path | None = None,
    variables: Mapping[str, str] = MappingProxyType({}),
) -> ForkedCommand:
    """Our command line, or another module that is a program, as a process; at a terminal and in a folder, if named."""
    return ForkedCommand(module, arguments, environment() | dict(variables), terminal=terminal, folder=folder)


@contextmanager
def python(*arguments: str, stdin: int | None = None) -> Iterator[subprocess.Popen[str]]:
    """A new interpreter with these arguments."""
    with subprocess.Popen(
        [sys.executable, *arguments],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def first_line(process: Process, *, of_stderr: bool = False) -> str:
    """The first line that it says; a failure if none comes."""
    pipe = process.stderr if of_stderr else process.stdout
    assert pipe is not None
    assert select.select([pipe], [], [], PATIENCE)[0], f"{process.args!r} said nothing for {PATIENCE:g} s"
    return pipe.readline()


def ended(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """A command that was run to its end; the options are those of `holdfast`."""
    with holdfast(*arguments, **options) as process:
        out, err = process.communicate(PATIENCE)
        return subprocess.CompletedProcess(arguments, process.wait(), out, err)


def _text(end: Connection) -> IO[str]:
    with end:
        return os.fdopen(os.dup(end.fileno()), encoding="utf-8", errors="surrogateescape")


def become(
    module: str, arguments: tuple[str, ...], variables: dict[str, str], folder: str, streams: dict[int, Connection]
) -> None:
    """Be the program from here on, in its folder and with its environment."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    tempfile.tempdir = None  # the server may have looked for it
    for number, stream in streams.items():
        os.dup2(stream.fileno(), number)
        stream.close()
    if arguments[:1] == ("prove",):
        from tests.support import leashes

        leashes.fork_from_here()
    run_module(module, arguments, stdin=0 in streams)


def run_module(module: str, arguments: Sequence[str], *, stdin: bool) -> None:
    """Run a program as `python -m` does, with streams as Python makes them for a new process."""
    if stdin:
        sys.stdin = TextIOWrapper(BufferedReader(FileIO(0, closefd=False)), encoding="utf-8")
    out, err = (BufferedWriter(FileIO(number, "w", closefd=False)) for number in (1, 2))
    at_once = out.isatty() or "PYTHONUNBUFFERED" in os.environ
    sys.stdout = TextIOWrapper(out, encoding="utf-8", line_buffering=at_once)
    sys.stderr = TextIOWrapper(err, encoding="utf-8", errors="backslashreplace", line_buffering=True)
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
