"""Streams that no proof dies of: whoever reads them may hang up, and a disk may be full. What was found stands."""

import errno
import os
import sys
from io import BufferedWriter, FileIO, TextIOWrapper
from pathlib import Path
from typing import Any, TextIO


class SteadyFile(FileIO):
    """A file that is written to for as long as it can be; what comes later is dropped, and `error` says why."""

    error: OSError | None = None

    def write(self, data: Any, /) -> int:
        """Never fails."""
        if self.error is None:
            try:
                return super().write(data)
            except OSError as error:
                self.error = error
        return memoryview(data).nbytes


def steady_streams() -> None:
    """Let nothing that becomes of stdout and stderr be an error; what they have no letters for they replace."""
    sys.stdout, sys.stderr = _steady(sys.stdout), _steady(sys.stderr)


def unprinted() -> str:
    """Why something that somebody waits for did not get to stdout; empty if it did, and if nobody reads any more."""
    sys.stdout.flush()
    sink = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    error = sink.error if isinstance(sink, SteadyFile) else None
    return "" if error is None or error.errno == errno.EPIPE else error.strerror or str(error)


def _steady(stream: TextIO | None) -> TextIO:
    """The stream on a sink, if it is a file of the system's; one that the caller has closed leads nowhere."""
    if stream is None:
        return Path(os.devnull).open("w", encoding="utf-8")
    if not isinstance(stream, TextIOWrapper):
        return stream
    stream.reconfigure(errors="replace")
    try:
        sink = SteadyFile(stream.fileno(), "wb", closefd=False)
    except OSError:
        return stream
    return TextIOWrapper(
        BufferedWriter(sink),
        encoding=stream.encoding,
        errors="replace",
        line_buffering=stream.line_buffering or stream.write_through,
    )
