"""Ids that sort by the time they were made, and the rules for ids that come from outside.

An id is 128 bits, 48 of milliseconds and 80 of randomness, written as 26 characters that sort as the bits do.
Two ids of one source never compare in the wrong order, also within one millisecond.
"""

import hashlib
import os
import re
import secrets
import threading
from array import array
from collections.abc import Callable, Sequence
from typing import Protocol

from holdfast.core.clock import Clock, SystemClock
from holdfast.core.errors import InvalidInput

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
PAIRS = tuple(high + low for high in ALPHABET for low in ALPHABET)

LOW_BITS = 80
"""Of an id, below its time."""
STEP_BITS = 24
"""The next id of the same time is later by a random number of so many bits."""
DRAWN_BYTES = 4_096
"""Random bytes that the system is asked for at once."""
HEAD_PAIRS, TAIL_PAIRS = 10, 3
TAIL_BITS = 10 * TAIL_PAIRS

TIME_ORDERED = re.compile(rf"[{ALPHABET}]{{26}}\Z")
SESSION_ID = re.compile(r"[A-Za-z0-9._:-]{1,200}\Z")
TENANT = re.compile(r"[A-Za-z0-9._-]{1,64}\Z")
MAX_NAME_LENGTH = 512
MAX_NAMES_BYTES = 2_560
"""In UTF-8, of names that together name one thing: an entry of an index has 2,704 bytes at most, in PostgreSQL."""


class IdSource(Protocol):
    """Makes ids that were never made before."""

    def __call__(self) -> str:
        """A new id, later in sort order than every earlier one of this source."""
        ...


class DrawnBits:
    """Random numbers from bytes that the system is asked for rarely, because asking takes longer than making an id.

    A forked process asks anew, so it never has the numbers of its parent.
    """

    def __init__(self, draw: Callable[[int], bytes] = os.urandom) -> None:
        self._draw = draw
        self._bytes = b""
        self._taken = 0
        self._process = -1

    def __call__(self, count: int) -> int:
        """A random number of so many bits."""
        size = (count + 7) // 8
        start, process = self._taken, os.getpid()
        if start + size > len(self._bytes) or process != self._process:
            self._bytes, self._process, start = self._draw(max(size, DRAWN_BYTES)), process, 0
        self._taken = start + size
        return int.from_bytes(self._bytes[start : start + size]) >> 8 * size - count


class TimeOrderedIds:
    """The ordinary id source; for any thread, and for a signal handler that has interrupted it."""

    def __init__(self, clock: Clock | None = None, random_bits: Callable[[int], int] | None = None) -> None:
        self._clock = clock or SystemClock()
        self._random_bits = random_bits or DrawnBits()
        self._lock = threading.RLock()
        self._last = (-1, 0, "")
        """The time of the last id, the bits below it, and its text without the last of them, which the next one often
        shares."""

    def __call__(self) -> str:
        """A new id, later in sort order than every earlier one of this source."""
        return self.many(1)[0]

    def many(self, count: int) -> list[str]:
        """So many new ids at once, which takes a fraction of the time."""
        now = self._clock.now()
        with self._lock:
            while True:
                last = self._last
                made, newest = self._after(last, now, count)
                if self._last is last:  # else a handler was here; between this line and the next there is none
                    self._last = newest
                    return made

    def _after(self, last: tuple[int, int, str], now: int, count: int) -> tuple[list[str], tuple[int, int, str]]:
        time, low, head = last
        made: list[str] = []
        if now > time and count:
            time, low = now, self._random_bits(LOW_BITS)
            head = _head(time, low)
            made.append(head + pairs(low, TAIL_PAIRS))
        for step in self._steps(count - len(made)):
            before = low >> TAIL_BITS
            low += 1 + step
            if low >> LOW_BITS:
                time, low = time + 1, self._random_bits(STEP_BITS)
            if low >> TAIL_BITS != before:
                head = _head(time, low)
            made.append(head + PAIRS[low >> 20 & 1023] + PAIRS[low >> 10 & 1023] + PAIRS[low & 1023])
        return made, (time, low, head)

    def _steps(self, count: int) -> Sequence[int]:
        """So many random numbers below 2 to the power of STEP_BITS, drawn at once: to draw is what takes longest."""
        if count < 2:
            return [self._random_bits(STEP_BITS) for _ in range(count)]
        drawn = array("I", self._random_bits(32 * count).to_bytes(4 * count))
        return [each >> 32 - STEP_BITS for each in drawn]


def _head(time: int, low: int) -> str:
    return pairs(time << LOW_BITS - TAIL_BITS | low >> TAIL_BITS, HEAD_PAIRS)


def draw_ids(ids: IdSource, count: int) -> list[str]:
    """So many new ids of a source, each later in sort order than the one before."""
    return ids.many(count) if isinstance(ids, TimeOrderedIds) else [ids() for _ in range(count)]


def later_id(earlier: str, random_bits: Callable[[int], int] = secrets.randbits) -> str:
    """A new id that sorts behind one of any source, whatever the clocks say."""
    bits = 0
    for character in earlier:
        bits = bits << 5 | ALPHABET.index(character)
    return pairs(bits + 1 + random_bits(64), 13)


def pairs(bits: int, count: int) -> str:
    """The lowest 10 × `count` bits, two characters for every ten, most significant first."""
    text = PAIRS[bits & 1023]
    for _ in range(count - 1):
        bits >>= 10
        text = PAIRS[bits & 1023] + text
    return text


def check_session_id(session_id: str) -> str:
    """The id itself, or InvalidInput: ids end up in paths and URLs, so their alphabet is small."""
    if not isinstance(session_id, str) or not SESSION_ID.match(session_id) or session_id in {".", ".."}:
        raise InvalidInput(
            f"{session_id!r:.80} is not a session id",
            hint="1 to 200 characters of A-Z a-z 0-9 . _ : - and not '.' or '..'",
        )
    return session_id


def check_tenant(tenant: str) -> str:
    """The tenant's name itself, or InvalidInput."""
    if not isinstance(tenant, str) or not TENANT.match(tenant):
        raise InvalidInput(f"{tenant!r:.80} is not a tenant", hint="1 to 64 characters of A-Z a-z 0-9 . _ -")
    return tenant


def check_name(text: str, what: str) -> str:
    """Text that is used as a key (event id, idempotency key, type, holder), or InvalidInput."""
    if isinstance(text, str) and 0 < len(text) <= MAX_NAME_LENGTH and text.isascii() and "\0" not in text:
        return text  # nearly all of them
    if not isinstance(text, str) or not 0 < len(text) <= MAX_NAME_LENGTH:
        raise InvalidInput(f"{what} must be 1 to {MAX_NAME_LENGTH} characters of text, not {text!r:.80}")
    if "\0" in text:
        raise InvalidInput(f"{what} must not contain a NUL character")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{what} must not contain a lone surrogate") from None
    return text


def check_together(what: str, *names: str) -> None:
    """InvalidInput if names that together name one thing are too long for an index, on whichever engine."""
    size = sum(len(name.encode()) for name in names)
    if size > MAX_NAMES_BYTES:
        raise InvalidInput(
            f"{what} have {size} bytes together, and may have {MAX_NAMES_BYTES}",
            hint="a shorter name, or the hash of a long one",
            limit=MAX_NAMES_BYTES,
        )


def session_id_for(text: str) -> str:
    """A session id for any text: the text itself where it fits, else a name made from its hash."""
    if SESSION_ID.match(text) and text not in {".", ".."}:
        return text
    return "h-" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
