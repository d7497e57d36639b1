"""Which claims a record puts to the test: only what was seen can bear a claim out, however much was attempted."""

from collections.abc import Iterator

from holdfast.prove.explore.judge.checker import FAMILIES
from holdfast.prove.explore.judge.model import HistoryModel, Register
from holdfast.prove.explore.judge.tasks import refuses_method
from holdfast.prove.explore.record import (
    Fate,
    LinesSeen,
    NotOffered,
    PowerCut,
    Record,
    Seen,
    StreamSeen,
    TaskSeen,
)

READS_THAT_SETTLE = 2
"""So many answers after a turn was cut, and they can differ."""


def claims_shown(record: Record) -> frozenset[str]:
    """The claims that this record could have violated."""
    model = HistoryModel(record)
    return frozenset({*_by_messages(model), *_by_registers(model), *(claim for s in record.seen for claim in _by(s))})


def _by(seen: Seen) -> Iterator[str]:
    match seen:
        case TaskSeen(error=""):
            yield "tasks"
        case StreamSeen(error="", disturbed=False):
            yield "streams"
        case LinesSeen():
            yield "effects"
        case PowerCut():
            yield "returns"


def _by_messages(model: HistoryModel) -> Iterator[str]:
    told = model.told()
    for delivery in model.deliveries:
        if delivery.fate is not Fate.ANSWERED:
            continue
        yield "answers"
        operation = model.messages[delivery.message]
        others = (values for context, values in told.items() if context != operation.context)
        if model.asks(operation) and any(values - told.get(operation.context, set()) for values in others):
            yield "apart"


def _by_registers(model: HistoryModel) -> Iterator[str]:
    for (family, _, _), register in model.registers().items():
        if family in FAMILIES:
            if _most_before_a_read(register):
                yield FAMILIES[family]
            continue
        if _most_before_a_read(register):
            yield "known"
        if _most_before_a_read(register) > 1:
            yield "newest"
        for write in register.writes:
            reads = [read for read in register.reads if write.settled <= read.began]
            if not write.certain and len(reads) >= READS_THAT_SETTLE:
                yield "settled"


def _most_before_a_read(register: Register) -> int:
    """How many writes were acknowledged before the last question for them, at most."""
    return max(
        (sum(write.certain and write.settled <= read.began for write in register.writes) for read in register.reads),
        default=0,
    )


def not_offered(record: Record) -> dict[str, str]:
    """What the target does not offer, with the reason in words."""
    found = {seen.what: seen.words for seen in record.seen if isinstance(seen, NotOffered)}
    for seen in record.seen:
        if isinstance(seen, TaskSeen) and refuses_method(seen):
            found.setdefault("tasks", f"the target does not look up tasks: {seen.error}")
    return found
