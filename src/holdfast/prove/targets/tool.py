"""Runs a command of the user's to its end, in bounded time.

On a leash it ends with us, and takes along what it started. A command that restarts a service is not: it may well start
the service, which is not ours to end.
"""

import asyncio
import os
import shlex
import signal
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, ClassVar

from holdfast.core import HoldfastError
from holdfast.core.redact import redact, redact_file
from holdfast.prove import leash


class CommandFailed(HoldfastError):
    """The command could not be run, took too long, or ended with an exit code that is not 0."""

    code: ClassVar[str] = "command_failed"
    status: ClassVar[int] = 503


async def run(words: Sequence[str], log: Path, *, within: float, environment: Mapping[str, str]) -> None:
    """Run the command and wait for its exit code 0; all that it prints goes into the log."""

    def kill(pid: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)

    try:
        with log.open("wb") as output:
            await _end(words, output, output, log, within, kill, environment=environment)
    finally:
        redact_file(log)


async def run_on_leash(words: Sequence[str], folder: Path, *, within: float) -> bytes:
    """Run the command and wait for its exit code 0; what it printed to stdout."""
    ours, theirs = socket.socketpair()
    leashed = [sys.executable, "-I", "-S", leash.__file__, str(theirs.fileno()), "-", *words]
    out, log = folder / "stdout", folder / "stderr"
    with ours, theirs, out.open("wb") as stdout, log.open("wb") as stderr:
        await _end(leashed, stdout, stderr, log, within, lambda _: leash.let_go(ours), keep_open=(theirs.fileno(),))
    return out.read_bytes()


async def _end(
    words: Sequence[str],
    stdout: IO[bytes],
    stderr: IO[bytes],
    log: Path,
    within: float,
    cut_short: Callable[[int], None],
    *,
    environment: Mapping[str, str] | None = None,
    keep_open: Sequence[int] = (),
) -> None:
    hint = redact(f"it is {shlex.join(words)}")
    try:
        process = await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
            pass_fds=keep_open,
            env={**os.environ, **(environment or {})},
        )
    except OSError as error:
        raise CommandFailed(f"cannot be run: {error.strerror}", hint=hint) from error
    try:
        async with asyncio.timeout(within):
            code = await process.wait()
    except TimeoutError:
        raise CommandFailed(f"had not ended after {within:g} s", hint=hint) from None
    finally:
        if process.returncode is None:
            cut_short(process.pid)
            await process.wait()
    if code != 0:
        raise CommandFailed(f"ended with exit code {code}{_last_words(log)}", hint=hint)


def _last_words(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").split("\n") if line.strip()]
    return f"; its last words: {redact(lines[-1])}" if lines else ""
