"""Batches under one idempotency key: the key names the whole batch, so a retry must be as long as the first.

Each line has a key of its own, made from the batch's and its number. A batch that has grown or shrunk since would
find some of its lines written and others not; that is another batch under the same key, and a conflict.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.core import Appended, NewEvent
from holdfast.core.errors import IdempotencyConflict
from holdfast.core.ids import MAX_NAME_LENGTH, check_session_id
from holdfast.store import Store
from holdfast.store.engine import Tx
from holdfast.store.log.append import append
from holdfast.store.log.prepare import prepare_all
from holdfast.store.log.reading import Head, head_of
from holdfast.store.log.replay import look_up

ROOM = 8
"""Characters for the number of a line and its mark."""


@dataclass(frozen=True, slots=True)
class Batch:
    """How a batch is appended."""

    key: str | None
    expected_seq: int | None
    create: bool


def line_key(key: str, number: int) -> str:
    """The idempotency key of one line of a batch: made from the batch's, or from its hash where that is too long."""
    fits = len(key) <= MAX_NAME_LENGTH - ROOM
    return f"{key if fits else hashlib.sha256(key.encode()).hexdigest()}#{number}"


async def append_batch(store: Store, session_id: str, events: Sequence[NewEvent], batch: Batch) -> Appended:
    """Append the events in one write; IdempotencyConflict if the key was used for a longer or shorter batch."""
    if not batch.key:
        return await store.append(session_id, events, expected_seq=batch.expected_seq, create=batch.create)
    check_session_id(session_id)
    part, key = store.sessions, batch.key
    prepared = prepare_all(events, part.clock, part.ids)

    def write(tx: Tx) -> Appended:
        head = head_of(tx, store.tenant, session_id)
        if head is not None:
            _check_length(tx, head, key, events)
        return append(tx, store.tenant, session_id, prepared, expected_seq=batch.expected_seq, create=batch.create)

    return await part.write(session_id, write, len(prepared))


def _check_length(tx: Tx, head: Head, key: str, events: Sequence[NewEvent]) -> None:
    ours = [event.idempotency_key for n, event in enumerate(events) if event.idempotency_key == line_key(key, n)]
    if not ours:
        return
    beyond = line_key(key, len(events))
    known = {found.idempotency_key for found in look_up(tx, head, "idempotency_key", [ours[0], ours[-1], beyond])}
    if beyond in known or (ours[0] in known) != (ours[-1] in known):
        raise IdempotencyConflict(f"{key!r} was used before, for a batch of another length", key=key)
