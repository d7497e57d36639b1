"""What a record says was told and asked: the writes and reads of each register, and what became of each message.

What the protocol leaves open stays open here: a message that was refused, canceled, failed or cut may have been taken
in or not; one that is delivered again may count again where only words are concerned.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from holdfast.core import TaskState
from holdfast.core.nouns import TERMINAL
from holdfast.prove.explore.histories import wording
from holdfast.prove.explore.histories.operations import (
    MESSAGES,
    Ask,
    AskFile,
    Chat,
    Message,
    Recall,
    Save,
    SendFile,
    TakeBack,
    Tell,
)
from holdfast.prove.explore.histories.values import Form, Value, draw
from holdfast.prove.explore.judge.registers import NEVER, Read, Write
from holdfast.prove.explore.record import Fate, PowerCut, Record, RecordedDelivery, TaskSeen

Key = tuple[str, int, int]
"""What a register holds: a fact of a context, what a file of a context says, or a fact in memory."""

OVER = (Fate.ANSWERED, Fate.EMPTY, Fate.FAILED, Fate.CANCELED, Fate.REFUSED, Fate.BUSY)


@dataclass(slots=True)
class Register:
    """The writes and reads of one fact."""

    writes: list[Write] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)


class HistoryModel:
    """A record, read."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.deliveries = [seen for seen in record.seen if isinstance(seen, RecordedDelivery)]
        self._looks = [seen for seen in record.seen if isinstance(seen, TaskSeen)]
        self._cuts = [seen for seen in record.seen if isinstance(seen, PowerCut)]
        self.messages: dict[int, Message] = {
            operation.message: operation for operation in record.course.operations if isinstance(operation, MESSAGES)
        }

    def registers(self) -> dict[Key, Register]:
        """Every register of the history."""
        found: defaultdict[Key, Register] = defaultdict(Register)
        for delivery in self.deliveries:
            operation = self.messages[delivery.message]
            key = key_of(operation)
            if key is None:
                continue
            if self.asks(operation):
                if delivery.fate is Fate.ANSWERED and not delivery.other:
                    read = Read(delivery.readings, delivery.began, delivery.ended, delivery.step)
                    found[key].reads.append(read)
            else:
                found[key].writes.append(self._write(operation, delivery))
        return dict(found)

    def told(self) -> dict[int, set[Value]]:
        """The values that were told in each context and nowhere else may be known."""
        found: defaultdict[int, set[Value]] = defaultdict(set)
        for delivery in self.deliveries:
            operation = self.messages[delivery.message]
            if isinstance(operation, Tell | SendFile):
                value = self.value(operation, delivery)
                if value is not None:
                    found[operation.context].add(value)
        return dict(found)

    def value(self, operation: Message, delivery: RecordedDelivery) -> Value | None:
        """What a delivery tells."""
        if not delivery.other:
            return wording.value_of(operation, self.record.course.seed)
        if isinstance(operation, Tell):
            return draw(self.record.course.seed, wording.OTHER + operation.message, Form.WORD)
        return None

    def certain(self, delivery: RecordedDelivery) -> bool:
        """Whether the target has acknowledged what was delivered: it answered, or shows the task as completed.

        Of several deliveries the first that it answered counts. Where one with another body had begun by then, either
        of the two may have been taken in.
        """
        if self.contested(delivery):
            return False
        answered = self._first_answered(delivery.message)
        return answered is delivery or (answered is None and self._seen_completed(delivery))

    def contested(self, delivery: RecordedDelivery) -> bool:
        """Whether the same message was delivered with another body before this delivery had ended."""
        others = (other for other in self.deliveries if other.message == delivery.message and other.other)
        return any(other.began < delivery.ended for other in others if other is not delivery)

    def cut_between(self, began: float, ended: float) -> bool:
        """Whether the target was ended meanwhile."""
        return any(cut.began < ended and cut.ended > began for cut in self._cuts)

    def followed(self, delivery: RecordedDelivery) -> bool:
        """Whether a message names the task of another one."""
        operation = self.messages[delivery.message]
        return isinstance(operation, Tell) and operation.follows is not None

    def context(self, message: int) -> int:
        """The context that a message belongs to: that of the task which it names, if it names one."""
        operation = self.messages[message]
        if isinstance(operation, Tell) and operation.follows in self.messages:
            return self.messages[operation.follows].context
        return operation.context

    def begins_conversations(self, message: int) -> bool:
        """Whether it names no context."""
        operation = self.messages[message]
        return isinstance(operation, Chat) and operation.apart

    def asks(self, operation: Message) -> bool:
        """Whether it is a question for what was told."""
        return isinstance(operation, Ask | AskFile | Recall)

    def settled(self, delivery: RecordedDelivery) -> float:
        """When it is settled whether the target has taken in what was delivered.

        What failed because the target was ended is as open as what was cut.
        """
        if delivery.fate in OVER and not (delivery.disturbed and delivery.fate in (Fate.FAILED, Fate.REFUSED)):
            return delivery.ended
        ends = [*self._ends_of_task(delivery), *self._ends_by_a_cut(delivery)]
        return min(ends, default=NEVER)

    def _write(self, operation: Message, delivery: RecordedDelivery) -> Write:
        certain = self.certain(delivery)
        # What is acknowledged now may have been taken in when it was first delivered.
        began = min(other.began for other in self._same(delivery.message)) if certain else delivery.began
        return Write(self.value(operation, delivery), began, self.settled(delivery), certain, delivery.step)

    def _same(self, message: int) -> list[RecordedDelivery]:
        """The deliveries of a message with its first body, in the order of their ends."""
        same = (delivery for delivery in self.deliveries if delivery.message == message and not delivery.other)
        return sorted(same, key=lambda delivery: delivery.ended)

    def _first_answered(self, message: int) -> RecordedDelivery | None:
        return next((delivery for delivery in self._same(message) if delivery.fate is Fate.ANSWERED), None)

    def _seen_completed(self, delivery: RecordedDelivery) -> bool:
        looks = (look for look in self._looks if look.message == delivery.message)
        completed = any(look.state is TaskState.COMPLETED for look in looks)
        return completed and delivery in self._same(delivery.message)[:1]

    def _ends_of_task(self, delivery: RecordedDelivery) -> Iterable[float]:
        """When the task of a message was first seen to have ended.

        Delivered again it may have run as another task, whose end says nothing of the first.
        """
        for look in self._looks:
            if _same_task(delivery, look) and look.state in TERMINAL and look.ended >= delivery.ended:
                yield look.ended
        for other in self.deliveries:
            if _same_task(delivery, other) and other.state in TERMINAL and other.ended > delivery.ended:
                yield other.ended

    def _ends_by_a_cut(self, delivery: RecordedDelivery) -> Iterable[float]:
        """When the next turn of its context was over after the target had ended: turns of a context take turns.

        A task that is seen at work after that runs on in the background.
        """
        ready = [cut.ended for cut in self._cuts if cut.ended >= delivery.began and not cut.trouble]
        at_work = max((look.ended for look in self._looks if _same_task(delivery, look) and _runs(look)), default=0.0)
        context = self.messages[delivery.message].context
        for other in self.deliveries:
            in_context = self.messages[other.message].context == context
            after = bool(ready) and other.began >= ready[0] and other.ended >= at_work
            if after and in_context and other.fate is Fate.ANSWERED:
                yield other.ended


def _same_task(delivery: RecordedDelivery, seen: RecordedDelivery | TaskSeen) -> bool:
    """Whether what was seen is of the task of a delivery, as far as one knows."""
    same = delivery.task is None or seen.task is None or delivery.task == seen.task
    return same and delivery.message == seen.message


def _runs(look: TaskSeen) -> bool:
    return look.state is not None and look.state.running


def key_of(operation: Message) -> Key | None:
    """The register that an operation writes or reads, if it does."""
    match operation:
        case Tell() | TakeBack() | Ask():
            return "fact", operation.context, operation.fact
        case SendFile() | AskFile():
            return "file", operation.context, operation.file
        case Save() | Recall():
            return "memory", 0, operation.fact
    return None
