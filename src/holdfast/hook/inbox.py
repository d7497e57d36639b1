"""The inbox: records that hooks have left, in order, until the courier has delivered them.

It has the segments and the position of a spool (`client.segments`), but many processes append to it, each once in its
life: a record is one write to the newest segment. Two locks keep that safe. Whoever appends shares the door; the
courier shuts it for the moment in which it begins a new segment and removes an old one, and only then. The other lock
says that a courier runs. The kernel lets go of both, however a process ends.
"""

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from holdfast.client import segments
from holdfast.client.places import address, default_folder
from holdfast.client.segments import MARK, SpoolLine, SpoolPlace

INBOX = "inbox"
DOOR = "door"
COURIER = "courier"
MOST_BYTES = 64 * 1024 * 1024
SEGMENT_BYTES = 1024 * 1024
DOOR_SECONDS = 0.5
"""How long to wait for a courier that has shut the door: it may have been stopped just then."""
LOOK_SECONDS = 0.25
"""How long somebody who only looks whether there is a courier may be in the way of one that begins."""
AGAIN_SECONDS = 0.002


def folder_of(environ: dict[str, str]) -> Path:
    """The inbox for the service and the token of an environment; OSError if there is no place for one."""
    given = environ.get("HOLDFAST_SPOOL")
    found = Path(given).absolute() if given else default_folder(environ, *address(environ))
    if found is None:
        raise OSError(errno.ENOENT, "there is no home folder; name one for the spool: HOLDFAST_SPOOL")
    return found / INBOX


def append(folder: Path, record: bytes, most: int = MOST_BYTES) -> None:
    """Keep a record, a line without its end; OSError if the disk, or the inbox, has no room for it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    line = MARK + record + b"\n"
    with _door(folder, fcntl.LOCK_SH):
        number, last, whole = _ends(folder)
        if whole + len(line) > most:
            raise OSError(errno.ENOSPC, f"the inbox is full: {whole:,} bytes wait for the service", str(folder))
        file = segments.create(folder, number + (last >= SEGMENT_BYTES))
        try:
            if os.write(file, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))
        finally:
            os.close(file)


def is_empty(folder: Path) -> bool:
    """Whether nothing waits to be delivered."""
    place = segments.read_position(folder)
    return all(
        segments.measure_segment(folder, number, place.offset if number == place.segment else 0).size == 0
        for number in segments.numbers(folder)
        if number >= place.segment
    )


def has_courier(folder: Path) -> bool:
    """Whether a courier runs: it will look at what was appended before this was asked."""
    try:
        lock = os.open(folder / COURIER, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


@contextmanager
def only_courier(folder: Path) -> Iterator[bool]:
    """Be the one courier; False if another one is."""
    lock = os.open(folder / COURIER, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            _take(lock, fcntl.LOCK_EX, LOOK_SECONDS)
        except BlockingIOError:
            yield False
        else:
            os.ftruncate(lock, 0)
            os.write(lock, b"%d\n" % os.getpid())
            yield True
    finally:
        os.close(lock)


def courier_of(folder: Path) -> int | None:
    """The process that is the courier; None if there is none."""
    try:
        return int((folder / COURIER).read_bytes()) if has_courier(folder) else None
    except (OSError, ValueError):
        return None


class InboxReader:
    """The inbox as the courier sees it: the oldest records, until they are settled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._place = segments.read_position(folder)
        found = segments.numbers(folder)
        if found and self._place.segment > found[-1]:  # somebody has removed what the position is about
            self._place = SpoolPlace(found[0], 0)
        for number in found:
            if number < self._place.segment:  # whoever was settling it was killed
                (folder / segments.name(number)).unlink(missing_ok=True)

    def peek(self, most: int) -> list[SpoolLine]:
        """The oldest records that are not settled, at most so many, all of one segment."""
        while True:
            try:
                found = segments.read_lines(self.folder, self._place, None, most)
            except FileNotFoundError:
                found = []
            if found or not self._pass_on():
                return found

    def settle(self, line: SpoolLine) -> None:
        """This record, and those before it, are done with."""
        self._place = line.end
        segments.write_position(self.folder, self._place)

    def tidy(self) -> None:
        """Remove what was delivered, once nothing waits: it was said in confidence."""
        if self._place.offset:
            self._pass_on(even_if_last=True)

    def _pass_on(self, *, even_if_last: bool = False) -> bool:
        """Go on to the next segment, if this one is over: there is a later one, or there shall be.

        Not while somebody appends: he may have chosen this one.
        """
        later = [number for number in segments.numbers(self.folder) if number > self._place.segment]
        if not later and not even_if_last:
            return False
        try:
            with _door(self.folder, fcntl.LOCK_EX):
                before = self._place
                left = segments.measure_segment(self.folder, before.segment, before.offset)
                if left.lines:
                    return True
                if not later:
                    os.close(segments.create(self.folder, before.segment + 1))
                self._place = SpoolPlace(min(later, default=before.segment + 1), 0)
                segments.write_position(self.folder, self._place)
                (self.folder / segments.name(before.segment)).unlink(missing_ok=True)
        except BlockingIOError:
            return False
        return True


@contextmanager
def _door(folder: Path, how: int) -> Iterator[None]:
    file = os.open(folder / DOOR, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _take(file, how, DOOR_SECONDS)
        yield
    finally:
        os.close(file)


def _take(file: int, how: int, seconds: float) -> None:
    """Take a lock; BlockingIOError if that is not possible in so many seconds."""
    until = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(file, how | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > until:
                raise
        time.sleep(AGAIN_SECONDS)


def _ends(folder: Path) -> tuple[int, int, int]:
    """The newest segment, its size, and the size of all; segment 1 if there is none."""
    sizes = {number: (folder / segments.name(number)).stat().st_size for number in segments.numbers(folder)}
    newest = max(sizes, default=segments.read_position(folder).segment)
    return newest, sizes.get(newest, 0), sum(sizes.values())
