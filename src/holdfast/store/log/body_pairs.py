"""Bodies under one name, compared as JSON values.

The same bytes are the same value. Where they differ, both have to be parsed, and a lane does so only for as many as it
has done at once. What is more, or larger, `UndecidedBodies` names: whoever waits for the write has it compared
elsewhere, and the write runs again and finds the outcome in its transaction. Bodies in a log never change, so that
stays true.
"""

import hashlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import NamedTuple

from holdfast.core import strict_json
from holdfast.core.large_json import LargeJson
from holdfast.store.engine import DecidedBodies, Tx

IN_LANE = 64 * 1024
"""The bytes of bodies that one write compares itself."""
AT_ONCE = 16 * 1024 * 1024
"""The bytes that are compared together elsewhere, unless one alone has more."""

PAYLOAD = "SELECT payload FROM transcript_events WHERE session_no = ?1 AND seq = ?2"
TENANT = "SELECT tenant FROM sessions WHERE session_no = ?1"


class KeptBody(NamedTuple):
    """The body of an event in a log: where it is."""

    session_no: int
    seq: int


class BodyPair(NamedTuple):
    """Two bodies that may be the same value; the first may be left where it is."""

    first: KeptBody | bytes
    size: int
    second: bytes

    @property
    def name(self) -> tuple[KeptBody | bytes, bytes]:
        """What the outcome is known by."""
        first = self.first if isinstance(self.first, KeptBody) else hashlib.sha256(self.first).digest()
        return first, hashlib.sha256(self.second).digest()


class UndecidedBodies(Exception):
    """Bodies that no lane compares; nothing was written."""

    def __init__(self, tenant: str, pairs: Sequence[BodyPair]) -> None:
        super().__init__(f"{len(pairs)} bodies are to be compared elsewhere")
        self.tenant = tenant
        self.pairs = pairs


class BodyPairs:
    """The comparisons of one write; what cannot be told yet is taken for the same until `settle`."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self._left = IN_LANE
        self._undecided: list[BodyPair] = []

    def same(self, first: KeptBody | bytes, size: int, second: bytes) -> bool:
        """Whether two bodies are the same value."""
        large = size + len(second) > self._left
        if size == len(second) or not large:
            known = self._tx.one(PAYLOAD, *first)[0] if isinstance(first, KeptBody) else first  # type: ignore[index]
            if known == second:
                return True
            if not large:
                self._left -= size + len(second)
                return strict_json.same_value(known, second)
        pair = BodyPair(first, size, second)
        outcome = self._tx.decided.get(pair.name)
        if outcome is None:
            self._undecided.append(pair)
        return outcome is not False

    def settle(self, session_no: int) -> None:
        """Return if all was told; else UndecidedBodies."""
        if self._undecided:
            (tenant,) = self._tx.one(TENANT, session_no) or ("",)
            raise UndecidedBodies(tenant, self._undecided)


async def decide(
    undecided: UndecidedBodies,
    elsewhere: LargeJson,
    read: Callable[[Callable[[Tx], list[bytes]]], Awaitable[list[bytes]]],
) -> DecidedBodies:
    """Which of the pairs are the same value, up to the first that is not."""
    decided: DecidedBodies = {}
    for portion in _portions(undecided.pairs):
        firsts = await read(lambda tx, portion=portion: [_body(tx, pair.first) for pair in portion])  # type: ignore[misc]
        known = await elsewhere.digests(firsts, undecided.tenant)
        asked = await elsewhere.digests([pair.second for pair in portion], undecided.tenant)
        for pair, first, second in zip(portion, known, asked, strict=True):
            decided[pair.name] = first == second
            if first != second:
                return decided
    return decided


def _portions(pairs: Sequence[BodyPair]) -> Iterator[list[BodyPair]]:
    portion: list[BodyPair] = []
    size = 0
    for pair in pairs:
        size += max(pair.size, len(pair.second))
        if portion and size > AT_ONCE:
            yield portion
            portion, size = [], max(pair.size, len(pair.second))
        portion.append(pair)
    yield portion


def _body(tx: Tx, first: KeptBody | bytes) -> bytes:
    if not isinstance(first, KeptBody):
        return first
    row = tx.one(PAYLOAD, *first)
    return b"null" if row is None else bytes(row[0])  # of an event that has gone since, nothing will be asked again
