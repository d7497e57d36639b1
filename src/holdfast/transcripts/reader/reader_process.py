"""The process that reads transcripts, as the importing one sees it.

It reads in the order in which transcripts were ordered, and is ahead by no more than what a pipe holds. What was not
ordered is read here, and so is everything where no process was started, or none can be. One that dies before it has
given all is an error, never a session that is shorter: nothing counts as read before its last frame.
"""

import contextlib
import fcntl
import pickle
import subprocess
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from holdfast.core import HoldfastError
from holdfast.store.portable import SealedLog
from holdfast.transcripts.new_session import TranscriptLog, TranscriptReader
from holdfast.transcripts.reader.frames import FrameKind, events_of, read_frame
from holdfast.transcripts.source import Transcript

PROGRAM = "holdfast.transcripts.reader"
COMMAND = (sys.executable, "-P", "-m", PROGRAM)
PIPE_BYTES = 1024 * 1024
"""How far the process may be ahead, where the system lets us choose."""
END_SECONDS = 5.0
OURS = "holdfast."


class ReaderFailed(HoldfastError):
    """The process that reads the files ended before it had read them all."""

    code = "reader_failed"
    status = 503
    hint = "import again: it goes on with what is not here yet"


class ReaderProcess:
    """The process, once it was started; until then, and where there is none, transcripts are read here. It blocks.

    One thread at a time uses it; any may close it.
    """

    def __init__(self, reader: TranscriptReader, command: Sequence[str] = COMMAND) -> None:
        self._reader = reader
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False
        self._ordered: list[Transcript] = []
        self._numbers: dict[str, int] = {}
        self._next = 0

    def __enter__(self) -> "ReaderProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Start the process, if there can be one: it knows the sources of this package only."""
        if not type(self._reader.source).__module__.startswith(OURS):
            return
        try:
            process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
            )
        except OSError:
            return
        self._process = process
        if self._closed:
            self.close()
            return
        assert process.stdout is not None
        with contextlib.suppress(AttributeError, OSError):
            fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, PIPE_BYTES)

    def order(self, transcripts: Iterable[Transcript]) -> None:
        """Have these read, in this order; each session once."""
        process = self._process
        if process is None:
            return
        for transcript in transcripts:
            if transcript.session_id not in self._numbers:
                self._numbers[transcript.session_id] = len(self._ordered)
                self._ordered.append(transcript)
        assert process.stdin is not None
        with contextlib.suppress(OSError, ValueError):  # it has ended, or was closed: whoever reads is told
            process.stdin.write(pickle.dumps(self._reader))
            for transcript in self._ordered:
                process.stdin.write(pickle.dumps(transcript))
            process.stdin.close()

    def read(self, transcript: Transcript) -> TranscriptLog:
        """A transcript as a new session; the error that refuses it, or ReaderFailed."""
        number = self._numbers.get(transcript.session_id)
        if number is None or number < self._next or self._ordered[number] is not transcript:
            return self._reader.read(transcript)
        while self._next < number:
            self._pass_over()
        return self._answer(transcript)

    def close(self) -> None:
        """End the process."""
        self._closed = True
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None and process.stdout is not None
        process.kill()
        with contextlib.suppress(OSError):
            process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):  # one that the kernel cannot end yet
            process.wait(END_SECONDS)
            process.stdout.close()

    def _pass_over(self) -> None:
        """Take an answer that nobody wants."""
        try:
            self._answer(self._ordered[self._next]).log.close()
        except ReaderFailed:
            raise
        except HoldfastError:
            pass

    def _answer(self, transcript: Transcript) -> TranscriptLog:
        log = SealedLog(transcript.session_id)
        self._next += 1
        try:
            while True:
                kind, value = self._frame()
                match kind:
                    case FrameKind.EVENTS:
                        log.take_over(events_of(value))
                    case FrameKind.END:
                        header, lines, notes = value
                        if (header.session_id, header.head_hash) != (log.session_id, log.head_hash):
                            raise ReaderFailed(f"the process that reads the files lost its place at {log.session_id}")
                        return TranscriptLog(transcript, header, log, lines, notes)
                    case FrameKind.REFUSED:
                        raise value
                    case FrameKind.FAILED:
                        raise ReaderFailed(f"the process that reads the files failed: {value}")
        except BaseException:
            log.close()
            raise

    def _frame(self) -> tuple[FrameKind, Any]:
        process = self._process
        if process is None:
            raise ReaderFailed("the process that reads the files was ended")
        assert process.stdout is not None
        try:
            return read_frame(process.stdout)
        except (EOFError, OSError, ValueError):  # the last if it was closed meanwhile
            raise ReaderFailed(f"the process that reads the files ended {_end_of(process)}") from None


def _end_of(process: subprocess.Popen[bytes]) -> str:
    """How a process ended, in words."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        code = process.wait(END_SECONDS)
        return f"by signal {-code}" if code < 0 else f"with exit code {code}"
    return "its output"
