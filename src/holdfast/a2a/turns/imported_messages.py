"""Messages of sessions that were imported from our older layout, as a turn sees them.

Such an event is an entry as its file had it: `{"type", "id", "parentId", "message": {"role", "content"}}`. Entries are
a tree: what counts is the way from the newest one back to its root, or to the last reset. What lies beside that way was
given up by whoever talked, and is in the log but no part of the conversation. What tools were asked and said is text.

A compaction stands for what came before the entry that it names as the first that is kept: the newest one's summary is
told in its place. The summary of a branch that was given up is told where it stands.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, Struct, UnsetType

from holdfast.a2a.protocol.wire import Message, Role, TextPart
from holdfast.core import Event, types
from holdfast.models.messages import SUMMARY_MARK

RESET = "reset"
COMPACTION = "compaction"
BRANCH = "branch_summary"
ENTRIES = ("custom", COMPACTION, BRANCH, RESET)
"""The types of entries that nobody said, but that stand in a conversation's way back."""
USER = "user"
SYSTEM = "system"


class _Said(Struct):
    role: str
    content: Any


class _Entry(Struct, rename="camel"):
    type: str
    id: str
    parent_id: str | UnsetType | None = UNSET
    message: _Said | None = None
    summary: Any = None
    first_kept_entry_id: Any = None


class ImportedEntries(NamedTuple):
    """Which imported entries are no part of the conversation, by seq; and what is told instead, and at which seq."""

    left_behind: set[int]
    summaries: list[tuple[int, Message]]


def imported_message(value: Any) -> Message | None:
    """The message that an entry is; None if it is none that anybody said."""
    entry = _entry(value)
    if entry is None or entry.message is None or entry.message.role == SYSTEM:
        return None
    from holdfast.transcripts import words_of

    words = words_of(value, most=None)
    role = Role.USER if entry.message.role == USER else Role.AGENT
    return Message(role, entry.id, (TextPart(words),)) if words else None


def imported_entries(events: Iterable[Event]) -> ImportedEntries:
    """What of the imported entries counts: not those on other branches, before a reset, or that were summed up."""
    found = [(event.seq, _entry(event.value())) for event in events if event.type in (types.MESSAGE, *ENTRIES)]
    entries = [(seq, entry) for seq, entry in found if entry is not None]
    way = _way_back(entries)
    summaries = [(seq, _summary(entry)) for seq, entry in way if entry.type == BRANCH and _has_summary(entry)]
    compacted = [place for place, (_, entry) in enumerate(way) if entry.type == COMPACTION and _has_summary(entry)]
    if compacted:
        last = compacted[-1]
        first = _first_kept(way, last)
        summaries = [(seq, said) for seq, said in summaries if seq >= way[first][0]]
        place = way[first][0] - (first < last)  # before the first that is kept
        summaries.insert(0, (place, _summary(way[last][1])))
        way = way[first:]
    return ImportedEntries({seq for seq, _ in entries} - {seq for seq, _ in way}, summaries)


def _first_kept(way: Sequence[tuple[int, _Entry]], compaction: int) -> int:
    """The place of the first entry that a compaction keeps; all are kept if it names one that is not there."""
    named = way[compaction][1].first_kept_entry_id
    if named is None:
        return compaction
    return next((place for place, (_, entry) in enumerate(way[:compaction]) if entry.id == named), 0)


def _has_summary(entry: _Entry) -> bool:
    return isinstance(entry.summary, str) and bool(entry.summary.strip())


def _summary(entry: _Entry) -> Message:
    return Message(Role.USER, entry.id, (TextPart(f"{SUMMARY_MARK}\n{entry.summary}"),))


def _way_back(entries: Sequence[tuple[int, _Entry]]) -> list[tuple[int, _Entry]]:
    """The entries from the root, or the last reset, to the newest."""
    linked = any(isinstance(entry.parent_id, str) for _, entry in entries)
    places: dict[str, int] = {}
    parents: list[int] = []
    for place, (_, entry) in enumerate(entries):
        is_root = linked and entry.parent_id is None
        before = places.get(entry.parent_id, place - 1) if isinstance(entry.parent_id, str) else place - 1
        parents.append(-1 if is_root or entry.type == RESET else before)
        places[entry.id] = place
    way: list[tuple[int, _Entry]] = []
    place = len(entries) - 1
    while place >= 0:
        way.append(entries[place])
        place = parents[place]
    return way[::-1]


def _entry(value: Any) -> _Entry | None:
    try:
        return msgspec.convert(value, _Entry)
    except msgspec.ValidationError:
        return None
