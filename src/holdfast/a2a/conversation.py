"""The conversation so far, read from a session's log.

A turn sees every message that was committed before its own, and every message of a turn that has ended since; a
message that waits behind it belongs to a later turn. Messages stand where their turn ended, so that each answer
follows its question also when questions came faster than answers.

What a compaction stands for is not read again: the conversation begins with its summary, as a message of the user, and
goes on with the messages after it. So a turn reads as much as its prompt may hold, however long the log is.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import msgspec

from holdfast.a2a import records
from holdfast.a2a.handler import PastMessage
from holdfast.a2a.rpc import RpcError
from holdfast.a2a.wire import Message, Role, TextPart, text_of
from holdfast.core import Event, Snapshot, TaskState, strict_json, types
from holdfast.store import Store

READ = (types.MESSAGE, types.TASK_UPDATED)
MARK = "[COMPACTED CONTEXT]"
"""How the message begins that stands for older ones."""


class Summary(msgspec.Struct, rename="camel"):
    """The document of a compaction as we know it: its words, and the parts of the files that it still names."""

    text: str
    files: list[dict[str, Any]] = []


@dataclass(frozen=True, slots=True)
class Conversation:
    """What was said before a turn, and the seq of the message that began it."""

    history: tuple[PastMessage, ...]
    message_seq: int


@dataclass(frozen=True, slots=True)
class Older:
    """The part of a conversation that may be summed up, and what stays: the log up to `last_seq`, and after it.

    `summary` is that of the compaction which stands for what came before, None if there was none.
    """

    summary: Any
    messages: tuple[PastMessage, ...]
    kept: tuple[PastMessage, ...]
    last_seq: int


async def before(store: Store, session_id: str, task_id: str) -> Conversation:
    """The conversation as the turn of a task finds it."""
    found = await _read(store, session_id, task_id)
    history = tuple(_past(message) for _, message in found.past)
    if found.compaction is not None:
        history = (summary_message(found.compaction.document), *history)
    return Conversation(history, found.own)


async def older(store: Store, session_id: str, task_id: str, *, keep: int) -> Older | None:
    """What of a turn's conversation may be summed up, if at least the last `keep` messages stay; None if nothing may.

    No message that a turn has yet to answer is among it, and none that stays stands before one that goes.
    """
    found = await _read(store, session_id, task_id)
    seqs = [seq for seq, _ in found.past]
    highest = list(accumulate(seqs, max))
    lowest = list(accumulate([found.open_seq, *reversed(seqs)], min))[::-1]
    for cut in range(len(seqs) - keep, 0, -1):
        if highest[cut - 1] < lowest[cut]:
            messages = [_past(message) for _, message in found.past]
            summary = None if found.compaction is None else found.compaction.document
            return Older(summary, tuple(messages[:cut]), tuple(messages[cut:]), highest[cut - 1])
    return None


def summary_message(document: Any) -> PastMessage:
    """A compaction's summary, as the message that stands for what it sums up; one that others made has any shape."""
    try:
        summary = msgspec.convert(document, Summary)
        files = records.parts_in(summary.files)
    except (msgspec.ValidationError, RpcError):
        summary = Summary(document if isinstance(document, str) else strict_json.dump(document).decode())
        files = ()
    words = summary.text if summary.text.startswith(MARK) else f"{MARK}\n{summary.text}"
    return PastMessage(Role.USER, words, (TextPart(words), *files))


def past_message(event: Event) -> PastMessage | None:
    """The message that an event is, if it is one."""
    message = records.message_in(event)
    return None if message is None else _past(message)


@dataclass(frozen=True, slots=True)
class _Found:
    """The messages before a turn in their order, each with its seq; and the first that is yet to be answered."""

    compaction: Snapshot | None
    past: list[tuple[int, Message]]
    own: int
    open_seq: int


async def _read(store: Store, session_id: str, task_id: str) -> _Found:
    compaction = await store.checkpoints.newest_compaction(session_id)
    after = compaction.last_seq if compaction else 0
    events = await store.read(session_id, after=after, types=READ)
    if after and _own(_messages(events), task_id) is None:
        # Somebody else summed up a message that was still to be answered.
        events = await store.read(session_id, types=READ)
    said, ends = _messages(events), _ends(events)
    own = _own(said, task_id)
    assert own is not None

    def end_of(seq: int, message: Message) -> int | None:
        """The seq at which the turn of a message ended, if it did."""
        found = ends.get(message.task_id, [])
        number = bisect_left(found, seq)
        return found[number] if number < len(found) else None

    placed, waiting = [], []
    for seq, message in said:
        end = end_of(seq, message)
        if seq < own or (message.task_id != task_id and (end is not None or message.task_id is None)):
            placed.append((seq if end is None else end, seq, message))
        if seq == own or (end is None and message.task_id is not None):
            waiting.append(seq)
    placed.sort(key=lambda entry: entry[:2])
    past = [(seq, message) for _, seq, message in placed if seq > after]
    return _Found(compaction, past, own, min(waiting))


def _own(said: Sequence[tuple[int, Message]], task_id: str) -> int | None:
    # A task that asked back has several messages: the turn answers the last.
    return max((seq for seq, message in said if message.task_id == task_id and message.role is Role.USER), default=None)


def _past(message: Message) -> PastMessage:
    return PastMessage(message.role, text_of(message.parts), message.parts)


def _messages(events: Sequence[Event]) -> list[tuple[int, Message]]:
    found = ((event.seq, records.message_in(event)) for event in events if event.type == types.MESSAGE)
    return [(seq, message) for seq, message in found if message is not None]


def _ends(events: Sequence[Event]) -> dict[str | None, list[int]]:
    """The seqs at which each task came to rest, in order: a task that asked back does so more than once."""
    found: dict[str | None, list[int]] = {}
    for event in events:
        if event.type == types.TASK_UPDATED and event.erased is None:
            change = event.value()
            if not TaskState(change["state"]).running:
                found.setdefault(change["taskId"], []).append(event.seq)
    return found
