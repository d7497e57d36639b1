"""What a log says beyond its hashes: which erasures were lawful, and which keys its events have.

The hashes still fit when the bytes of an event go and their digest stays: so each such event must be named by an event
that says so, in the same log. One that was copied from elsewhere may have been erased there.
"""

from collections.abc import Sequence

from msgspec import UNSET

from holdfast.core import Event
from holdfast.core.errors import Corrupt
from holdfast.core.event_bodies import EventsErased, read
from holdfast.store.engine import Tx
from holdfast.store.log import key_seal
from holdfast.store.log.key_seal import KeySeal
from holdfast.store.log.log_reader import Head

COPIED = "SELECT copied_seq FROM sessions WHERE session_no = ?1"


def erasure_in(event: Event) -> EventsErased | None:
    """What an event says that erases others; None if it does not say it as we do."""
    try:
        return read(event, EventsErased)
    except Corrupt:
        return None


class LogCheck:
    """Looks at every event of a log, in order, and then says whether they fit together."""

    def __init__(self) -> None:
        self._erased: set[int] = set()
        self._named: set[int] = set()
        self._unknown: set[int] = set()
        """Events that said what was erased, and were erased themselves, by versions that did not say it again."""
        self._seal: KeySeal | None = None
        self._sealed = 0
        """The last event that the session's own seal counts."""

    def begin(self, head: Head) -> None:
        """Be told of the log's head, before its next events are seen."""
        if head.key_seal is not None:
            found = key_seal.read(head.key_seal)
            self._sealed = found.last
            if self._seal is None or self._seal.first != found.first:
                self._seal = key_seal.before(found.first)

    def see(self, events: Sequence[Event]) -> None:
        """Take the next events into account."""
        for event in events:
            if event.erased is not None:
                self._erased.add(event.seq)
            if event.type == EventsErased.TYPE:
                self._take(event)
        if self._seal is not None:
            self._seal = self._seal.with_events(event for event in events if event.seq <= self._sealed)

    def _take(self, event: Event) -> None:
        if event.erased is not None:
            self._unknown.add(event.seq)
            return
        said = erasure_in(event)
        if said is None:
            raise Corrupt(f"event {event.seq} does not say which events were erased", seq=event.seq)
        self._named.update(said.seqs)
        if said.said_again is not UNSET:
            self._named.update(said.said_again)
            self._unknown.difference_update(said.seqs)

    def check(self, tx: Tx, head: Head) -> None:
        """Corrupt if an event was erased and no event says so, or if the keys are not those that were written."""
        row = tx.one(COPIED, head.session_no)
        known = max(row[0] if row else 0, *self._unknown, 0)
        for seq in sorted(self._erased - self._named):
            if seq > known:
                raise Corrupt(f"event {seq} was erased, and no event says so", seq=seq)
        if self._seal is not None and self._seal.stored() != head.key_seal:
            raise Corrupt("the session's idempotency keys are not those that were written")
