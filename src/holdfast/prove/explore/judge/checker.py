"""The verdict on a record: what in it no honest runtime could have done. Pure: it looks at nothing but the record."""

from collections.abc import Iterator
from dataclasses import replace

from holdfast.prove.explore.histories import wording
from holdfast.prove.explore.histories.operations import Append, Cancel
from holdfast.prove.explore.judge.claims import Violation
from holdfast.prove.explore.judge.model import HistoryModel, Key
from holdfast.prove.explore.judge.registers import WrongRead, wrong_read
from holdfast.prove.explore.judge.tasks import wrong_streams, wrong_tasks
from holdfast.prove.explore.record import (
    Fate,
    LinesSeen,
    OwnEnd,
    PowerCut,
    Record,
    RecordedDelivery,
    StreamSeen,
    TaskSeen,
    UploadRefused,
)

FAMILIES = {"file": "files", "memory": "memory"}
CLAIM_OF = {"forgotten": "known", "stale": "newest", "withdrawn": "newest", "unsettled": "settled"}


def check(record: Record) -> list[Violation]:
    """All that a record does not bear out, in the order in which it was seen."""
    model = HistoryModel(record)
    found = [
        *_returns(record),
        *_answers(model),
        *_contexts(model),
        *_new_contexts(model),
        *_registers(model),
        *_uploads(record),
        *_leaks(model),
        *_effects(model),
        *wrong_tasks(model),
        *wrong_streams(record),
    ]
    return sorted(found, key=lambda violation: violation.step)


def wrong_again(record: Record, first: int, again: int) -> bool:
    """Whether the question of a step that was put again is answered wrongly, without the first and by itself."""
    model = HistoryModel(record)
    asked = [delivery for delivery in model.deliveries if delivery.step != again]
    questions = [delivery for delivery in asked if model.asks(model.messages[delivery.message])]
    for left_out in ([seen for seen in asked if seen.step == first], questions):
        kept = tuple(seen for seen in record.seen if seen not in left_out)
        if any(found.step == again for found in check(replace(record, seen=kept))):
            return True
    return False


def _returns(record: Record) -> Iterator[Violation]:
    for seen in record.seen:
        if isinstance(seen, PowerCut) and seen.trouble:
            yield Violation(
                "returns",
                "not back",
                seen.step,
                "the target did not come back",
                expected="a target that is ready again after the start",
                got=seen.trouble,
            )
        if isinstance(seen, OwnEnd):
            yield Violation(
                "returns",
                "own end",
                seen.step,
                "the target ended by itself",
                expected="a target that answers until it is ended",
                got=seen.words or "its process has ended",
            )


def _answers(model: HistoryModel) -> Iterator[Violation]:
    """Every message that nothing disturbed is answered, unless the protocol allows to refuse it."""
    for delivery in model.deliveries:
        if delivery.disturbed or _may_be_refused(model, delivery):
            continue
        if delivery.fate in (Fate.EMPTY, Fate.FAILED, Fate.REFUSED, Fate.SILENT, Fate.CANCELED):
            yield Violation(
                "answers",
                delivery.fate.value,
                delivery.step,
                f"a message was {delivery.fate}",
                expected="an answer",
                got=delivery.error or f"a task that is {delivery.state}: {delivery.text[:200]!r}",
                curl=delivery.curl,
                subject=f"message {delivery.message}",
            )


def _contexts(model: HistoryModel) -> Iterator[Violation]:
    """Who answers in another context than the message was sent in has made a conversation of its own."""
    for seen in model.record.seen:
        if not isinstance(seen, RecordedDelivery | TaskSeen | StreamSeen) or seen.context_id is None:
            continue
        if model.begins_conversations(seen.message):
            continue
        own = wording.context_id(model.context(seen.message), model.record.tag)
        if seen.context_id != own:
            yield Violation(
                "answers",
                "other context",
                seen.step,
                "a message was answered in another context than its own",
                expected=f"the context {own!r}",
                got=f"the context {seen.context_id!r}",
                curl=seen.curl,
                subject=f"message {seen.message}",
            )


def _new_contexts(model: HistoryModel) -> Iterator[Violation]:
    """A message that names no context begins a conversation: its context is nobody else's."""
    tag = model.record.tag
    known = {wording.context_id(operation.context, tag) for operation in model.messages.values()}
    deliveries = [seen for seen in model.record.seen if isinstance(seen, RecordedDelivery)]
    for seen in deliveries:
        if seen.context_id is None or not model.begins_conversations(seen.message):
            continue
        if seen.context_id in known:
            yield Violation(
                "answers",
                "known context",
                seen.step,
                "a message that named no context was answered in a conversation that was there before",
                expected="a context of its own",
                got=f"the context {seen.context_id!r}",
                curl=seen.curl,
                subject=f"message {seen.message}",
            )
        known.add(seen.context_id)


def _uploads(record: Record) -> Iterator[Violation]:
    """A target that takes uploads takes each of them."""
    for seen in record.seen:
        if isinstance(seen, UploadRefused) and not seen.disturbed:
            reason, expected = "a file could not be uploaded", "the URI of the file"
            subject = f"message {seen.message}"
            yield Violation("files", "not taken", seen.step, reason, expected, seen.error, seen.curl, subject)


def _may_be_refused(model: HistoryModel, delivery: RecordedDelivery) -> bool:
    operation = model.messages[delivery.message]
    operations = model.record.course.operations
    canceled = any(isinstance(other, Cancel) and other.message == delivery.message for other in operations)
    again = operations[delivery.step] is not operation
    return canceled or again or wording.odd(operation.context) or model.followed(delivery) or _beside(model, delivery)


def _beside(model: HistoryModel, delivery: RecordedDelivery) -> bool:
    """Whether another turn of its context was under way: a target need not take two at once."""
    context = model.messages[delivery.message].context
    return delivery.fate in (Fate.REFUSED, Fate.FAILED) and any(
        other is not delivery
        and model.messages[other.message].context == context
        and other.began < delivery.ended
        and model.settled(other) > delivery.began
        for other in model.deliveries
    )


def _registers(model: HistoryModel) -> Iterator[Violation]:
    """What was told is known, the newest of it, and what was cut is there for ever or not at all."""
    for key, register in model.registers().items():
        wrong = wrong_read(register.writes, register.reads)
        if wrong is not None:
            yield _wrong(model, key, wrong)


def _wrong(model: HistoryModel, key: Key, wrong: WrongRead) -> Violation:
    family, _, number = key
    what = {
        "fact": wording.thing(number),
        "file": f"code word in {wording.file_name(number, model.record.tag)}",
        "memory": wording.kept_thing(number, model.record.tag),
    }[family]
    texts = (write.value.text if write.value else "that it was taken back" for write in wrong.expected)
    values = list(dict.fromkeys(texts))
    delivery = next(d for d in model.deliveries if d.step == wrong.read.step and d.readings == wrong.read.answer)
    reason = {
        "forgotten": f"the {what} was acknowledged and is not known",
        "stale": f"the {what} that is known is an older one",
        "withdrawn": f"the {what} is known although it was taken back",
        "unsettled": f"the {what} of a turn that was cut was known at one time and not at another",
    }[wrong.trouble]
    return Violation(
        FAMILIES.get(family) or CLAIM_OF[wrong.trouble],
        wrong.trouble,
        wrong.read.step,
        reason,
        expected="an answer with " + " or ".join(values) if values else "the same answer as before",
        got=repr(delivery.text),
        curl=delivery.curl,
        subject=" ".join(map(str, key)),
    )


def _leaks(model: HistoryModel) -> Iterator[Violation]:
    """No answer has what was told in another context only."""
    told = model.told()
    for delivery in model.deliveries:
        context = model.messages[delivery.message].context
        own = told.get(context, set())
        for other, values in told.items():
            for value in values - own if other != context else ():
                if value.hinted_in(delivery.readings):
                    yield Violation(
                        "apart",
                        "leaked",
                        delivery.step,
                        f"context {context} knows what was told in context {other} only",
                        expected=f"an answer without {value.text}",
                        got=repr(delivery.text),
                        curl=delivery.curl,
                        subject=f"{value.text} in {context}",
                    )


def _effects(model: HistoryModel) -> Iterator[Violation]:
    """A line that was to be appended is there once if that was acknowledged, and never twice; later nothing changes.

    Who was ended in between may not know whether he has done it, and does well then not to do it again.
    """
    looks = [seen for seen in model.record.seen if isinstance(seen, LinesSeen)]
    for number, operation in model.messages.items():
        if isinstance(operation, Append):
            same = [d for d in model.deliveries if d.message == number and not d.other]
            other = [d for d in model.deliveries if d.message == number and d.other]
            yield from _effect(model, looks, number, same)
            yield from _effect(model, looks, wording.OTHER + number, other)
            yield from _neither(model, looks, number, same + other)


def _effect(
    model: HistoryModel, looks: list[LinesSeen], line: int, deliveries: list[RecordedDelivery]
) -> Iterator[Violation]:
    words = wording.line(line, model.record.course.seed)
    acknowledged = min((d.ended for d in deliveries if model.certain(d)), default=None)
    if acknowledged is not None and model.cut_between(min(d.began for d in deliveries), acknowledged):
        acknowledged = None
    settled = max((model.settled(d) for d in deliveries), default=0.0)
    before: int | None = None
    for look in looks:
        count = look.counts.get(line)
        if count is None:
            continue
        trouble = ""
        if count > 1:
            trouble = "twice"
        elif count == 0 and acknowledged is not None and look.began >= acknowledged:
            trouble = "missing"
        elif before is not None and count != before:
            trouble = "late"
        if trouble:
            yield _wrong_effect(trouble, look.step, words, count, deliveries)
            return
        before = count if look.began >= settled else None


def _neither(
    model: HistoryModel, looks: list[LinesSeen], number: int, deliveries: list[RecordedDelivery]
) -> Iterator[Violation]:
    """Of two bodies that were delivered at once and acknowledged, one at least has its effect."""
    contested = [d for d in deliveries if model.contested(d)]
    if not contested or any(d.fate is not Fate.ANSWERED for d in deliveries):
        return
    acknowledged = max(d.ended for d in deliveries)
    if model.cut_between(min(d.began for d in deliveries), acknowledged):
        return
    words = wording.line(number, model.record.course.seed)
    for look in looks:
        counts = [look.counts.get(number), look.counts.get(wording.OTHER + number)]
        if look.began >= acknowledged and counts == [0, 0]:
            yield _wrong_effect("missing", look.step, words, 0, deliveries)
            return


def _wrong_effect(trouble: str, step: int, words: str, count: int, deliveries: list[RecordedDelivery]) -> Violation:
    reason = {
        "twice": f"the line {words} was asked for in one message and was appended {count} times",
        "missing": f"the line {words} was acknowledged and is not in the file",
        "late": f"the line {words} came or went after its task was over",
    }[trouble]
    expected = "the line once" if trouble == "missing" else "the line once at most, and no change after the end"
    return Violation(
        "effects", trouble, step, reason, expected, f"it is there {count} times", deliveries[-1].curl, words
    )
