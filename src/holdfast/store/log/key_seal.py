"""The seal of a session's idempotency keys: one hash over all of them and where they are.

Keys are not part of the log's own chain. But a key that is changed lets a retry write twice, so the session's row has a
hash of them that every append carries on, and `verify` derives again. It says which events it counts: a session of an
earlier version, or a fork, is sealed from its next event on, and so is one to which an earlier version has appended.
"""

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

from holdfast.core import Event
from holdfast.core.chain import GENESIS

SEQ = 8
"""Bytes of a seq."""


class KeySeal(NamedTuple):
    """The hash of the keys of the events from the first to the last that it counts."""

    first: int
    last: int
    hash: bytes = GENESIS

    def stored(self) -> bytes:
        """As the session's row has it."""
        return self.first.to_bytes(SEQ) + self.last.to_bytes(SEQ) + self.hash

    def with_events(self, events: Iterable[Event]) -> "KeySeal":
        """The seal that counts the next events too; those before its first are none of its own."""
        last, sealed = self.last, self.hash
        for event in events:
            if event.seq >= self.first:
                last = event.seq
                if event.idempotency_key is not None:
                    sealed = with_key(sealed, last, event.idempotency_key)
        return KeySeal(self.first, last, sealed)


def read(stored: bytes) -> KeySeal:
    """The seal of a session's row."""
    return KeySeal(int.from_bytes(stored[:SEQ]), int.from_bytes(stored[SEQ : 2 * SEQ]), stored[2 * SEQ :])


def before(seq: int) -> KeySeal:
    """A seal that counts nothing yet, and this event next."""
    return KeySeal(seq, seq - 1)


def at_head(stored: bytes | None, head_seq: int) -> KeySeal:
    """The seal to carry on after this head; a new one if there is none, or something was appended without it."""
    found = None if stored is None else read(stored)
    return found if found is not None and found.last == head_seq else before(head_seq + 1)


def with_key(hash: bytes, seq: int, key: str | None) -> bytes:
    """The hash with the next event's key, if it has one."""
    return hash if key is None else hashlib.sha256(hash + seq.to_bytes(SEQ) + key.encode()).digest()
