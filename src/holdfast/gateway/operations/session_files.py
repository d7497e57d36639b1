"""A folder with all sessions as files, kept up to date by a process of its own.

The gateway starts that process once it serves, tells it where, and starts it again when it ends, later each time.
However it fares, with a full disk or in a folder that is not its own, the gateway goes on; what is wrong is known to
operators. It ends with the gateway, because it watches a pipe that only the gateway holds.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from holdfast.core.race import first_of, is_set_within
from holdfast.core.retry import Backoff

LINE = 64 * 1024
AGAIN = Backoff(0.5, 60.0)
STOP_SECONDS = 3.0

log = logging.getLogger("holdfast.gateway")


@dataclass(frozen=True, slots=True)
class SessionFiles:
    """Where the files are to be, and the program that writes them."""

    folder: Path
    program: Sequence[str]
    prepare: Callable[[], None]
    """Refuses a folder that others have written to."""


class FilesProcess:
    """The process, or the next one; `trouble` is what is wrong, if something is."""

    def __init__(self, files: SessionFiles, url: str, token: str) -> None:
        self.folder = files.folder
        self.served = asyncio.Event()
        """Set once the gateway answers."""
        self.pid: int | None = None
        self.caught_up = False
        """Whether all that was there when it started has been written."""
        self.starts = 0
        self.failure: str | None = None
        """How the process ended the last time, until one has caught up again."""
        self.troubles: list[str] = []
        """Sessions that it cannot write."""
        self._program = files.program
        self._order = json.dumps({"url": url, "token": token, "folder": str(files.folder.absolute())}) + "\n"
        self._in_a_row = 0

    @property
    def trouble(self) -> str | None:
        """What somebody should look at."""
        return self.failure or "; ".join(self.troubles) or None

    async def run(self, stopping: asyncio.Event) -> None:
        """Have the process run, again and again, until the gateway stops."""
        await first_of(self.served.wait(), stopping.wait())
        while not stopping.is_set():
            try:
                ended = await self._run_once(stopping)
            except Exception as error:
                log.exception("the process that keeps files cannot be looked after")
                ended = f"{type(error).__name__}: {error}"
            if stopping.is_set():
                return
            self.caught_up, self.failure, self._in_a_row = False, ended, self._in_a_row + 1
            pause = AGAIN.pause(self._in_a_row)
            log.warning("the files in %s are not kept up to date, again in %g s: %s", self.folder, pause, ended)
            await is_set_within(stopping, pause)

    async def _run_once(self, stopping: asyncio.Event) -> str:
        """Run one process to its end, or to the gateway's; how it ended."""
        try:
            process = await asyncio.create_subprocess_exec(
                *self._program,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=LINE,
                start_new_session=True,
            )
        except OSError as error:
            return f"the process cannot be started: {error.strerror or error}"
        self.pid, self.starts, self.troubles = process.pid, self.starts + 1, []
        assert process.stdin is not None
        reading = asyncio.create_task(self._read(process))
        stopped = asyncio.create_task(stopping.wait())
        try:
            with suppress(OSError):
                process.stdin.write(self._order.encode())
            await asyncio.wait({reading, stopped}, return_when=asyncio.FIRST_COMPLETED)
            process.stdin.close()
            with suppress(TimeoutError):
                async with asyncio.timeout(STOP_SECONDS):
                    said = await reading
                    code = await process.wait()
                    return said or f"the process ended with {code}"
            return "the process hangs"
        finally:
            self.pid = None
            for task in (reading, stopped):
                task.cancel()
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _read(self, process: asyncio.subprocess.Process) -> str | None:
        """Take note of what the process says, until it says no more; its error, if it named one."""
        assert process.stdout is not None
        said = None
        while True:
            try:
                line = await process.stdout.readline()
                found = json.loads(line) if line else None
            except ValueError:
                continue
            if not isinstance(found, dict):
                return said
            if found.get("caughtUp"):
                self.caught_up, self.failure, self._in_a_row = True, None, 0
            self.troubles = found.get("troubles", self.troubles)
            said = found.get("error", said)


@asynccontextmanager
async def keeping(
    files: SessionFiles | None, url: str, token: str, stopping: asyncio.Event
) -> AsyncIterator[FilesProcess | None]:
    """Keep the files up to date while inside, if any are asked for."""
    if files is None:
        yield None
        return
    process = FilesProcess(files, url, token)
    running = asyncio.create_task(process.run(stopping), name="holdfast-files")
    try:
        yield process
    finally:
        stopping.set()
        await asyncio.gather(running, return_exceptions=True)
