"""A history on real processes: what the record of it shows of an honest runtime and of a broken one."""

import asyncio
from pathlib import Path
from typing import cast

import pytest

from holdfast.prove.explore.histories.history import Course
from holdfast.prove.explore.histories.operations import (
    Again,
    Append,
    Ask,
    AskFile,
    Cancel,
    Follow,
    Kill,
    LookUp,
    Pause,
    Recall,
    Save,
    SendFile,
    TakeBack,
    Tell,
)
from holdfast.prove.explore.histories.values import Form
from holdfast.prove.explore.trial import Lab, Trial
from holdfast.prove.targets import Choice, Target, choose
from holdfast.prove.wire.envelopes import WireVersion

EVERYTHING = Course(
    seed=5,
    number=0,
    operations=(
        Tell(message=1, context=0, fact=0, value=1, form=Form.LINES, how="stream"),
        Tell(message=2, context=4, fact=0, value=2, form=Form.SCRIPT, how="at once", joins=True),
        Tell(message=3, context=0, fact=1, value=3, form=Form.QUOTES, joins=True),
        Again(message=1, joins=True),
        Tell(message=4, context=0, fact=1, value=4),
        Tell(message=5, context=1, fact=2, value=5),
        TakeBack(message=6, context=1, fact=2),
        SendFile(message=7, context=0, file=1, value=7, by="reference", words=False),
        Save(message=8, context=0, fact=0, value=8),
        Append(message=9, context=0),
        Again(message=9, joins=True),
        Tell(message=10, context=2, fact=0, value=10, slow=6, how="cut"),
        Follow(message=10),
        Pause(milliseconds=50),
        Append(message=11, context=0, slow=5, how="at once"),
        Cancel(message=11, after=150, joins=True),
        Tell(message=12, context=2, fact=1, value=12, slow=20, how="at once"),
        Kill(after=100, joins=True),
        Ask(message=20, context=0, fact=0),
        Ask(message=21, context=4, fact=0, joins=True),
        Ask(message=22, context=1, fact=2, joins=True),
        AskFile(message=23, context=0, file=1),
        Recall(message=24, context=3, fact=0),
        LookUp(message=1),
        LookUp(message=11),
        Again(message=9),
    ),
)


class Headless:
    """A target whose start has a mistake in it."""

    url = "http://127.0.0.1:1"
    name = "headless"
    running = False
    pid = None

    async def start(self) -> None:
        raise ZeroDivisionError("no head")

    def abandon(self) -> None:
        """There is nothing to end."""

    def logs(self) -> list[Path]:
        return []


def attempt(target: str, course: Course, folder: Path, wire: str) -> Trial:
    lab = Lab(lambda below: choose(Choice(name=target), below, 30.0), folder, wire=WireVersion(wire), timeout=30)
    return asyncio.run(lab.attempt(course))


@pytest.mark.parametrize(("target", "wire"), [("broken:none", "0.3"), ("bundled", "1.0")])
def test_an_honest_runtime_can_do_everything(target: str, wire: str, tmp_path: Path) -> None:
    trial = attempt(target, EVERYTHING, tmp_path, wire)
    assert trial.violations == ()
    assert trial.fault == ""
    assert trial.record is not None
    steps = {seen.step for seen in trial.record.seen}
    assert steps == set(range(len(EVERYTHING.operations)))
    assert list(tmp_path.iterdir()) == []


def test_a_broken_runtime_is_seen_to_be_wrong_and_asked_again(tmp_path: Path) -> None:
    operations = (Tell(message=1, context=0, fact=0, value=1), Ask(message=2, context=1, fact=0))
    trial = attempt("broken:shared-history", Course(seed=1, number=0, operations=operations), tmp_path, "1.0")
    assert [violation.kind for violation in trial.violations] == [("apart", "leaked")]
    assert trial.asked_again == "wrong again"
    assert trial.violations[0].curl.startswith("curl ")


def test_an_unexpected_error_spoils_its_own_trial_only(tmp_path: Path) -> None:
    missing = (Again(message=1), Ask(message=2, context=0, fact=0))
    course = Course(seed=1, number=0, operations=missing)
    lab = Lab(lambda below: cast(Target, Headless()), tmp_path, wire=WireVersion.V1_0, timeout=5)
    trial = asyncio.run(lab.attempt(course))
    assert trial.fault == "unexpected ZeroDivisionError: no head"
    assert trial.violations == ()


def test_a_target_that_does_not_start_says_nothing(tmp_path: Path) -> None:
    lab = Lab(
        lambda below: choose(Choice(command="false", port=9), below, 5.0), tmp_path, wire=WireVersion.V1_0, timeout=5
    )
    trial = asyncio.run(lab.attempt(EVERYTHING))
    assert "did not start" in trial.fault
    assert trial.violations == ()
