"""What a log says beyond its hashes: which erasures were lawful, and which keys its events have.

The hashes still fit when the bytes of an event go and their digest stays: so each such event must be named by an event
that says so, in the same log. One that was copied from elsewhere may have been erased there.
"""

from collections.abc import Sequence

from holdfast.core import Event, types
from holdfast.core.errors import Corrupt
from holdfast.store import key_seal
from holdfast.store.engine import Tx
from holdfast.store.reading import Head

COPIED = "SELECT copied_seq FROM sessions WHERE session_no = ?1"


class LogCheck:
    """Looks at every event of a log, in order, and then says whether they fit together."""

    def __init__(self) -> None:
        self._erased: set[int] = set()
        self._named: set[int] = set()
        self._unknown = 0
        """The last event that said what was erased, and was erased itself."""
        self._seal: bytes | None = None

    def begin(self, head: Head) -> None:
        """Be told of the log's head, before its next events are seen."""
        if self._seal is None and head.key_seal is not None:
            self._seal = key_seal.begin(key_seal.first_of(head.key_seal))

    def see(self, events: Sequence[Event]) -> None:
        """Take the next events into account."""
        for event in events:
            if event.erased is not None:
                self._erased.add(event.seq)
            if event.type == types.EVENTS_ERASED:
                if event.erased is None:
                    self._named.update(event.value()["seqs"])
                else:
                    self._unknown = event.seq
        if self._seal is not None:
            self._seal = key_seal.of_events(self._seal, events)

    def check(self, tx: Tx, head: Head) -> None:
        """Corrupt if an event was erased and no event says so, or if the keys are not those that were written."""
        row = tx.one(COPIED, head.session_no)
        known = max(row[0] if row else 0, self._unknown)
        for seq in sorted(self._erased - self._named):
            if seq > known:
                raise Corrupt(f"event {seq} was erased, and no event says so", seq=seq)
        if head.key_seal is not None and self._seal != head.key_seal:
            raise Corrupt("the session's idempotency keys are not those that were written")
