"""The conversation so far, read from a session's log.

A turn sees every message that was committed before its own, and every message of a turn that has ended since; a
message that waits behind it belongs to a later turn. Messages stand where their turn ended, so that each answer
follows its question also when questions came faster than answers. Of a message that was delivered again, because its
turn was interrupted, only the last delivery was said.

What a compaction stands for is not read again: the conversation begins with its summary, as a message of the user, and
goes on with the messages after it. So a turn reads as much as its prompt may hold, however long the log is.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import msgspec

from holdfast.a2a.handler import PastMessage
from holdfast.a2a.protocol.rpc import RpcError
from holdfast.a2a.protocol.wire import Message, Role, TextPart, text_of
from holdfast.a2a.turns import records
from holdfast.a2a.turns.imported_messages import ENTRIES, imported_entries
from holdfast.a2a.turns.keys import delivery_key
from holdfast.core import Event, Snapshot, Task, TaskState, strict_json, types
from holdfast.core.event_bodies import TaskUpdated, read
from holdfast.models.messages import SUMMARY_MARK
from holdfast.store import Store

READ = (types.MESSAGE, types.TASK_UPDATED, *ENTRIES)
MARK = SUMMARY_MARK
CUT = frozenset({TaskState.CANCELED, TaskState.FAILED})


class _Summary(msgspec.Struct, rename="camel"):
    """The document of a compaction as we know it: its words, and the parts of the files that it still names."""

    text: str
    files: list[dict[str, Any]] = []


@dataclass(frozen=True, slots=True)
class Conversation:
    """What was said before a turn, and the message that it is to answer with its seq: None if that was erased."""

    history: tuple[PastMessage, ...]
    message: Message | None
    message_seq: int


@dataclass(frozen=True, slots=True)
class OlderMessages:
    """The part of a conversation that may be summed up, and what stays: the log up to `last_seq`, and after it.

    `summary` is that of the compaction which stands for what came before, None if there was none.
    """

    summary: Any
    messages: tuple[PastMessage, ...]
    kept: tuple[PastMessage, ...]
    last_seq: int


async def before(store: Store, task: Task) -> Conversation:
    """The conversation as the turn of a task finds it."""
    found = await _read(store, task)
    if found is None:
        return Conversation((), None, 0)
    history = tuple(_past(message, seq, is_cut=seq in found.cut) for seq, message in found.past)
    if found.compaction is not None:
        summary = summary_message(found.compaction.document)
        history = (replace(summary, seq=found.compaction.last_seq, is_summary=True), *history)
    return Conversation(history, found.message, found.own)


async def older(store: Store, task_id: str, *, keep: int) -> OlderMessages | None:
    """What of a turn's conversation may be summed up, if at least the last `keep` messages stay; None if nothing may.

    No message that a turn has yet to answer is among it, and none that stays stands before one that goes.
    """
    found = await _read(store, await store.tasks.get(task_id))
    if found is None:
        return None
    seqs = [seq for seq, _ in found.past]
    highest = list(accumulate(seqs, max))
    lowest = list(accumulate([found.open_seq, *reversed(seqs)], min))[::-1]
    for cut in range(len(seqs) - keep, 0, -1):
        if highest[cut - 1] < lowest[cut]:
            messages = [_past(message, is_cut=seq in found.cut) for seq, message in found.past]
            summary = None if found.compaction is None else found.compaction.document
            return OlderMessages(summary, tuple(messages[:cut]), tuple(messages[cut:]), highest[cut - 1])
    return None


async def next_message(store: Store, task: Task) -> Message | None:
    """The first message that a task was sent and has not begun to answer."""
    log = await _log(store, task, await store.checkpoints.newest_compaction(task.session_id))
    return log.message_at(log.next_seq(task), task)


async def unanswered(store: Store, task: Task) -> Message | None:
    """The message that a turn under way is to answer; None if the agent has said something to it already."""
    span = records.span(task)
    if span is None:
        return await next_message(store, task)
    log = await _log(store, task, await store.checkpoints.newest_compaction(task.session_id))
    begun = log.begun.get((task.task_id, span[1]), span[1])
    if any(seq > begun and said.task_id == task.task_id and said.role is Role.AGENT for seq, said in log.said):
        return None
    return log.message_at(span[1], task)


def summary_message(document: Any) -> PastMessage:
    """A compaction's summary, as the message that stands for what it sums up; one that others made has any shape."""
    try:
        summary = msgspec.convert(document, _Summary)
        files = records.parts_in(summary.files)
    except (msgspec.ValidationError, RpcError):
        summary = _Summary(document if isinstance(document, str) else strict_json.dump(document).decode())
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
    message: Message
    open_seq: int
    cut: frozenset[int]


@dataclass(frozen=True, slots=True)
class _Log:
    """What was said in a session, each message with its seq; and the seqs at which turns began and ended."""

    said: list[tuple[int, Message]]
    begun: dict[tuple[str, int], int]
    """By task, and by the seq of the message that the turn is to answer."""
    ends: dict[str | None, list[int]]
    """By task, in order: one that asked back, or was sent more, has several."""
    over: dict[str | None, int]
    """By task: where it came to rest last, if it rests."""
    interrupted: frozenset[str]
    cut: frozenset[int]
    """The seqs of answers that were cut: what a turn had said goes into the log with its end."""

    def next_seq(self, task: Task) -> int | None:
        """The seq of the first message that a task was sent and has not begun to answer."""
        span = records.span(task)
        last = 0 if span is None else span[1]
        return next((seq for seq, message in self.said if seq > last and _is_to(message, task.task_id)), None)

    def own_seq(self, task: Task) -> int | None:
        """The seq of the message that a task's turn is to answer: the one that it is at, or else the next."""
        span = records.span(task)
        seq = span[1] if span is not None and records.underway(task) else self.next_seq(task)
        return None if self.message_at(seq, task) is None else seq

    def message_at(self, seq: int | None, task: Task) -> Message | None:
        """The message that a task was sent at a seq."""
        return next((said for at, said in self.said if at == seq and _is_to(said, task.task_id)), None)

    def end_of(self, seq: int, message: Message) -> int | None:
        """The seq at which the turn of a message ended, if it did."""
        start: int | None = seq
        if message.role is Role.USER:
            start = self.begun.get((message.task_id or "", seq))
        if start is None:
            over = self.over.get(message.task_id)
            return over if over is not None and over > seq else None
        found = self.ends.get(message.task_id, [])
        number = bisect_left(found, start)
        return found[number] if number < len(found) else None

    def said_again(self) -> set[str | None]:
        """The tasks that were interrupted and whose one message was delivered again."""
        if not self.interrupted:
            return set()
        sent: dict[str | None, list[Message]] = {}
        for _, message in self.said:
            if message.role is Role.USER:
                sent.setdefault(message.task_id, []).append(message)
        last = {delivery_key(replace(message, task_id=None)): message.task_id for _, message in self.said}
        return {
            task_id
            for task_id in self.interrupted
            if len(sent.get(task_id, ())) == 1
            and last[delivery_key(replace(sent[task_id][0], task_id=None))] != task_id
        }


async def _read(store: Store, task: Task) -> _Found | None:
    """The log as the turn of a task finds it; None if there is no message that it is to answer."""
    task_id = task.task_id
    compaction = await store.checkpoints.newest_compaction(task.session_id)
    log = await _log(store, task, compaction)
    own = log.own_seq(task)
    message = log.message_at(own, task)
    if own is None or message is None:
        return None
    began, again = log.begun.get((task_id, own)), log.said_again()

    def is_past(seq: int, message: Message, end: int | None) -> bool:
        if message.task_id == task_id:
            return seq < own or (message.role is Role.AGENT and (began is None or seq < began))
        return seq < own or end is not None or message.task_id is None

    placed, waiting = [], []
    for seq, said in log.said:
        end = log.end_of(seq, said)
        if is_past(seq, said, end) and said.task_id not in again:
            placed.append((seq if end is None else end, seq, said))
        if seq == own or (end is None and said.task_id is not None):
            waiting.append(seq)
    placed.sort(key=lambda entry: entry[:2])
    after = compaction.last_seq if compaction else 0
    past = [(seq, said) for _, seq, said in placed if seq > after]
    return _Found(compaction, past, own, message, min(waiting), log.cut)


async def _log(store: Store, task: Task, compaction: Snapshot | None) -> _Log:
    """The log after a compaction; all of it if somebody summed up a message that was still to be answered."""
    if compaction is not None:
        log = _of_events(await store.read(task.session_id, after=compaction.last_seq, types=READ))
        if log.own_seq(task) is not None:
            return log
    return _of_events(await store.read(task.session_id, types=READ))


def _of_events(events: Sequence[Event]) -> _Log:
    imported = imported_entries(events)
    messages = [event for event in events if event.type == types.MESSAGE and event.seq not in imported.left_behind]
    told = ((event.seq, records.message_in(event)) for event in messages)
    said = [(seq, message) for seq, message in told if message is not None]
    said = sorted([*said, *imported.summaries], key=lambda each: each[0]) if imported.summaries else said
    log = _Log(said, {}, {}, {}, frozenset(), frozenset())
    spoken = {seq: message.task_id for seq, message in said if message.role is Role.AGENT}
    interrupted, cut = set(), set()
    for event in events:
        if event.type != types.TASK_UPDATED or event.erased is not None:
            continue
        change = read(event, TaskUpdated)
        task_id, changes = change.task_id, change.changes
        log.over.pop(task_id, None)
        if "lastSeq" in changes:
            log.begun[task_id, changes["lastSeq"]] = event.seq
        if not change.state.running:
            log.over[task_id] = event.seq
        if task_id in log.over or changes.get("underway") is False:
            log.ends.setdefault(task_id, []).append(event.seq)
        if changes.get("interrupted"):
            interrupted.add(task_id)
        if change.state in CUT and spoken.get(event.seq - 1) == task_id:
            cut.add(event.seq - 1)
    return replace(log, interrupted=frozenset(interrupted), cut=frozenset(cut))


def _is_to(message: Message, task_id: str) -> bool:
    return message.task_id == task_id and message.role is Role.USER


def _past(message: Message, seq: int = 0, *, is_cut: bool = False) -> PastMessage:
    words = text_of(message.parts)
    return PastMessage(message.role, words, message.parts, seq=seq, task_id=message.task_id, is_cut=is_cut)
