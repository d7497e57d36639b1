"""Broken programs: the real one as a child, and beside it somebody who does once more what it did."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

LOOK_EVERY_SECONDS = 0.05


def sends_again(data: Path) -> None:
    """Put a second answer to a mail into the outbox, once."""
    sent = sorted((data / "outbox").glob("*.eml")) if (data / "outbox").is_dir() else []
    if sent and not any(path.stem.endswith("-again") for path in sent):
        _write(sent[0].with_name(f"{sent[0].stem}-again.eml"), sent[0].read_bytes())


def books_again(data: Path) -> None:
    """Book a flight that is booked once more, under another key, once."""
    booked = sorted((data / "bookings").glob("*.json")) if (data / "bookings").is_dir() else []
    again = data / "bookings" / "TF-000000000000.json"
    if booked and not again.exists():
        _write(again, json.dumps({**json.loads(booked[0].read_bytes()), "key": "again"}).encode())


PROGRAMS: dict[str, Callable[[Path], None]] = {"delivers-twice": sends_again, "books-twice": books_again}


def run(defect: Callable[[Path], None], words: list[str]) -> int:
    """Run the program to its end with the defect beside it; its exit code."""
    data = Path(words[words.index("--data") + 1])
    program = subprocess.Popen([sys.executable, "-m", *words])
    signal.signal(signal.SIGTERM, lambda *_: program.send_signal(signal.SIGTERM))
    while program.poll() is None:
        defect(data)
        time.sleep(LOOK_EVERY_SECONDS)
    return program.returncode


def _write(path: Path, raw: bytes) -> None:
    beside = path.with_name(f".{path.name}.tmp")
    beside.write_bytes(raw)
    beside.rename(path)
