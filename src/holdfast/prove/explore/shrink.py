"""Makes a history that shows a violation as small as it goes while it still shows it.

First all is left out that concerns other conversations, at a stroke. Then operations are taken out, in ever smaller
runs of them; then what is left is made plainer: no operation joins that need not, values are plain words, contexts are
few, waits are short. Every candidate is tried on fresh data, and the smallest that showed it so far is always at hand.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

import msgspec

from holdfast.prove.explore.histories.history import Course
from holdfast.prove.explore.histories.operations import (
    FAULTS,
    MESSAGES,
    Again,
    Cancel,
    Chat,
    Follow,
    LookUp,
    Operation,
    groups,
)
from holdfast.prove.explore.histories.values import Form
from holdfast.prove.explore.judge.model import key_of

PLAIN: dict[str, Any] = {
    "form": Form.WORD,
    "how": "wait",
    "slow": 0,
    "follows": None,
    "by": "bytes",
    "words": True,
    "apart": False,
}
"""What is usual of an operation."""

Try = Callable[[Sequence[Course]], Awaitable[Course | None]]
"""Tries some histories and returns one that still shows the violation, the first of them where several do."""


async def shrink(
    course: Course, step: int, attempt: Try, on_smaller: Callable[[Course], None] = lambda course: None
) -> Course:
    """The smallest history that was found; `step` shows the violation, `on_smaller` is told of each on the way."""
    best = course
    start = await attempt(likely(course, step))
    if start is not None:
        best = start
        on_smaller(best)
    while True:
        before = best
        best = await _take_out(best, attempt, on_smaller)
        best = await _make_plainer(best, attempt, on_smaller)
        if best == before:
            return best


def likely(course: Course, step: int) -> list[Course]:
    """Small histories that may well show the same: what concerns the same conversation, and few faults."""
    operations = course.operations[: step + 1]
    about = _concerned(operations, step)
    faults = [place for place in range(step) if isinstance(operations[place], FAULTS)]
    kept = [[*about, *faults[-1:]], about, [*about, *faults], list(range(step + 1))]
    found = [_with(course, _only(operations, sorted({*places, step}))) for places in kept]
    return list(dict.fromkeys(each for each in found if len(each.operations) < len(course.operations)))


def _concerned(operations: Sequence[Operation], step: int) -> list[int]:
    """The places of what concerns the same message or the same register as a step."""
    last = operations[step]
    message = getattr(last, "message", None)
    sent = {operation.message: operation for operation in operations if isinstance(operation, MESSAGES)}
    key = key_of(sent[message]) if message in sent else None
    found = []
    for place, operation in enumerate(operations):
        other = sent.get(getattr(operation, "message", 0))
        if other is not None and (other.message == message or (key is not None and key_of(other) == key)):
            found.append(place)
    return found


async def _take_out(course: Course, attempt: Try, on_smaller: Callable[[Course], None]) -> Course:
    """Take out runs of operations, the longest first."""
    size = max(1, len(course.operations) // 2)
    while True:
        smaller = await attempt(list(_without_runs(course, size)))
        if smaller is not None:
            course = smaller
            on_smaller(course)
            size = min(size, max(1, len(course.operations) // 2))
        elif size == 1:
            return course
        else:
            size //= 2


async def _make_plainer(course: Course, attempt: Try, on_smaller: Callable[[Course], None]) -> Course:
    """Make what is left plainer, one thing at a time."""
    while True:
        plainer = await attempt(list(plainer_courses(course)))
        if plainer is None:
            return course
        course = plainer
        on_smaller(course)


def _without_runs(course: Course, size: int) -> Iterator[Course]:
    operations = course.operations
    for start in range(0, len(operations), size):
        left = [place for place in range(len(operations)) if not start <= place < start + size]
        if left:
            yield _with(course, _only(operations, left))


def _only(operations: Sequence[Operation], places: Sequence[int]) -> list[Operation]:
    """The operations at these places; one joins another only if they began together before."""
    group_of = {place: number for number, group in enumerate(groups(tuple(operations))) for place in group}
    befores = [-1, *places]
    return [
        _but(operations[place], joins=operations[place].joins and group_of.get(before) == group_of[place])
        for before, place in zip(befores, places, strict=False)
    ]


def plainer_courses(course: Course) -> Iterator[Course]:
    """The histories that are the same but for one thing, which is plainer; each has another fewer to go."""
    operations = course.operations
    for context in sorted({operation.context for operation in operations if isinstance(operation, MESSAGES)}):
        for other in range(min(context, 4)):
            yield _with(course, tuple(_moved(operation, context, other) for operation in operations))
    for place, operation in enumerate(operations):
        for plainer in _plainer(operation):
            yield _with(course, (*operations[:place], plainer, *operations[place + 1 :]))
    numbered = renumbered(operations)
    if numbered != operations:
        yield _with(course, numbered)


def _plainer(operation: Operation) -> Iterator[Operation]:
    if operation.joins:
        yield _but(operation, joins=False)
    for name, usual in PLAIN.items():
        if getattr(operation, name, usual) != usual:
            yield _but(operation, **{name: usual})
    if isinstance(operation, Chat) and operation.turns > 1:
        yield _but(operation, turns=operation.turns // 2)
        yield _but(operation, turns=operation.turns - 1)
    for name in ("after", "milliseconds", "percent"):
        if getattr(operation, name, 0) > 0:
            yield _but(operation, **{name: getattr(operation, name) // 4})


def renumbered(operations: tuple[Operation, ...]) -> tuple[Operation, ...]:
    """The same operations with messages, facts and files numbered in the order in which they come."""
    messages: dict[int, int] = {}
    names: dict[str, dict[int, int]] = {"fact": {}, "file": {}}
    found = []
    for operation in operations:
        changes: dict[str, Any] = {}
        if isinstance(operation, (*MESSAGES, Again, Cancel, Follow, LookUp)):
            changes["message"] = messages.setdefault(operation.message, len(messages) + 1)
        for name, known in names.items():
            number = getattr(operation, name, None)
            if number is not None:
                changes[name] = known.setdefault(number, len(known))
        follows = getattr(operation, "follows", None)
        if follows is not None:
            changes["follows"] = messages.setdefault(follows, len(messages) + 1)
        found.append(_but(operation, **changes))
    return tuple(found)


def _moved(operation: Operation, context: int, other: int) -> Operation:
    return _but(operation, context=other) if getattr(operation, "context", None) == context else operation


def _but(operation: Operation, **changes: Any) -> Operation:
    changed: Operation = msgspec.structs.replace(operation, **changes)
    return changed


def _with(course: Course, operations: Sequence[Operation]) -> Course:
    return Course(seed=course.seed, number=course.number, operations=tuple(operations))
