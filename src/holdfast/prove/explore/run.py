"""Explores: histories side by side until the budget is spent, or until a violation was found, confirmed and shrunk.

A violation counts only if its history shows it again on fresh data, in half of the attempts at least; one that does
not is noted with its rate, and exploration goes on. The budget is for all of that: no history is begun that would leave
no time to confirm what it shows. A run that is cut short still has its result, the smallest history that it had come
to, and says what was left undone.
"""

import asyncio
import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from holdfast.prove.evidence import Evidence
from holdfast.prove.explore.histories.coverage import Coverage
from holdfast.prove.explore.histories.draft import Bounds
from holdfast.prove.explore.histories.generator import generate
from holdfast.prove.explore.histories.history import Course
from holdfast.prove.explore.histories.operations import Chat
from holdfast.prove.explore.judge.claims import Violation
from holdfast.prove.explore.shrink import shrink
from holdfast.prove.explore.trial import RIGHT_THEN, Kind, Lab, Trial

GREETING = Course(seed=0, number=0, operations=(Chat(message=1, context=0, turns=1),))
SHRINK_SECONDS = 120.0
NOT_CONFIRMED = "its history was not run again as often as was asked for"
NOT_SHRUNK = "its history was not made as small as it goes"
NOT_SHOWN_AGAIN = "its smallest history was not run again"
TRIES_OF_FLAKY = 2
STEPS_BACK = 3
"""Histories on the way to the smallest that are tried when it does not hold, before the first of all."""


@dataclass(frozen=True, slots=True)
class ExplorePlan:
    """How much to explore, of what, and how sure to be."""

    seed: int
    bounds: Bounds
    budget: float
    histories: int | None
    confirm: int
    workers: int
    replay: Course | None = None

    @property
    def seconds(self) -> float:
        """How long all of it may take. A number of histories, or one that is replayed, takes as long as it takes."""
        return self.budget if self.histories is None and self.replay is None else math.inf


@dataclass(slots=True)
class Suspicion:
    """A violation, how often its history showed it, the smallest history that did so far, and what was left undone."""

    violation: Violation
    first: Trial
    smallest: Trial
    shown: int = 1
    tried: int = 1
    smallest_shown: int = 0
    smallest_tried: int = 0
    shrinks: int = 0
    seconds: float = 0.0
    undone: list[str] = field(default_factory=list)

    def judge(self, again: Sequence[Trial]) -> None:
        """Settle on the violation that shows most often when the history is run again, and count how often it does.

        A trial that a fault spoiled counts neither way.
        """
        sound = [trial for trial in again if not trial.fault]
        counts = {found: sum(trial.shows_same(found) for trial in sound) for found in self.first.violations}
        self.violation = max(counts, key=lambda found: counts[found])
        self.shown = 1 + counts[self.violation]
        self.tried = 1 + len(sound)

    @property
    def repeats(self) -> bool:
        """Whether it was seen again in half of the attempts, or in each if the target was right when asked again."""
        again, tried = self.shown - 1, self.tried - 1
        if not tried:
            return False
        return again == tried if self.first.asked_again == RIGHT_THEN else 2 * again >= tried

    @property
    def smallest_holds(self) -> bool:
        """Whether the smallest history showed it in half of the attempts at least."""
        return self.smallest_tried > 0 and 2 * self.smallest_shown >= self.smallest_tried

    @property
    def rate(self) -> str:
        """How often it was seen."""
        return f"{self.shown} of {self.tried}"


@dataclass(slots=True)
class Exploration:
    """What was found so far: in how many histories each claim was put to the test, and who was seen violated first.

    `unfinished` histories were begun and are not over; `not_offered` is what was left out, with the reason.
    """

    plan: ExplorePlan
    coverage: Coverage = field(default_factory=Coverage)
    confirmed: Suspicion | None = None
    doubtful: list[Suspicion] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    shown: Counter[str] = field(default_factory=Counter)
    seen: dict[str, Violation] = field(default_factory=dict)
    not_offered: dict[str, str] = field(default_factory=dict)
    unfinished: int = 0
    interrupted: bool = False
    phase: str = "exploring"


class Explorer:
    """One run of exploration."""

    def __init__(self, plan: ExplorePlan, lab: Lab, evidence: Evidence, on_news: Callable[[Exploration], None]) -> None:
        self.found = Exploration(plan)
        self._plan = plan
        self._lab = lab
        self._evidence = evidence
        self._on_news = on_news
        self._next = 0
        self._kept = 0
        self._deadline = math.inf
        self._took: dict[Course, float] = {}

    async def perform(self) -> Exploration:
        """Explore; a run that is cancelled, or whose budget is spent, is cut short and still has its result."""
        self._deadline = time.monotonic() + self._plan.seconds
        limit = asyncio.timeout(None if math.isinf(self._plan.seconds) else self._plan.seconds)
        try:
            async with limit:
                await self._perform()
        except asyncio.CancelledError:
            self.found.interrupted = True
        except TimeoutError:
            if not limit.expired():
                raise
        return self.found

    async def _perform(self) -> None:
        if self._plan.replay is not None:
            await self._pursue(await self._explore_one(self._plan.replay))
            return
        greeted = await self._attempt(GREETING)
        if not greeted.answered:
            told = greeted.fault or greeted.last_words
            self.found.faults.append(f"the target does not answer a first message: {told}")
            return
        while self.found.confirmed is None and not self._over():
            suspects = await self._explore_until_suspicion()
            if not suspects:
                return
            for suspect in suspects:
                if self.found.confirmed is None:
                    await self._pursue(suspect)

    def _over(self) -> bool:
        if len(self.found.faults) > 1:
            return True
        if self._plan.histories is not None:
            return self._next >= self._plan.histories
        return self._left() < self._reserve()

    def _left(self) -> float:
        """The seconds that are left of the budget."""
        return self._deadline - time.monotonic()

    def _reserve(self) -> float:
        """The seconds in which one more history can be performed and confirmed; half of the budget at most."""
        rounds = 1 + math.ceil(self._plan.confirm / self._plan.workers)
        return min(rounds * max(self._took.values(), default=0.0), self._plan.seconds / 2)

    async def _explore_until_suspicion(self) -> list[Trial]:
        """Histories side by side; the trials that showed something, or none once it is over."""
        suspects: list[Trial] = []

        async def work() -> None:
            while not suspects and not self._over():
                number = self._next
                self._next += 1
                trial = await self._explore_one(generate(self._plan.seed, number, self._plan.bounds))
                if trial.violations:
                    suspects.append(trial)

        async with asyncio.TaskGroup() as together:
            for _ in range(self._plan.workers):
                together.create_task(work())
        return suspects

    async def _explore_one(self, course: Course) -> Trial:
        """Perform a history; once more if something around it broke."""
        began = time.monotonic()
        self.found.unfinished += 1
        trial = await self._attempt(course)
        if trial.fault:
            trial = await self._attempt(course)
        self.found.unfinished -= 1
        if trial.fault:
            self.found.faults.append(trial.fault)
        else:
            self.found.coverage.add(course, trial.record.faults() if trial.record else ())
            self.found.shown.update(trial.shown)
            self.found.not_offered |= trial.not_offered
            for violation in trial.violations:
                self.found.seen.setdefault(violation.claim, violation)
        self._evidence.event(
            "",
            f"history {course.number}",
            "history",
            seed=course.seed,
            operations=len(course.operations),
            seconds=round(time.monotonic() - began, 3),
            fault=trial.fault,
            violations=[f"{violation.claim}: {violation.reason}" for violation in trial.violations],
        )
        self._on_news(self.found)
        return trial

    async def _pursue(self, trial: Trial) -> None:
        """Run a history again that showed something, and shrink it if it shows it again."""
        if not trial.violations:
            return
        suspicion = Suspicion(trial.violations[0], trial, trial, undone=[NOT_CONFIRMED])
        self.found.doubtful.append(suspicion)
        self._say(f"running history {trial.course.number} again: {suspicion.violation.reason}")
        suspicion.judge(await self._attempt_all([trial.course] * self._plan.confirm))
        suspicion.undone.remove(NOT_CONFIRMED)
        if not suspicion.repeats:
            return
        self.found.doubtful.remove(suspicion)
        self.found.confirmed = suspicion
        suspicion.undone += [NOT_SHRUNK, NOT_SHOWN_AGAIN]
        way = await self._shrink(suspicion)
        await self._show_once_more(suspicion, way)
        suspicion.undone.remove(NOT_SHOWN_AGAIN)

    async def _shrink(self, suspicion: Suspicion) -> list[Trial]:
        """Make the history as small as it may be; the trials that showed it on the way, each smaller than the last."""
        way: list[Trial] = []
        sought = suspicion.violation.kind
        tries = 1 if suspicion.shown == suspicion.tried else TRIES_OF_FLAKY
        began = time.monotonic()
        known: dict[Course, Trial | None] = {}
        spent = False

        async def attempt(courses: Sequence[Course]) -> Course | None:
            nonlocal spent
            for start in range(0, len(courses), self._plan.workers):
                again = (1 + self._plan.confirm) * self._took.get(suspicion.smallest.course, 0.0)
                spent = spent or time.monotonic() - began > SHRINK_SECONDS or self._left() < again
                if spent:
                    return None
                for course in await self._first_that_shows(
                    courses[start : start + self._plan.workers], sought, tries, known
                ):
                    return course
            return None

        def smaller(course: Course) -> None:
            shown = known[course]
            assert shown is not None
            suspicion.smallest = shown
            way.append(shown)
            suspicion.shrinks += 1
            suspicion.seconds = time.monotonic() - began
            self._say(f"shrinking: {len(course.operations)} operations")

        first = suspicion.first
        await shrink(first.course, first.violation(sought).step, attempt, smaller)
        suspicion.seconds = time.monotonic() - began
        if not spent:
            suspicion.undone.remove(NOT_SHRUNK)
        return way

    async def _show_once_more(self, suspicion: Suspicion, way: Sequence[Trial]) -> None:
        """Perform the smallest history as often as the first; one that does not hold gives way to the next larger."""
        self._say("performing the smallest history once more")
        smallest_first = [*way[: -STEPS_BACK - 1 : -1], suspicion.first]
        for trial in smallest_first:
            await self._perform_again(suspicion, trial)
            if suspicion.smallest_holds:
                return

    async def _perform_again(self, suspicion: Suspicion, trial: Trial) -> None:
        """Count how often a history shows it; the data and the logs of the first target that showed it are kept."""
        suspicion.smallest = trial
        suspicion.smallest_shown = suspicion.smallest_tried = 0
        for _ in range(self._plan.confirm):
            self._kept += not suspicion.smallest_shown
            keep = "" if suspicion.smallest_shown else f"target-{self._kept}"
            again = await self._attempt(trial.course, keep=keep)
            suspicion.smallest_tried += not again.fault
            if again.shows(suspicion.violation.kind):
                suspicion.smallest = again if keep else suspicion.smallest
                suspicion.smallest_shown += 1

    async def _first_that_shows(
        self, courses: Sequence[Course], sought: Kind, tries: int, known: dict[Course, Trial | None]
    ) -> list[Course]:
        for _ in range(tries):
            left = [course for course in courses if course not in known]
            trials = await self._attempt_all(left)
            known |= {trial.course: trial for trial in trials if trial.shows(sought)}
            for course in courses:
                if known.get(course) is not None:
                    return [course]
        known |= dict.fromkeys(courses)
        return []

    async def _attempt_all(self, courses: Sequence[Course]) -> list[Trial]:
        """Try histories side by side, as many at once as there may be."""
        gate = asyncio.Semaphore(self._plan.workers)

        async def one(course: Course) -> Trial:
            async with gate:
                return await self._attempt(course)

        async with asyncio.TaskGroup() as together:
            tasks = [together.create_task(one(course)) for course in courses]
        return [task.result() for task in tasks]

    async def _attempt(self, course: Course, *, keep: str = "") -> Trial:
        """Try a history, and know how long that takes."""
        began = time.monotonic()
        trial = await self._lab.attempt(course, keep=keep)
        self._took[course] = time.monotonic() - began
        return trial

    def _say(self, phase: str) -> None:
        self.found.phase = phase
        self._on_news(self.found)
