"""What queries find, on the wire."""

from msgspec import Struct

from holdfast.gateway.wire.types import Seq, Time


class HitView(Struct, rename="camel"):
    """An event that was found, and the text around the first match; highlights are [start, end] in the snippet.

    Of an event that is too large for its text to be read, the snippet is null.
    """

    session_id: str
    seq: Seq
    event_id: str
    type: str
    timestamp: Time
    snippet: str | None
    highlights: list[tuple[int, int]]
    size_bytes: int


class DamagedEvent(Struct, rename="camel"):
    """An event that matches but is not what was written."""

    session_id: str
    seq: Seq
    problem: str


class HitList(Struct):
    """One page of hits, newest first; `cursor` asks for the next, null at the end."""

    hits: list[HitView]
    cursor: str | None
    damaged: list[DamagedEvent]


class TokenCounts(Struct, rename="camel"):
    """What models were asked and answered."""

    calls: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost_micros: int


class Day(Struct, rename="camel"):
    """One day: the sessions that began on it, and the tokens that were used."""

    day: str
    sessions: int
    tokens: TokenCounts


class Stats(Struct, rename="camel"):
    """Totals over all sessions, and by the days on which something happened, newest first."""

    sessions: int
    by_status: dict[str, int]
    events: int
    size_bytes: int
    tokens: TokenCounts
    days: list[Day]
