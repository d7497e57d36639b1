"""The program that reads transcripts: `python -m holdfast.transcripts.reader` is told which, and gives their logs.

It takes all of its orders before it gives anything, and writes to nothing but its output. It ends as soon as nobody
reads that any more.
"""

import contextlib
import io
import os
import pickle
import select
import sys
import threading
from typing import BinaryIO

from holdfast.core import HoldfastError
from holdfast.transcripts.new_session import TranscriptReader
from holdfast.transcripts.reader.frames import FrameKind, write_events, write_frame
from holdfast.transcripts.source import Transcript

OUTPUT = 1


def _main() -> None:
    threading.Thread(target=_until_alone, daemon=True).start()
    orders = io.BytesIO(sys.stdin.buffer.read())
    with contextlib.suppress(BrokenPipeError), open(OUTPUT, "wb", closefd=False) as answers:
        try:
            _answer(orders, answers)
        except BrokenPipeError:
            raise
        except Exception as error:
            write_frame(answers, FrameKind.FAILED, f"{type(error).__name__}: {error}")


def _answer(orders: BinaryIO, answers: BinaryIO) -> None:
    reader: TranscriptReader = pickle.load(orders)
    with contextlib.suppress(EOFError):
        while True:
            transcript: Transcript = pickle.load(orders)
            _read(reader, transcript, answers)
            answers.flush()


def _read(reader: TranscriptReader, transcript: Transcript, answers: BinaryIO) -> None:
    try:
        new = reader.read(transcript)
    except HoldfastError as error:
        write_frame(answers, FrameKind.REFUSED, error)
        return
    with new.log:
        write_events(answers, new.log.events())
    write_frame(answers, FrameKind.END, (new.header, new.lines, new.notes))


def _until_alone() -> None:
    """End everything once nobody is there to read what we say: also in the middle of a long file."""
    poll = select.poll()
    poll.register(OUTPUT, 0)  # that the other end was closed is told unasked
    poll.poll()
    os._exit(1)


if __name__ == "__main__":
    _main()
