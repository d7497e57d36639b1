"""The run: what it calls a violation, what it leaves in doubt, what it says when it is cut short."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.prove.explore.test_explore_shrink import loses_at_a_kill

from holdfast.core import TaskState
from holdfast.prove.evidence import Evidence
from holdfast.prove.explore.histories.draft import Bounds
from holdfast.prove.explore.histories.generator import generate
from holdfast.prove.explore.histories.history import Course
from holdfast.prove.explore.judge.claims import CLAIMS, Violation
from holdfast.prove.explore.record import Fate, Record, RecordedDelivery
from holdfast.prove.explore.run import (
    NOT_CONFIRMED,
    NOT_SHOWN_AGAIN,
    NOT_SHRUNK,
    Exploration,
    ExplorePlan,
    Explorer,
)
from holdfast.prove.explore.summary import bound, exit_of, findings
from holdfast.prove.explore.trial import Lab, Trial
from holdfast.prove.verdict import Exit, Verdict

LOST = Violation("known", "forgotten", 0, "the city is not known", "an answer with Zq7a", "nothing")


class Oracle(Lab):
    """A lab in which a function of the history decides what is seen of it."""

    def __init__(self, shows: Callable[[Course], bool], fault: Callable[[Course], str] = lambda course: "") -> None:
        self.tried: list[Course] = []
        self._shows = shows
        self._fault = fault

    async def attempt(self, course: Course, *, keep: str = "") -> Trial:
        self.tried.append(course)
        await asyncio.sleep(0)
        fault = self._fault(course)
        found = (LOST,) if not fault and self._shows(course) else ()
        return Trial(course, found, fault, shown=frozenset() if fault else frozenset(CLAIMS))


def plan(**more: Any) -> ExplorePlan:
    usual = {"seed": 3, "bounds": Bounds(), "budget": 60.0, "histories": 20, "confirm": 3, "workers": 2}
    return ExplorePlan(**{**usual, **more})


@contextmanager
def explorer(lab: Lab, folder: Path, asked: ExplorePlan) -> Iterator[Explorer]:
    evidence = Evidence(folder, time.monotonic)
    yield Explorer(asked, lab, evidence, lambda found: None)
    evidence.finish({})


def explored(lab: Lab, folder: Path, asked: ExplorePlan) -> Exploration:
    with explorer(lab, folder, asked) as ready:
        return asyncio.run(ready.perform())


def interrupted(ready: Explorer, when: Callable[[Exploration], bool]) -> Exploration:
    """What a run has to say that is cut short at that moment."""

    async def interrupt() -> Exploration:
        running = asyncio.create_task(ready.perform())
        while not when(ready.found):
            await asyncio.sleep(0)
        running.cancel()
        return await running

    return asyncio.run(interrupt())


def verdicts(found: Exploration) -> dict[str, Verdict]:
    return {claim.name: finding.verdict for claim, finding in findings(found)}


def test_without_a_violation_everything_is_proven_with_its_bound(tmp_path: Path) -> None:
    found = explored(Oracle(lambda course: False), tmp_path, plan(histories=30))
    assert exit_of(found) is Exit.PROVEN
    assert found.coverage.histories == 30
    assert set(verdicts(found).values()) == {Verdict.PROVEN}
    reasons = {finding.reason for _, finding in findings(found)}
    assert reasons == {"held in 30 of 30 histories: fewer than 10 % violate it (at 95 %)"}
    assert bound(1000) == 0.003
    assert bound(1) == bound(0) == 1.0


def test_a_violation_that_repeats_is_one_and_is_shrunk(tmp_path: Path) -> None:
    found = explored(Oracle(loses_at_a_kill), tmp_path, plan())
    assert exit_of(found) is Exit.DISPROVEN
    assert verdicts(found)["known"] is Verdict.DISPROVEN
    assert found.confirmed is not None
    assert (found.confirmed.shown, found.confirmed.tried) == (4, 4)
    assert loses_at_a_kill(found.confirmed.smallest.course)
    assert len(found.confirmed.smallest.course.operations) == 3


def every(pattern: str) -> Callable[[Course], bool]:
    """Shows a violation or not, as the letters of the pattern say, again and again, in histories with a kill."""
    turns: Iterator[int] = count()
    return lambda course: len(course.operations) > 1 and pattern[next(turns) % len(pattern)] == "x"


def test_a_violation_that_does_not_repeat_is_left_in_doubt_with_its_rate(tmp_path: Path) -> None:
    found = explored(Oracle(every("x" + "." * 200)), tmp_path, plan(workers=1, histories=10))
    assert exit_of(found) is Exit.INCONCLUSIVE
    [doubt] = found.doubtful
    assert doubt.rate == "1 of 4"
    assert found.confirmed is None
    assert found.coverage.histories == 10
    assert "seen 1 of 4 times" in next(f.reason for claim, f in findings(found) if claim.name == "known")


@pytest.mark.parametrize(("pattern", "confirmed"), [("xx.x", True), ("xx..", False)])
def test_half_of_the_repetitions_must_show_it(pattern: str, confirmed: bool, tmp_path: Path) -> None:
    found = explored(Oracle(every(pattern + "." * 500)), tmp_path, plan(workers=1, histories=1))
    assert (found.confirmed is not None) is confirmed


def test_a_fault_is_tried_once_more_and_then_is_one(tmp_path: Path) -> None:
    once = iter(["", "a connection broke"])
    lab = Oracle(lambda course: False, lambda course: next(once, ""))
    assert exit_of(explored(lab, tmp_path, plan(workers=1, histories=3))) is Exit.PROVEN
    lab = Oracle(lambda course: False, lambda course: "a connection broke" if len(course.operations) > 1 else "")
    (tmp_path / "second").mkdir()
    found = explored(lab, tmp_path / "second", plan(workers=1, histories=50))
    assert exit_of(found) is Exit.FAULT
    assert len(lab.tried) == 5


def test_a_target_that_does_not_answer_a_first_message_is_a_fault(tmp_path: Path) -> None:
    found = explored(Oracle(lambda course: True), tmp_path, plan())
    assert exit_of(found) is Exit.FAULT
    assert found.coverage.histories == 0


def test_a_greeting_that_was_taken_and_not_answered_is_a_fault(tmp_path: Path) -> None:
    class Accepting(Oracle):
        async def attempt(self, course: Course, *, keep: str = "") -> Trial:
            running = RecordedDelivery(step=0, began=0, ended=1, message=1, fate=Fate.RUNNING, state=TaskState.WORKING)
            return replace(await super().attempt(course, keep=keep), record=Record(course, (running,)))

    found = explored(Accepting(lambda course: False), tmp_path, plan())
    assert exit_of(found) is Exit.FAULT
    assert "a message was running" in found.faults[0]


def test_a_replay_runs_one_history_and_no_other(tmp_path: Path) -> None:
    course = generate(9, 9, Bounds())
    lab = Oracle(lambda course: False)
    found = explored(lab, tmp_path, plan(replay=course))
    assert lab.tried == [course]
    assert found.coverage.histories == 1


def test_a_run_that_is_interrupted_keeps_the_smallest_so_far(tmp_path: Path) -> None:
    with explorer(Oracle(loses_at_a_kill), tmp_path, plan()) as ready:
        found = interrupted(ready, lambda so_far: so_far.confirmed is not None and so_far.confirmed.shrinks > 0)
    assert found.interrupted
    assert exit_of(found) is Exit.DISPROVEN
    assert found.confirmed is not None
    assert loses_at_a_kill(found.confirmed.smallest.course)
    assert len(found.confirmed.smallest.course.operations) < len(found.confirmed.first.course.operations)


def test_a_run_that_is_interrupted_before_it_found_anything_is_not_green(tmp_path: Path) -> None:
    with explorer(Oracle(lambda course: False), tmp_path, plan(histories=10_000)) as ready:
        found = interrupted(ready, lambda so_far: so_far.coverage.histories >= 3)
    assert exit_of(found) is Exit.FAULT


def test_the_same_seed_explores_the_same_histories_however_many_run_side_by_side(tmp_path: Path) -> None:
    tried = []
    for workers in (1, 3):
        lab = Oracle(lambda course: False)
        folder = tmp_path / str(workers)
        folder.mkdir()
        explored(lab, folder, plan(workers=workers, histories=12))
        tried.append({course.number: course for course in lab.tried[1:]})
    assert tried[0] == tried[1]
    assert set(tried[0]) == set(range(12))


LEAKED = Violation("apart", "leaked", 0, "context 1 knows it", "an answer without Zq7a", "Zq7a")


class Scripted(Oracle):
    """A lab that shows these violations one trial after the other, once the greeting is over."""

    def __init__(self, *turns: tuple[Violation, ...] | str, asked_again: str = "") -> None:
        super().__init__(lambda course: False)
        self._turns = iter(turns)
        self._asked_again = asked_again

    async def attempt(self, course: Course, *, keep: str = "") -> Trial:
        trial = await super().attempt(course, keep=keep)
        turn = next(self._turns, ()) if len(self.tried) > 1 else ()
        fault, shown = (turn, ()) if isinstance(turn, str) else ("", turn)
        return replace(trial, violations=shown, fault=fault, asked_again=self._asked_again if shown else "")


def run_of(lab: Lab, folder: Path, **more: Any) -> Exploration:
    return explored(lab, folder, plan(**{"workers": 1, "histories": 1, **more}))


def test_a_claim_that_nothing_put_to_the_test_is_left_out(tmp_path: Path) -> None:
    class Blind(Oracle):
        async def attempt(self, course: Course, *, keep: str = "") -> Trial:
            return replace(await super().attempt(course, keep=keep), shown=frozenset({"answers", "known"}))

    assert set(verdicts(explored(Blind(lambda course: False), tmp_path, plan()))) == {"answers", "known"}


def test_a_claim_that_was_seen_violated_and_not_pursued_did_not_hold(tmp_path: Path) -> None:
    found = run_of(Scripted(*[(LOST, LEAKED)] * 4), tmp_path)
    assert verdicts(found)["known"] is Verdict.DISPROVEN
    assert verdicts(found)["apart"] is Verdict.INCONCLUSIVE
    assert verdicts(found)["tasks"] is Verdict.PROVEN


def test_what_repeats_is_pursued_and_not_what_was_seen_first(tmp_path: Path) -> None:
    found = run_of(Scripted((LOST, LEAKED), *[(LEAKED,)] * 3), tmp_path)
    assert found.confirmed is not None
    assert found.confirmed.violation is LEAKED
    assert found.confirmed.rate == "4 of 4"
    assert verdicts(found)["known"] is Verdict.INCONCLUSIVE


def test_the_same_trouble_with_something_else_is_no_repetition(tmp_path: Path) -> None:
    found = run_of(Scripted((LOST,), *[(replace(LOST, subject="another fact"),)] * 3), tmp_path)
    assert found.confirmed is None
    assert [doubt.rate for doubt in found.doubtful] == ["1 of 4"]


@pytest.mark.parametrize(("shown", "confirmed"), [(3, True), (2, False)])
def test_what_was_right_when_asked_again_must_show_every_time(shown: int, confirmed: bool, tmp_path: Path) -> None:
    found = run_of(Scripted(*[(LOST,)] * (1 + shown), asked_again="right then"), tmp_path)
    assert (found.confirmed is not None) is confirmed


def test_a_repetition_that_a_fault_spoiled_counts_neither_way(tmp_path: Path) -> None:
    found = run_of(Scripted((LOST,), "broke", "broke", (LOST,)), tmp_path)
    assert found.confirmed is not None
    assert found.confirmed.rate == "2 of 2"
    (tmp_path / "second").mkdir()
    found = run_of(Scripted((LOST,), "broke", "broke", "broke"), tmp_path / "second")
    assert [doubt.rate for doubt in found.doubtful] == ["1 of 1"]


def test_a_suspicion_is_kept_when_its_repetition_is_interrupted(tmp_path: Path) -> None:
    with explorer(Scripted(*[(LOST,)] * 9), tmp_path, plan(workers=1)) as ready:
        found = interrupted(ready, lambda so_far: "again" in so_far.phase)
    assert found.interrupted
    assert [doubt.violation for doubt in found.doubtful] == [LOST]
    assert verdicts(found)["known"] is Verdict.INCONCLUSIVE


def test_the_smallest_history_is_one_that_holds_and_has_its_own_rate(tmp_path: Path) -> None:
    """Histories below five operations show it once and never again."""
    tried: list[Course] = []

    def shows(course: Course) -> bool:
        tried.append(course)
        return loses_at_a_kill(course) and (len(course.operations) > 4 or tried.count(course) == 1)

    found = explored(Oracle(shows), tmp_path, plan())
    assert found.confirmed is not None
    assert len(found.confirmed.smallest.course.operations) > 4
    assert (found.confirmed.smallest_shown, found.confirmed.smallest_tried) == (3, 3)


class Slow(Oracle):
    """A lab in which the attempts of some histories never end."""

    def __init__(self, hangs: Callable[[Course, int], bool], shows: Callable[[Course], bool] = loses_at_a_kill) -> None:
        super().__init__(shows)
        self._hangs = hangs

    async def attempt(self, course: Course, *, keep: str = "") -> Trial:
        trial = await super().attempt(course, keep=keep)
        if self._hangs(course, self.tried.count(course)):
            await asyncio.Event().wait()
        return trial


def budgeted(lab: Lab, folder: Path, budget: float = 0.3) -> Exploration:
    return explored(lab, folder, plan(workers=1, histories=None, budget=budget))


def test_the_budget_ends_what_is_run_again(tmp_path: Path) -> None:
    found = budgeted(Slow(lambda course, times: len(course.operations) > 1 and times > 1), tmp_path)
    assert [(doubt.rate, doubt.undone) for doubt in found.doubtful] == [("1 of 1", [NOT_CONFIRMED])]
    assert exit_of(found) is Exit.INCONCLUSIVE
    reasons = {claim.name: finding.reason for claim, finding in findings(found)}
    assert reasons["known"].endswith("not run again as often as was asked for")


def test_the_budget_ends_shrinking_and_the_smallest_so_far_is_told(tmp_path: Path) -> None:
    found = budgeted(Slow(lambda course, times: 1 < len(course.operations) < 6), tmp_path)
    assert found.confirmed is not None
    assert found.confirmed.undone == [NOT_SHRUNK, NOT_SHOWN_AGAIN]
    assert found.confirmed.shrinks >= 1
    assert exit_of(found) is Exit.DISPROVEN


def test_what_is_shrunk_to_the_end_leaves_nothing_undone(tmp_path: Path) -> None:
    found = explored(Oracle(loses_at_a_kill), tmp_path, plan())
    assert found.confirmed is not None
    assert found.confirmed.undone == []


def test_a_history_that_the_budget_ended_is_counted_as_not_finished(tmp_path: Path) -> None:
    found = budgeted(Slow(lambda course, times: course.number == 2, lambda course: False), tmp_path)
    assert (found.coverage.histories, found.unfinished) == (2, 1)


@pytest.mark.parametrize("hangs_above", [0, 1], ids=["the greeting", "the first history"])
def test_a_budget_that_ends_before_the_first_history_is_named_with_what_to_do(tmp_path: Path, hangs_above: int) -> None:
    found = budgeted(Slow(lambda course, times: len(course.operations) > hangs_above, lambda course: False), tmp_path)
    ((_, finding),) = findings(found)
    assert (finding.reason, "--budget" in finding.hint, exit_of(found)) == (
        "no history was over in 0.3 s",
        True,
        Exit.FAULT,
    )


def test_a_number_of_histories_is_not_bound_by_the_budget(tmp_path: Path) -> None:
    found = explored(Oracle(lambda course: False), tmp_path, plan(histories=5, budget=0.0))
    assert found.coverage.histories == 5


def test_no_history_is_begun_that_could_not_be_confirmed_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 100 seconds a history takes 10, and so do its three repetitions: none is begun when 40 are not left."""
    clock = [0.0]

    class Timed(Oracle):
        async def attempt(self, course: Course, *, keep: str = "") -> Trial:
            clock[0] += 10.0 if len(course.operations) > 1 else 0.0
            return await super().attempt(course, keep=keep)

    monkeypatch.setattr("holdfast.prove.explore.run.time", SimpleNamespace(monotonic=lambda: clock[0]))
    assert budgeted(Timed(lambda course: False), tmp_path, budget=100.0).coverage.histories == 7


def test_what_is_not_offered_is_the_reason_why_a_claim_is_left_out(tmp_path: Path) -> None:
    class Streamless(Oracle):
        async def attempt(self, course: Course, *, keep: str = "") -> Trial:
            trial = await super().attempt(course, keep=keep)
            return replace(trial, shown=frozenset(CLAIMS) - {"streams"}, not_offered={"streams": "no streaming"})

    found = explored(Streamless(lambda course: False), tmp_path, plan(histories=2))
    assert found.not_offered == {"streams": "no streaming"}
    assert "streams" not in verdicts(found)
