"""Each checker judges a recorded history, and nothing else: here those that follow a task, cut it, or cancel it."""

from dataclasses import replace

import pytest
from tests.prove.histories import (
    CANCELED,
    DISPROVEN,
    FAILED,
    FORGOT,
    INCONCLUSIVE,
    KNOWS,
    LATE,
    OPEN,
    PROVEN,
    REFUSED,
    RUNNING,
    judge,
    look,
    saying,
    seen,
    streamed,
    turn,
)

from holdfast.core import TaskState
from holdfast.prove.runtime.history import Entry, StreamRecord, TaskLook, TurnRecord
from holdfast.prove.verdict import Verdict
from holdfast.prove.wire.replies import TargetReply

WORKING, COMPLETED, INPUT_REQUIRED = TaskState.WORKING, TaskState.COMPLETED, TaskState.INPUT_REQUIRED
CUT = streamed("stream", "1 ", "2 ")


@pytest.mark.parametrize(
    ("verdict", "task", "ask"),
    [
        (PROVEN, KNOWS, KNOWS),
        (PROVEN, CANCELED, KNOWS),
        (PROVEN, OPEN, KNOWS),
        (DISPROVEN, RUNNING, KNOWS),
        (DISPROVEN, REFUSED, KNOWS),
        (DISPROVEN, FAILED, KNOWS),
        (DISPROVEN, KNOWS, FORGOT),
        (DISPROVEN, KNOWS, LATE),
    ],
)
def test_stream_cancel(verdict: Verdict, task: TargetReply, ask: TargetReply) -> None:
    assert judge("stream-cancel", CUT, look("see it end", task), turn("ask", ask)).verdict is verdict


@pytest.mark.parametrize("proof", ["stream-cancel", "resubscribe"])
@pytest.mark.parametrize(
    ("verdict", "stream"),
    [
        (INCONCLUSIVE, streamed("stream", "1 2 3", ended=True)),
        (INCONCLUSIVE, streamed("stream", "1 ", "2 ", task_id=None)),
        (DISPROVEN, streamed("stream", ended=True, task_id=None, error="JSON-RPC error -32601: no such method")),
    ],
)
def test_a_stream_that_cannot_be_cut(proof: str, verdict: Verdict, stream: StreamRecord) -> None:
    assert judge(proof, stream).verdict is verdict


WHOLE = TargetReply(text="1 2 3 30", state=COMPLETED, task_id="t")
ASKS_ON = TargetReply(text="1 2 3 30", state=INPUT_REQUIRED, task_id="t")


@pytest.mark.parametrize(
    ("verdict", "again", "answer"),
    [
        (PROVEN, streamed("subscribe again", "1 2", " 3", " 30", ended=True, states=(WORKING, COMPLETED)), WHOLE),
        (PROVEN, streamed("subscribe again", WHOLE.text, ended=True, states=(INPUT_REQUIRED,)), ASKS_ON),
        (DISPROVEN, streamed("subscribe again", "1 2", " 30", ended=True, states=(WORKING, COMPLETED)), WHOLE),
        (DISPROVEN, streamed("subscribe again", " 3", " 30", ended=True, states=(WORKING, COMPLETED)), WHOLE),
        (DISPROVEN, streamed("subscribe again", "1 2 3 30", ended=True), WHOLE),
        (DISPROVEN, streamed("subscribe again", ended=True, states=()), WHOLE),
        (DISPROVEN, streamed("subscribe again", "1 2 3 30", error="did not end within 15 s"), WHOLE),
        (DISPROVEN, streamed("subscribe again", ended=True, error="JSON-RPC error -32001: no such task"), WHOLE),
        (DISPROVEN, streamed("subscribe again", ended=True, states=(COMPLETED,)), TargetReply(state=COMPLETED)),
        (DISPROVEN, streamed("subscribe again", ended=True, states=(FAILED.state or WORKING,)), FAILED),
    ],
)
def test_resubscribe(verdict: Verdict, again: StreamRecord, answer: TargetReply) -> None:
    assert judge("resubscribe", CUT, again, look("read the answer", answer)).verdict is verdict


REFUSED_AFTER_THE_END = "JSON-RPC error -32004: the task has ended"


@pytest.mark.parametrize(
    ("verdict", "error", "looks"),
    [
        (INCONCLUSIVE, REFUSED_AFTER_THE_END, [WHOLE]),
        (INCONCLUSIVE, "JSON-RPC error -32602: the task is in a terminal state", [WHOLE]),
        (DISPROVEN, REFUSED_AFTER_THE_END, [RUNNING, WHOLE]),
        (DISPROVEN, REFUSED_AFTER_THE_END, [CANCELED]),
        (DISPROVEN, "JSON-RPC error -32601: no such method", [WHOLE]),
    ],
)
def test_a_task_that_has_ended_need_take_no_subscriber(verdict: Verdict, error: str, looks: list[TargetReply]) -> None:
    again = streamed("subscribe again", ended=True, error=error, task_id=None, states=())
    assert judge("resubscribe", CUT, again, *(look("read the answer", seen) for seen in looks)).verdict is verdict


def test_an_answer_that_stops_with_its_listener_is_not_whole() -> None:
    short = TargetReply(text="1 2 3", state=COMPLETED, task_id="t")
    again = streamed("subscribe again", "1 2 3", ended=True, states=(COMPLETED,))
    assert judge("resubscribe", CUT, again, look("read the answer", short)).verdict is INCONCLUSIVE
    thirty = TargetReply(text="one, two, … thirty", state=COMPLETED, task_id="t")
    again = streamed("subscribe again", thirty.text, ended=True, states=(COMPLETED,))
    assert judge("resubscribe", CUT, again, look("read the answer", thirty)).verdict is PROVEN


ACCEPTED = turn("accept", RUNNING), look("see it running", RUNNING)


@pytest.mark.parametrize(
    ("verdict", "canceled", "later", "line", "control"),
    [
        (PROVEN, CANCELED, CANCELED, None, 1),
        (PROVEN, CANCELED, CANCELED, 0, 1),
        (PROVEN, RUNNING, CANCELED, None, 1),
        (DISPROVEN, CANCELED, CANCELED, 1, 1),
        (DISPROVEN, CANCELED, KNOWS, None, 1),
        (DISPROVEN, RUNNING, RUNNING, None, 1),
        (DISPROVEN, REFUSED, KNOWS, 1, 1),
        (INCONCLUSIVE, CANCELED, CANCELED, None, None),
    ],
)
def test_cancel(
    verdict: Verdict, canceled: TargetReply, later: TargetReply, line: int | None, control: int | None
) -> None:
    entries = (
        *ACCEPTED,
        look("cancel", canceled),
        turn("control"),
        seen("look at the control", control),
        seen("look", line),
        look("look at the task", later),
    )
    assert judge("cancel", *entries).verdict is verdict


@pytest.mark.parametrize(
    "entries",
    [
        (turn("accept", KNOWS),),
        (turn("accept", REFUSED),),
        (turn("accept", RUNNING), look("see it running", KNOWS)),
    ],
)
def test_cancel_is_inconclusive_if_no_turn_was_caught(entries: tuple[TurnRecord | TaskLook, ...]) -> None:
    finding = judge("cancel", *entries)
    assert finding.verdict is INCONCLUSIVE
    assert finding.absent is entries[-1].reply.answered


def test_a_target_that_lets_us_wait_although_nobody_wanted_to_is_not_too_fast_for_cancel() -> None:
    blocked = replace(turn("accept", KNOWS), seconds=4.1)
    assert (judge("cancel", blocked).verdict, judge("cancel", blocked).absent) == (INCONCLUSIVE, False)


TOLD = (turn("tell"), turn("long turn", RUNNING))
ENDED = TargetReply(error="JSON-RPC error -32004: the task has ended")
REJECTED = TargetReply(state=TaskState.REJECTED, task_id="t2")
FIRST, AGAIN = "look at the task", "look at the task again"


@pytest.mark.parametrize(
    ("verdict", "entries"),
    [
        (PROVEN, (*TOLD, turn("ask"))),
        (PROVEN, (*TOLD, turn("ask", RUNNING), look("see the answer", KNOWS))),
        (DISPROVEN, (*TOLD, turn("ask", FORGOT))),
        (DISPROVEN, (*TOLD, turn("ask", REFUSED))),
        (DISPROVEN, (*TOLD, turn("ask", ENDED))),
        (DISPROVEN, (*TOLD, turn("ask", RUNNING), look("see the answer", FORGOT))),
        (DISPROVEN, (*TOLD, turn("ask", TargetReply(text="Hongming", context_id="another")))),
        (PROVEN, (*TOLD, turn("ask", TargetReply(text="Hongming", context_id="canary-ctx-1")))),
        (PROVEN, (turn("tell"), turn("long turn", KNOWS), turn("ask", ENDED), turn("ask the context"))),
        (PROVEN, (*TOLD, turn("ask", ENDED), look(AGAIN, KNOWS), turn("ask the context"))),
        (PROVEN, (*TOLD, look(FIRST, KNOWS), turn("ask", ENDED), look(AGAIN, KNOWS), turn("ask the context"))),
        (PROVEN, (*TOLD, turn("ask", REJECTED), look(AGAIN, KNOWS), turn("ask the context"))),
        (DISPROVEN, (*TOLD, turn("ask", ENDED), look(AGAIN, KNOWS), turn("ask the context", FORGOT))),
        (DISPROVEN, (*TOLD, look(FIRST, RUNNING), turn("ask", ENDED), look(AGAIN, RUNNING), turn("ask the context"))),
        (DISPROVEN, (*TOLD, turn("ask", ENDED), look(AGAIN, OPEN), turn("ask the context"))),
        (DISPROVEN, (*TOLD, turn("ask", ENDED), look(AGAIN, REFUSED), turn("ask the context"))),
        (DISPROVEN, (*TOLD, turn("ask", REFUSED), look(AGAIN, KNOWS), turn("ask the context"))),
        (INCONCLUSIVE, (*TOLD, turn("ask", ENDED), look(AGAIN, LATE), turn("ask the context"))),
        (INCONCLUSIVE, (turn("tell"), saying("long turn", "done"))),
        (DISPROVEN, (turn("tell", REFUSED), turn("long turn", RUNNING), turn("ask"))),
    ],
)
def test_task_follow_up(verdict: Verdict, entries: tuple[Entry, ...]) -> None:
    assert judge("task-follow-up", *entries).verdict is verdict
