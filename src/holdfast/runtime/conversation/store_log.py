"""A conversation in a session's log: which events stand for it, and what a reader makes of them.

Each message is an event with a number. Each save is another, which says what has changed: the fields, and which numbers
the conversation consists of. So one append is a whole save, and the log keeps every message that ever was. From time to
time a save has all fields, so that no reader needs more than the last few.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from holdfast.core import Event, NewEvent
from holdfast.core.errors import Corrupt
from holdfast.models.messages import PromptMessage as Message
from holdfast.runtime.conversation.known_types import look_at
from holdfast.runtime.conversation.storage import FORMAT, check_format, message_document, messages_from

MESSAGE = "conversation.message"
SAVED = "conversation.saved"
WHOLE_EVERY = 64

Spans = list[list[int]]
"""Numbers of messages in their order, as spans from a first to a last one."""


class ListChange(msgspec.Struct):
    """What became of a list: its last `kept` items, and then the new ones."""

    kept: int
    added: list[Any]


class Saved(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One save."""

    format: int = 0
    revision: int
    whole: bool = False
    """All fields are here, not only those that have changed."""
    since_whole: int = 0
    fields: dict[str, Any] = {}
    dropped: list[str] = []
    lists: dict[str, ListChange] = {}
    live: Spans = []
    removed: Spans = []
    """What compactions removed, and what was taken back."""
    taken_back: Spans = []
    """What of it was taken back."""
    last: int = 0
    """The number of the last message."""
    after: int = 0
    """A seq after which all the live messages are."""


look_at(Saved)


@dataclass(frozen=True, slots=True)
class NumberedMessage:
    """A message, its number, and where it is in the log."""

    number: int
    seq: int
    message: Message


@dataclass(slots=True)
class LogState:
    """What a log says of a conversation."""

    saved: Saved = field(default_factory=lambda: Saved(revision=0))
    fields: dict[str, Any] = field(default_factory=dict)
    live: list[NumberedMessage] = field(default_factory=list)


def message_event(number: int, message: Message) -> NewEvent:
    """The event of a message."""
    return NewEvent(MESSAGE, {"number": number, **message_document(message)})


def saved_event(saved: Saved) -> NewEvent:
    """The event of a save."""
    return NewEvent(SAVED, msgspec.to_builtins(saved))


def read_saved(event: Event) -> Saved:
    """What a save says; Corrupt if it is none."""
    try:
        saved = msgspec.convert(event.value(), Saved)
    except msgspec.ValidationError as error:
        raise Corrupt(f"event {event.seq} is not the save of a conversation: {error}", seq=event.seq) from error
    check_format(saved.format, f"event {event.seq}")
    return saved


def read_messages(events: Iterable[Event], spans: Spans) -> list[NumberedMessage]:
    """The messages with these numbers, in their order; Corrupt if one is not there. Erased ones are left out."""
    found: dict[int, NumberedMessage] = {}
    erased = 0
    for event in events:
        if event.erased is not None:
            erased += 1
            continue
        document = event.value()
        number = document.pop("number")
        found[number] = NumberedMessage(number, event.seq, messages_from([document], f"event {event.seq}")[0])
    wanted = [number for first, last in spans for number in range(first, last + 1)]
    missing = [number for number in wanted if number not in found]
    if len(missing) > erased:
        raise Corrupt(f"message {missing[0]} of the conversation is not in its log")
    return [found[number] for number in wanted if number in found]


def fields_after(saves: Sequence[Saved]) -> dict[str, Any]:
    """The fields after some saves, of which the first has all."""
    fields: dict[str, Any] = {}
    for saved in saves:
        if saved.whole:
            fields = {}
        fields |= saved.fields
        for name, change in saved.lists.items():
            before = fields.get(name, [])
            fields[name] = [*before[len(before) - change.kept :], *change.added]
        for name in saved.dropped:
            fields.pop(name, None)
    return fields


def next_save(state: LogState, fields: dict[str, Any], live: Spans, removed: Spans, last: int, *, whole: bool) -> Saved:
    """The save that leads from a state to these fields and messages, of which some were removed."""
    since = 0 if whole else state.saved.since_whole + 1
    whole = whole or not state.fields or since >= WHOLE_EVERY
    saved = Saved(
        format=FORMAT,
        revision=state.saved.revision + 1,
        whole=whole,
        since_whole=0 if whole else since,
        live=live,
        removed=[*state.saved.removed, *removed],
        last=last,
        fields=fields if whole else {},
    )
    if not whole:
        changed = {name: value for name, value in fields.items() if state.fields.get(name, msgspec.UNSET) != value}
        saved.dropped = [name for name in state.fields if name not in fields]
        saved.lists = {
            name: _list_change(state.fields[name], value)
            for name, value in changed.items()
            if isinstance(value, list) and isinstance(state.fields.get(name), list)
        }
        saved.fields = {name: value for name, value in changed.items() if name not in saved.lists}
    return saved


def spans_of(numbers: Sequence[int]) -> Spans:
    """Some numbers as spans."""
    spans: Spans = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return spans


def without(spans: Spans, others: Spans) -> Spans:
    """The numbers of some spans that are not in the others."""
    left_out = {number for first, last in others for number in range(first, last + 1)}
    return spans_of([n for first, last in spans for n in range(first, last + 1) if n not in left_out])


def _list_change(before: list[Any], after: list[Any]) -> ListChange:
    for kept in range(min(len(before), len(after)), 0, -1):
        if before[-kept:] == after[:kept]:
            return ListChange(kept, after[kept:])
    return ListChange(0, after)
