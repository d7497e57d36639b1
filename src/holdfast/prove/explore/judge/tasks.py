"""The verdict on tasks and their streams: no state goes back, a task ends and is found, who follows misses nothing.

How a task goes on that was sent another message while it was running is the target's to say, and so is whether a
restart puts a task back that was not over.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from holdfast.core import TaskState
from holdfast.core.nouns import TERMINAL
from holdfast.prove.explore.judge.claims import Violation
from holdfast.prove.explore.judge.model import HistoryModel
from holdfast.prove.explore.record import Moment, PowerCut, Record, RecordedDelivery, StreamSeen, TaskSeen

NO_SUCH_TASK = "-32001"
NO_SUCH_METHOD = ("-32601", "-32004")
"""The errors of a target that does not offer what was asked of it."""
TAKES_NO_SUBSCRIBER = ("-32001", "-32004", "-32602")
"""The errors of a target that takes no subscriber for a task that has ended."""

Look = RecordedDelivery | TaskSeen | StreamSeen


def wrong_tasks(model: HistoryModel) -> Iterator[Violation]:
    """What is wrong with each task, once at most."""
    looks: defaultdict[str, list[Look]] = defaultdict(list)
    followed: set[str] = set()
    for moment in model.record.seen:
        if isinstance(moment, RecordedDelivery) and (moment.other or model.followed(moment)):
            followed |= {moment.task} if moment.task and not moment.other else set()
        elif isinstance(moment, RecordedDelivery | TaskSeen | StreamSeen) and moment.task:
            looks[moment.task].append(moment)
    cuts = [seen for seen in model.record.seen if isinstance(seen, PowerCut)]
    for task, seen in looks.items():
        settled = task not in followed
        wrong = _wrong_look([look for look in seen if not isinstance(look, StreamSeen)], settled=settled)
        wrong = wrong or (_step_back(seen, cuts) if settled else None)
        if wrong is not None:
            yield wrong


def _wrong_look(looks: Sequence[RecordedDelivery | TaskSeen], *, settled: bool) -> Violation | None:
    """What is wrong with a task that was looked up: it is lost, does not end, or has changed after its end."""
    for place, look in enumerate(looks):
        known = [other for other in looks[:place] if other.ended <= look.began and not other.error]
        ended = next((other for other in known if other.state in TERMINAL), None)
        if isinstance(look, TaskSeen):
            wrong = _wrong_answer(look, known)
            if wrong is not None:
                return wrong
        if look.error or look.state is None or ended is None or not settled:
            continue
        if look.state is not ended.state:
            return _wrong_task("other state", look, f"a task that was {ended.state} is {look.state}", ended)
        if ended.state is TaskState.COMPLETED and _letters(look.text) != _letters(ended.text):
            return _wrong_task("other answer", look, "a task that was completed has another answer", ended)
    return None


def _wrong_answer(look: TaskSeen, known: Sequence[RecordedDelivery | TaskSeen]) -> Violation | None:
    """What is wrong with the answer to the question for a task that is known."""
    was_seen = any(other.state is not None for other in known)
    if look.silent:
        return _wrong_task("silent", look, "a question for a task is not answered in time", None)
    if NO_SUCH_TASK in look.error and was_seen:
        return _wrong_task("lost", look, "a task that was accepted cannot be found", known[-1])
    if look.error and was_seen and not (look.canceled or look.disturbed or refuses_method(look)):
        return _wrong_task("unreadable", look, "a task that was accepted cannot be looked up", known[-1])
    if look.waited and look.state is not None and look.state.running:
        return _wrong_task("endless", look, "a task does not end", None)
    return None


def refuses_method(look: TaskSeen) -> bool:
    """Whether a target says that it does not look up tasks at all."""
    return not look.canceled and any(code in look.error for code in NO_SUCH_METHOD)


def _step_back(looks: Sequence[Look], cuts: Sequence[PowerCut]) -> Violation | None:
    """The first state that lies before one that was told earlier. A stream may begin with what was told before it.

    Each restart may put a task that runs back once, at any time after it: it is taken up when its turn comes.
    """
    told: list[tuple[Look, TaskState]] = []
    put_back = 0
    for look in looks:
        for state in look.states:
            replayed = isinstance(look, StreamSeen) and state not in TERMINAL
            passed = [
                before
                for other, before in told
                if (other is look or (other.ended <= look.began and not replayed)) and _goes_back(before, state)
            ]
            over = [before for before in passed if before in TERMINAL]
            put_back += bool(passed) and told[-1][1] is not TaskState.SUBMITTED
            if over or (passed and put_back > _restarts(cuts, looks[0], look)):
                return _back(look, (over or passed)[0], state)
            told.append((look, state))
    return None


def _goes_back(before: TaskState, state: TaskState) -> bool:
    """Whether no task comes from one state to the other; while it runs it may wait for its user again and again."""
    if before in TERMINAL:
        return state is not before
    return state is TaskState.SUBMITTED and before is not TaskState.SUBMITTED


def _restarts(cuts: Sequence[PowerCut], first: Moment, then: Moment) -> int:
    return sum(cut.began < then.ended and cut.ended > first.began for cut in cuts)


def _back(look: Look, before: TaskState, state: TaskState) -> Violation:
    reason, expected = f"a task that was {before} is {state}", f"a task that is {before}, or further"
    got = f"a task that is {state}"
    return Violation("tasks", "backwards", look.step, reason, expected, got, look.curl, f"message {look.message}")


def _wrong_task(
    trouble: str, look: RecordedDelivery | TaskSeen, reason: str, before: RecordedDelivery | TaskSeen | None
) -> Violation:
    expected = f"a task that is {before.state}: {before.text[:200]!r}" if before else "a task that has ended"
    got = look.error or f"a task that is {look.state}: {look.text[:200]!r}"
    return Violation("tasks", trouble, look.step, reason, expected, got, look.curl, f"message {look.message}")


def wrong_streams(record: Record) -> Iterator[Violation]:
    """A stream tells the end of its task; one that was followed again tells the whole answer."""
    for seen in record.seen:
        if isinstance(seen, RecordedDelivery) and seen.early and not seen.disturbed:
            got = f"a stream that ended, of a task that was {seen.states[0] if seen.states else 'not over'}"
            yield _wrong_stream("no end", seen, "a stream ended before its task", "a stream that tells of the end", got)
        if isinstance(seen, StreamSeen) and not seen.disturbed:
            yield from _wrong_follow(record, seen)


def _wrong_follow(record: Record, stream: StreamSeen) -> Iterator[Violation]:
    got = stream.error or f"{stream.text!r}, {' and '.join(stream.states) or 'and no state'}"
    if stream.late:
        yield _wrong_stream("endless", stream, "a stream does not end", "a stream that ends with its task", got)
    elif stream.error:
        if not any(code in stream.error for code in TAKES_NO_SUBSCRIBER) or _still_runs(record, stream):
            yield _wrong_stream("refused", stream, "a task cannot be followed", "the task and its news", got)
    elif not stream.states or stream.states[-1].running:
        yield _wrong_stream("no end", stream, "a stream ended before its task", "a stream that tells of the end", got)
    else:
        whole = next(
            (
                seen.text
                for seen in record.seen
                if isinstance(seen, TaskSeen) and seen.task == stream.task and seen.state is TaskState.COMPLETED
            ),
            None,
        )
        if whole is not None and not _has_all(stream.text, whole):
            yield _wrong_stream("incomplete", stream, "who followed a task again missed something", repr(whole), got)


def _still_runs(record: Record, stream: StreamSeen) -> bool:
    """Whether the task was seen at work after nobody was let follow it."""
    return any(
        isinstance(seen, TaskSeen)
        and seen.task == stream.task
        and seen.began >= stream.ended
        and seen.state is not None
        and seen.state.running
        for seen in record.seen
    )


def _wrong_stream(
    trouble: str, stream: RecordedDelivery | StreamSeen, reason: str, expected: str, got: str
) -> Violation:
    return Violation("streams", trouble, stream.step, reason, expected, got, stream.curl, f"message {stream.message}")


def _has_all(told: str, whole: str) -> bool:
    """Whether all of an answer was told, in order; a piece that is told twice is no loss."""
    letters = iter(_letters(told))
    return all(letter in letters for letter in _letters(whole))


def _letters(text: str) -> str:
    """A text without its blanks: pieces are put together in different ways."""
    return "".join(text.split())
