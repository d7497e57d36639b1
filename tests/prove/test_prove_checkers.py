"""Each checker judges a recorded history, and nothing else: the same history gives the same verdict."""

import pytest

from holdfast.core import TaskState
from holdfast.prove.facts import CLASSIC
from holdfast.prove.history import Entry, FileSeen, History, Look, Power, Turn
from holdfast.prove.proofs import catalogue
from holdfast.prove.replies import Reply
from holdfast.prove.verdict import Finding, Verdict

PROOFS = catalogue()
KNOWS = Reply(text="You are Hongming, and you like blue.", state=TaskState.COMPLETED, task_id="t")
FORGOT = Reply(text="I do not know.", state=TaskState.COMPLETED, task_id="t")
REFUSED = Reply(error="JSON-RPC error -32603: oops")
SILENT = Reply(state=TaskState.WORKING, task_id="t")
FAILED = Reply(state=TaskState.FAILED, task_id="t")


def turn(step: str, reply: Reply = KNOWS) -> Turn:
    return Turn(step, "canary-ctx-1", f"({step})", reply, 0.01, f"curl {step}")


def look(step: str, reply: Reply) -> Look:
    return Look(step, "t", reply, 15.0, f"curl {step}")


def judge(proof: str, *entries: Entry) -> Finding:
    return PROOFS[proof].check(History(*entries), CLASSIC)


BACK = Power("start again", "start", 1.0)
DOWN = Power("start again", "start", 1.0, trouble="it ended with exit code 3")
KILL = Power("kill", "kill", 0.01)
CAUGHT = (turn("turn before"), turn("long turn", SILENT), look("see it running", SILENT), KILL)


@pytest.mark.parametrize(
    ("verdict", "ask"),
    [
        (Verdict.PROVEN, KNOWS),
        (Verdict.DISPROVEN, FORGOT),
        (Verdict.DISPROVEN, REFUSED),
        (Verdict.DISPROVEN, SILENT),
        (Verdict.DISPROVEN, Reply(text="You are Hongmingsson.")),
        (Verdict.PROVEN, Reply(text="HONGMING!")),
    ],
)
def test_name(verdict: Verdict, ask: Reply) -> None:
    finding = judge("name", turn("tell"), turn("ask", ask))
    assert finding.verdict is verdict
    assert (finding.curl == "curl ask") == (verdict is Verdict.DISPROVEN)


def test_name_needs_an_answer_to_the_first_turn_too() -> None:
    assert judge("name", turn("tell", REFUSED), turn("ask")).verdict is Verdict.DISPROVEN


@pytest.mark.parametrize(
    ("verdict", "one", "other"),
    [
        (Verdict.PROVEN, "Hongming", "Marisol"),
        (Verdict.PROVEN, "I do not know.", "I do not know."),
        (Verdict.DISPROVEN, "Marisol", "Marisol"),
        (Verdict.DISPROVEN, "Hongming", "Hongming and Marisol"),
        (Verdict.DISPROVEN, "", "Marisol"),
    ],
)
def test_isolation(verdict: Verdict, one: str, other: str) -> None:
    asked = turn("ask one", Reply(text=one)), turn("ask other", Reply(text=other))
    assert judge("isolation", *asked).verdict is verdict


@pytest.mark.parametrize("proof", ["restart", "crash"])
@pytest.mark.parametrize(
    ("verdict", "after"),
    [
        (Verdict.PROVEN, (BACK, turn("ask"))),
        (Verdict.DISPROVEN, (BACK, turn("ask", FORGOT))),
        (Verdict.DISPROVEN, (BACK, turn("ask", Reply(error="no answer within 30 s")))),
        (Verdict.DISPROVEN, (DOWN,)),
    ],
)
def test_restart_and_crash(proof: str, verdict: Verdict, after: tuple[Entry, ...]) -> None:
    end = Power("stop", "stop", 0.1) if proof == "restart" else KILL
    assert judge(proof, turn("tell"), end, *after).verdict is verdict


def test_a_stop_that_took_a_kill_is_mentioned() -> None:
    stop = Power("stop", "stop", 10.0, trouble="still running 10 s after SIGTERM, so it was killed")
    finding = judge("restart", turn("tell"), stop, BACK, turn("ask"))
    assert finding.verdict is Verdict.PROVEN
    assert "still running" in finding.reason


@pytest.mark.parametrize(
    ("verdict", "task", "next_turn"),
    [
        (Verdict.PROVEN, FAILED, FORGOT),
        (Verdict.PROVEN, Reply(text="done", state=TaskState.COMPLETED), KNOWS),
        (Verdict.DISPROVEN, SILENT, KNOWS),
        (Verdict.DISPROVEN, REFUSED, KNOWS),
        (Verdict.DISPROVEN, FAILED, REFUSED),
        (Verdict.DISPROVEN, FAILED, Reply(error="no answer within 15 s")),
    ],
)
def test_crash_mid_turn(verdict: Verdict, task: Reply, next_turn: Reply) -> None:
    finding = judge("crash-mid-turn", *CAUGHT, BACK, look("see it end", task), turn("next turn", next_turn))
    assert finding.verdict is verdict


def test_crash_mid_turn_is_disproven_by_a_target_that_does_not_come_back() -> None:
    assert judge("crash-mid-turn", *CAUGHT, DOWN).verdict is Verdict.DISPROVEN


@pytest.mark.parametrize(
    "entries",
    [
        (turn("long turn", Reply(text="done")),),
        (turn("long turn", REFUSED),),
        (turn("long turn", SILENT), look("see it running", REFUSED)),
        (turn("long turn", SILENT), look("see it running", KNOWS)),
    ],
)
def test_crash_mid_turn_is_inconclusive_if_no_turn_was_caught(entries: tuple[Entry, ...]) -> None:
    finding = judge("crash-mid-turn", turn("turn before"), *entries)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert finding.hint


@pytest.mark.parametrize(
    ("verdict", "path", "count"),
    [
        (Verdict.PROVEN, "/w/journal-1.txt", 1),
        (Verdict.DISPROVEN, "/w/journal-1.txt", 2),
        (Verdict.INCONCLUSIVE, "/w/journal-1.txt", 0),
        (Verdict.INCONCLUSIVE, "/w/journal-1.txt", None),
        (Verdict.INCONCLUSIVE, "", None),
    ],
)
def test_duplicate(verdict: Verdict, path: str, count: int | None) -> None:
    deliveries = turn("first delivery"), turn("second delivery", REFUSED)
    finding = judge("duplicate", *deliveries, FileSeen("look", path, "1", count))
    assert finding.verdict is verdict
    assert bool(finding.hint) == (verdict is not Verdict.PROVEN)


@pytest.mark.parametrize(
    ("verdict", "name", "color"),
    [
        (Verdict.PROVEN, KNOWS, KNOWS),
        (Verdict.DISPROVEN, FORGOT, KNOWS),
        (Verdict.DISPROVEN, KNOWS, FORGOT),
    ],
)
def test_parallel(verdict: Verdict, name: Reply, color: Reply) -> None:
    told = turn("tell name"), turn("tell color")
    assert judge("parallel", *told, turn("ask name", name), turn("ask color", color)).verdict is verdict
    unacknowledged = judge("parallel", turn("tell name", REFUSED), *told[1:], turn("ask name"), turn("ask color"))
    assert unacknowledged.verdict is Verdict.DISPROVEN
