"""Ids that sort by the time they were made, and the rules for ids that come from outside.

An id is 128 bits, 48 of milliseconds and 80 of randomness, written as 26 characters that sort as the bits do.
Two ids of one source never compare in the wrong order, also within one millisecond.
"""

import hashlib
import re
import secrets
import threading
from collections.abc import Callable
from typing import Protocol

from holdfast.core.clock import Clock, SystemClock
from holdfast.core.errors import InvalidInput

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
PAIRS = tuple(high + low for high in ALPHABET for low in ALPHABET)

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


class TimeOrderedIds:
    """The ordinary id source; for any thread, and for a signal handler that has interrupted it."""

    def __init__(self, clock: Clock | None = None, random_bits: Callable[[int], int] = secrets.randbits) -> None:
        self._clock = clock or SystemClock()
        self._random_bits = random_bits
        self._lock = threading.RLock()
        self._last = (-1, "", 0)
        """The time of the last id, that time as text, and the bits below it."""

    def __call__(self) -> str:
        """A new id, later in sort order than every earlier one of this source."""
        now = self._clock.now()
        with self._lock:
            while True:
                last = self._last
                found = self._after(last, now)
                if self._last is last:  # else a handler was here; between this line and the next there is none
                    self._last = found
                    break
        return found[1] + pairs(found[2], 8)

    def _after(self, last: tuple[int, str, int], now: int) -> tuple[int, str, int]:
        time, text, low = last
        if now > time:
            return (now, pairs(now, 5), self._random_bits(80))
        low += 1 + self._random_bits(24)
        return (time + 1, pairs(time + 1, 5), self._random_bits(24)) if low >> 80 else (time, text, low)


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
