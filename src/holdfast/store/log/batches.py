"""Batches under one idempotency key: the key names the whole batch, so a retry must be as long as the first.

Each event without a key gets one of its own, made from the batch's and its number. A batch that has grown or shrunk
since would find some of its events written and others not; that is another batch under the same key, and a conflict.
"""

import hashlib
from collections.abc import Sequence

from holdfast.core.errors import IdempotencyConflict
from holdfast.core.ids import MAX_NAME_LENGTH, check_name
from holdfast.store.engine import Tx
from holdfast.store.log.log_reader import head_of
from holdfast.store.log.prepare import PreparedEvent, check_key
from holdfast.store.log.replay import SMALL_PAYLOAD, look_up

ROOM = 8
"""Characters for the number of an event and its mark."""


class BatchKey:
    """The key of one batch."""

    def __init__(self, key: str) -> None:
        """InvalidInput if a caller may not use such a key."""
        check_key(key)
        self.key = check_name(key, "an idempotency key")
        fits = len(key) <= MAX_NAME_LENGTH - ROOM
        self._stem = key if fits else hashlib.sha256(key.encode()).hexdigest()

    def give(self, events: Sequence[PreparedEvent]) -> tuple[PreparedEvent, ...]:
        """The events, each with a key."""
        return tuple(
            event._replace(idempotency_key=event.idempotency_key or self._line(number))
            for number, event in enumerate(events)
        )

    def check_length(self, tx: Tx, tenant: str, session_id: str, events: Sequence[PreparedEvent]) -> None:
        """IdempotencyConflict if the key was used for a longer or shorter batch."""
        head = head_of(tx, tenant, session_id)
        ours = [event.idempotency_key for n, event in enumerate(events) if event.idempotency_key == self._line(n)]
        if head is None or not ours:
            return
        first, last, beyond = ours[0], ours[-1], self._line(len(events))
        known = {
            found.idempotency_key
            for found in look_up(tx, head, "idempotency_key", [first, last, beyond], SMALL_PAYLOAD)
        }
        if beyond in known or (first in known) != (last in known):
            raise IdempotencyConflict(f"{self.key!r} was used before, for a batch of another length", key=self.key)

    def _line(self, number: int) -> str:
        return f"{self._stem}#{number}"
