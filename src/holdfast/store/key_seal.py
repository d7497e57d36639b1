"""The seal of a session's idempotency keys: one hash over all of them and where they are.

Keys are not part of the log's own chain, so that an archive may carry a log without them. But a key that is changed
lets a retry write twice, so the session's row has a hash of them that every append carries on, and `verify` derives
again. It says from which event on it counts: a session of an earlier version, or a fork, is sealed from its next event.
"""

import hashlib
from collections.abc import Iterable

from holdfast.core import Event
from holdfast.core.chain import GENESIS

PLACE = 8
"""Bytes of a seq."""


def begin(first_seq: int) -> bytes:
    """The seal of no keys yet, of a log that is sealed from this event on."""
    return first_seq.to_bytes(PLACE) + GENESIS


def first_of(seal: bytes) -> int:
    """The first event that a seal counts."""
    return int.from_bytes(seal[:PLACE])


def carry_on(seal: bytes, seq: int, key: str | None) -> bytes:
    """The seal with the next event's key, if it has one."""
    if key is None:
        return seal
    return seal[:PLACE] + hashlib.sha256(seal[PLACE:] + seq.to_bytes(PLACE) + key.encode()).digest()


def of_events(seal: bytes, events: Iterable[Event]) -> bytes:
    """The seal with the keys of the next events that it counts."""
    first = first_of(seal)
    for event in events:
        if event.seq >= first:
            seal = carry_on(seal, event.seq, event.idempotency_key)
    return seal
