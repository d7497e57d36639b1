"""Summaries: what a list says of a session beside its row. However much a session holds, a look at it is small.

A few events are looked at: the first two messages, the newest events, and the newest message. One with a large payload
is there without it. Nothing of this is checked against its hash: a damaged event must not hide a list, and whoever
opens the session is told of it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from holdfast.core import TaskState, Usage, types
from holdfast.core.statuses import OPEN_GOALS, STARTED
from holdfast.store.engine import Row, Tx
from holdfast.store.log.places import EventGlance
from holdfast.store.sessions.usage import SUMS

MOST_SUMMARIES = 100
"""Sessions that are summed up in one look."""
MOST_COUNTED = 1_000
"""As far as goals, effects and tasks of one session are counted."""
MOST_KEYS = 20
"""Session keys that are named of one session."""
MOST_PAYLOAD = 64 * 1024
NEWEST = 8
MANY_KEYS = 2_000


def _count(source: str) -> str:
    return f"(SELECT count(*) FROM (SELECT 1 FROM {source} LIMIT {MOST_COUNTED}) AS counted)"


def _message(order: str, more: str = "") -> str:
    return f"""(
        SELECT m.seq FROM transcript_event_identities m
        WHERE m.session_no = s.session_no AND m.type = '{types.MESSAGE}' ORDER BY m.seq {order} LIMIT 1 {more})"""


FIGURES = f"""
    SELECT s.session_no, s.session_id, s.head_seq,
      {_count(f"goals g WHERE g.session_no = s.session_no AND g.status IN {OPEN_GOALS}")},
      {_count("goals g WHERE g.session_no = s.session_no")},
      {_count(f"tool_effects f WHERE f.session_no = s.session_no AND f.status = '{STARTED}'")},
      {_count(f"tasks t WHERE t.session_no = s.session_no AND t.state = '{TaskState.INPUT_REQUIRED}'")},
      {_message("ASC")}, {_message("ASC", "OFFSET 1")}, {_message("DESC")}
    FROM sessions s WHERE s.tenant = ?1 AND s.life = 'live' AND s.session_id IN ({{places}})"""
"""The types and states are written out, because only then do the partial indexes serve."""
USAGE = f"SELECT u.session_no, {SUMS} FROM usage u WHERE u.session_no IN ({{places}}) GROUP BY u.session_no"
KEYS = f"""
    SELECT session_no, key FROM session_entries WHERE session_no IN ({{places}}) ORDER BY session_no, key
    LIMIT {MANY_KEYS}"""
SOME_KEYS = f"SELECT session_no, key FROM session_entries WHERE session_no = ?1 ORDER BY key LIMIT {MOST_KEYS}"
LOOK = f"""
    e.session_no, e.seq, i.type, e.created_at, CASE WHEN length(e.payload) <= {MOST_PAYLOAD} THEN e.payload END
    FROM {{source}} JOIN transcript_events e ON {{which}}
    JOIN transcript_event_identities i ON i.event_id = e.event_id AND i.session_no = e.session_no + 0"""
NEWEST_EVENTS = (
    "SELECT "
    + LOOK.format(source="sessions s", which=f"e.session_no = s.session_no AND e.seq > s.head_seq - {NEWEST}")
    + " WHERE s.session_no IN ({places})"
)
CHOSEN_EVENTS = "SELECT " + LOOK.format(
    source="(VALUES {pairs}) AS c", which="e.session_no = c.column1 AND e.seq = c.column2"
)
PAIR = "(CAST(?{} AS BIGINT), CAST(?{} AS BIGINT))"


@dataclass(slots=True)
class SessionSummary:
    """What there is to say of a session in a list. Counts go up to `MOST_COUNTED`, keys to `MOST_KEYS`."""

    open_goals: int
    goals: int
    unresolved_effects: int
    waiting_tasks: int
    keys: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    first_messages: list[EventGlance] = field(default_factory=list)
    newest: list[EventGlance] = field(default_factory=list)
    """The newest events, newest first, and after them the newest message if it is older."""


def summaries(tx: Tx, tenant: str, session_ids: Sequence[str]) -> dict[str, SessionSummary]:
    """The summaries of these sessions, by their ids; none of one that is not there."""
    found: dict[str, SessionSummary] = {}
    for some in _chunks(session_ids):
        found |= _summaries(tx, tenant, some)
    return found


def _summaries(tx: Tx, tenant: str, session_ids: Sequence[str]) -> dict[str, SessionSummary]:
    rows = tx.all(FIGURES.format(places=_places(len(session_ids), 2)), tenant, *session_ids)
    if not rows:
        return {}
    by_number = {row[0]: SessionSummary(*row[3:7]) for row in rows}
    numbers = tuple(by_number)
    places = _places(len(numbers))
    for number, usage in usage_of(tx, numbers).items():
        by_number[number].usage = usage
    for number, key in _keys(tx, numbers, places):
        by_number[number].keys.append(key)
    for row in tx.all(NEWEST_EVENTS.format(places=places), *numbers):
        by_number[row[0]].newest.append(EventGlance._make(row[1:]))
    places_of = {row[0]: row[7:10] for row in rows}
    glances = {(number, glance.seq): glance for number, each in by_number.items() for glance in each.newest}
    pairs = {(number, seq) for number, seqs in places_of.items() for seq in seqs if seq is not None}
    glances |= _chosen(tx, sorted(pairs - glances.keys()))
    for number, (first, second, last) in places_of.items():
        summary = by_number[number]
        summary.newest.sort(reverse=True)
        known = [glances.get((number, seq)) for seq in (first, second)]
        summary.first_messages = [glance for glance in known if glance is not None]
        newest_message = glances.get((number, last))
        if newest_message is not None and newest_message not in summary.newest:
            summary.newest.append(newest_message)
    return {row[1]: by_number[row[0]] for row in rows}


def usage_of(tx: Tx, numbers: Sequence[int]) -> dict[int, Usage]:
    """What was counted for each of these sessions, by their numbers; none of those without."""
    return {number: Usage(*counts) for number, *counts in tx.all(USAGE.format(places=_places(len(numbers))), *numbers)}


def _keys(tx: Tx, numbers: Sequence[int], places: str) -> list[Row]:
    """The first keys of each session."""
    rows = tx.all(KEYS.format(places=places), *numbers)
    if len(rows) == MANY_KEYS:  # some session has a great many: they must not hide the others'
        return [row for number in numbers for row in tx.all(SOME_KEYS, number)]
    return rows


def _chosen(tx: Tx, pairs: Sequence[tuple[int, int]]) -> dict[tuple[int, int], EventGlance]:
    """The events at these places: the numbers of sessions, and seqs."""
    if not pairs:
        return {}
    places = ", ".join(PAIR.format(2 * at + 1, 2 * at + 2) for at in range(len(pairs)))
    rows = tx.all(CHOSEN_EVENTS.format(pairs=places), *(number for pair in pairs for number in pair))
    return {(row[0], row[1]): EventGlance._make(row[1:]) for row in rows}


def _chunks(session_ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for at in range(0, len(session_ids), MOST_SUMMARIES):
        yield session_ids[at : at + MOST_SUMMARIES]


def _places(count: int, first: int = 1) -> str:
    return ", ".join(f"?{number}" for number in range(first, first + count))
