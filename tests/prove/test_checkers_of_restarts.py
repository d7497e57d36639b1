"""Each checker judges a recorded history, and nothing else: here those of proofs that restart the target."""

from dataclasses import replace

import pytest
from tests.prove.histories import (
    BACK,
    DISPROVEN,
    DOWN,
    FAILED,
    FORGOT,
    INCONCLUSIVE,
    KILL,
    KNOWS,
    LATE,
    OPEN,
    PROVEN,
    REFUSED,
    RUNNING,
    STOP,
    judge,
    look,
    saying,
    turn,
)

from holdfast.core import TaskState
from holdfast.prove.runtime.history import Entry, Power
from holdfast.prove.runtime.proofs.faults.crash_mid_turn import LONG_TURN_SECONDS
from holdfast.prove.verdict import Verdict, proven
from holdfast.prove.wire.replies import TargetReply

LUCKY = saying("turn after", "Your lucky word is albatross.")
CAUGHT = (turn("turn before"), turn("long turn", RUNNING), look("see it running", RUNNING), KILL)


@pytest.mark.parametrize("proof", ["restart", "crash"])
@pytest.mark.parametrize(
    ("verdict", "after"),
    [
        (PROVEN, (BACK, turn("ask"))),
        (DISPROVEN, (BACK, turn("ask", FORGOT))),
        (DISPROVEN, (BACK, turn("ask", LATE))),
        (DISPROVEN, (DOWN,)),
    ],
)
def test_restart_and_crash(proof: str, verdict: Verdict, after: tuple[Entry, ...]) -> None:
    end = STOP if proof == "restart" else KILL
    assert judge(proof, turn("tell"), end, *after).verdict is verdict
    assert judge(proof, turn("tell", REFUSED), end, *after).verdict is DISPROVEN


def test_a_stop_that_took_a_kill_is_mentioned() -> None:
    stop = Power("stop", "stop", 10.0, trouble="still running 10 s after SIGTERM, so it was killed")
    finding = judge("restart", turn("tell"), stop, BACK, turn("ask"))
    assert finding.verdict is PROVEN
    assert "still running" in finding.reason


@pytest.mark.parametrize(
    ("verdict", "task", "next_turn"),
    [
        (PROVEN, FAILED, KNOWS),
        (DISPROVEN, FAILED, FORGOT),
        (PROVEN, TargetReply(text="done", state=TaskState.COMPLETED), KNOWS),
        (PROVEN, OPEN, KNOWS),
        (DISPROVEN, RUNNING, KNOWS),
        (DISPROVEN, REFUSED, KNOWS),
        (DISPROVEN, FAILED, REFUSED),
        (DISPROVEN, FAILED, LATE),
    ],
)
def test_crash_mid_turn(verdict: Verdict, task: TargetReply, next_turn: TargetReply) -> None:
    after = BACK, look("see it end", task), turn("next turn", next_turn)
    assert judge("crash-mid-turn", *CAUGHT, *after, LUCKY).verdict is verdict
    assert judge("crash-mid-turn", *CAUGHT, *after, turn("turn after", FORGOT)).verdict is DISPROVEN


@pytest.mark.parametrize(("verdict", "task"), [(INCONCLUSIVE, KNOWS), (PROVEN, FAILED), (DISPROVEN, RUNNING)])
def test_a_turn_that_may_have_ended_by_itself_before_the_kill_shows_nothing(
    verdict: Verdict, task: TargetReply
) -> None:
    late = replace(KILL, at=100.0 + LONG_TURN_SECONDS)
    running = replace(CAUGHT[2], at=100.0)
    ended = BACK, look("see it end", task), turn("next turn"), LUCKY
    assert judge("crash-mid-turn", *CAUGHT[:2], running, late, *ended).verdict is verdict
    soon = replace(KILL, at=100.1)
    resumed = BACK, look("see it end", KNOWS), turn("next turn"), LUCKY
    assert judge("crash-mid-turn", *CAUGHT[:2], running, soon, *resumed) == (
        proven("the cut task ended as completed, and the next turn knows Hongming")
    )


def test_crash_mid_turn_is_disproven_by_a_target_that_does_not_come_back() -> None:
    assert judge("crash-mid-turn", *CAUGHT, DOWN).verdict is DISPROVEN


@pytest.mark.parametrize(
    "entries",
    [
        (turn("long turn", TargetReply(text="done")),),
        (turn("long turn", REFUSED),),
        (turn("long turn", RUNNING), look("see it running", REFUSED)),
        (turn("long turn", RUNNING), look("see it running", KNOWS)),
    ],
)
def test_crash_mid_turn_is_inconclusive_if_no_turn_was_caught(entries: tuple[Entry, ...]) -> None:
    assert judge("crash-mid-turn", turn("turn before"), *entries, KILL, BACK).verdict is INCONCLUSIVE


WRITTEN = tuple(turn(step) for step in ("first city", "second city", "fruit", "third city"))
NEWEST, MANGO = "Your favorite city is Osaka.", saying("ask everywhere: fruit", "mango")
MANGO_AGAIN = saying("ask everywhere again: fruit", "mango")


FOURTH = (
    turn("fourth city"),
    KILL,
    BACK,
    saying("ask after the kill: city", "Hongming"),
    saying("ask after the kill: fruit", "mango"),
)


def everywhere(step: str, *answers: str) -> list[Entry]:
    return [saying(f"{step}: city", answer) for answer in answers]


@pytest.mark.parametrize(
    ("verdict", "second", "before", "after"),
    [
        (PROVEN, "Nairobi", [NEWEST] * 4, [NEWEST] * 5),
        (DISPROVEN, "Lisbon", [NEWEST] * 4, [NEWEST] * 5),
        (DISPROVEN, "Nairobi", [*[NEWEST] * 3, "Nairobi"], [NEWEST] * 5),
        (DISPROVEN, "Nairobi", [NEWEST] * 4, [*[NEWEST] * 4, "Nairobi"]),
        (DISPROVEN, "Nairobi", [NEWEST] * 4, ["I do not know."] * 5),
    ],
)
def test_memory_deep(verdict: Verdict, second: str, before: list[str], after: list[str]) -> None:
    asked = saying("ask for the second", second), *everywhere("ask everywhere", *before), MANGO
    again = STOP, BACK, *everywhere("ask everywhere again", *after), MANGO_AGAIN
    assert judge("memory-deep", *WRITTEN, *asked, *again, *FOURTH).verdict is verdict


@pytest.mark.parametrize(
    "fourth",
    [
        (turn("fourth city", REFUSED), *FOURTH[1:]),
        (*FOURTH[:3], saying("ask after the kill: city", "Osaka"), FOURTH[4]),
        (*FOURTH[:4], saying("ask after the kill: fruit", "I do not know.")),
        (*FOURTH[:2], DOWN),
    ],
)
def test_memory_deep_asks_for_what_was_saved_before_the_kill(fourth: tuple[Entry, ...]) -> None:
    asked = saying("ask for the second", "Nairobi"), *everywhere("ask everywhere", NEWEST), MANGO
    again = STOP, BACK, *everywhere("ask everywhere again", NEWEST), MANGO_AGAIN
    assert judge("memory-deep", *WRITTEN, *asked, *again, *FOURTH).verdict is PROVEN
    assert judge("memory-deep", *WRITTEN, *asked, *again, *fourth).verdict is DISPROVEN


def test_memory_deep_cannot_tell_which_is_the_newest_for_a_target_that_always_tells_all() -> None:
    everything = "You told me: Lisbon, Nairobi, Osaka, mango."
    second = saying("ask for the second", "Lisbon and Nairobi")
    asked = second, *everywhere("ask everywhere", *[everything] * 4), MANGO
    again = STOP, BACK, *everywhere("ask everywhere again", *[everything] * 5), MANGO_AGAIN, *FOURTH
    finding = judge("memory-deep", *WRITTEN, *asked, *again)
    assert finding.verdict is INCONCLUSIVE
    assert finding.got
    assert finding.curl
    once = STOP, BACK, *everywhere("ask everywhere again", *[everything] * 4, "It was Nairobi; now Osaka."), MANGO_AGAIN
    assert judge("memory-deep", *WRITTEN, *asked, *once, *FOURTH).verdict is INCONCLUSIVE
    plain = STOP, BACK, *everywhere("ask everywhere again", *[everything] * 4, NEWEST), MANGO_AGAIN
    assert judge("memory-deep", *WRITTEN, *asked, *plain, *FOURTH).verdict is PROVEN


def test_memory_deep_asks_for_the_other_fact_too() -> None:
    asked = saying("ask for the second", "Nairobi"), *everywhere("ask everywhere", NEWEST), MANGO
    lost = saying("ask everywhere again: fruit", "I do not know.")
    again = STOP, BACK, *everywhere("ask everywhere again", NEWEST), lost
    assert judge("memory-deep", *WRITTEN, *asked, *again).verdict is DISPROVEN
    assert judge("memory-deep", *WRITTEN, *asked, STOP, DOWN).verdict is DISPROVEN
    assert judge("memory-deep", turn("first city", REFUSED)).verdict is DISPROVEN
