"""Runs rounds of a plan on SQLite and PostgreSQL side by side, and looks after each round at what is there.

Ids and times are the same on both, and a fault is at the same call, so both must give the same answers and keep the
same logs, byte for byte. A round has a tenant of its own; its seed alone makes it again.
"""

import asyncio
import random
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from tests.support.machine.calls import Caller
from tests.support.machine.faults import BrokenEngine, Faults
from tests.support.machine.model import Model, Outcome, World
from tests.support.machine.plan import MEMORIES, Plan, Step

from holdfast.core import HoldfastError, errors
from holdfast.core.errors import Busy, NotFound, OutcomeUnknown, StoreUnavailable
from holdfast.store import Store
from holdfast.store.engine import Tx
from holdfast.store.lifecycle import arrivals
from holdfast.store.lifecycle.deletion import move_step
from holdfast.store.machinery import Machinery
from holdfast.store.part import session_lock
from holdfast.store.tuning import StoreTuning
from holdfast.store.urls import open_engine

ROUND = 250
LONG_GROUPS = StoreTuning(group_seconds=60.0)
"""A group is not cut by the clock: both engines have the same."""
TROUBLE = (OutcomeUnknown, StoreUnavailable, Busy)
"""What a caller may be told only if something broke."""


@dataclass(slots=True)
class StepClock:
    """Stands still during a step."""

    time: int = 1_700_000_000_000

    def now(self) -> int:
        return self.time


@dataclass(slots=True)
class Side:
    """One engine of the two."""

    store: Store
    faults: Faults
    clock: StepClock
    caller: Caller
    model: Model
    wrong: list[str] = field(default_factory=list)

    def begin(self, tenant: str) -> None:
        """A new round."""
        self.caller = Caller(self.store.for_tenant(tenant))
        self.model = Model()


@dataclass(slots=True)
class Run:
    """What was done, and what was wrong."""

    steps: int = 0
    faults: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


@asynccontextmanager
async def side(url: str) -> AsyncIterator[Side]:
    """A store that breaks where it is told to, without chores."""
    clock, faults, numbers = StepClock(), Faults(), count(1)
    machinery = await asyncio.to_thread(
        lambda: Machinery(BrokenEngine(open_engine(url, clock), faults), read_only=False, tuning=LONG_GROUPS)
    )
    store = Store(machinery, "default", clock, lambda: f"{next(numbers):026}")
    try:
        yield Side(store, faults, clock, Caller(store), Model())
    finally:
        faults.arm(())
        await store.close()


async def run_machine(
    urls: Sequence[str], steps: int, *, seed: int, told: Callable[[str], None] = lambda _text: None
) -> Run:
    """So many steps on each of the stores, a round at a time; ends with the first round that is wrong."""
    run = Run()
    async with AsyncExitStack() as stack:
        sides = [await stack.enter_async_context(side(url)) for url in urls]
        while run.steps < steps * len(sides) and not run.wrong:
            await _round(sides, run, seed, min(ROUND, steps - run.steps // len(sides)))
            run.faults = sum(each.faults.met for each in sides)
            if run.wrong:
                run.wrong.insert(0, f"seed {seed}")
            told(f"    seed {seed}: {run.steps} steps, {run.faults} faults")
            seed = (seed * 6364136223846793005 + 1442695040888963407) % 2**32
        for each in sides:
            run.wrong += await each.store.verification.files()
    return run


async def _round(sides: Sequence[Side], run: Run, seed: int, steps: int) -> None:
    plan = Plan(random.Random(seed))
    for each in sides:
        each.begin(f"t{run.steps}")
    for step in plan.steps(steps):
        answers = await asyncio.gather(*(_make(each, step) for each in sides))
        for what, answer in answers[0]:
            run.outcomes[f"{what} {answer if answer in _REFUSALS else 'done'}"] += len(sides)
        if any(other != answers[0] for other in answers[1:]):
            run.wrong.append(f"{step} was answered {answers[0]} and {answers[1:]}")
            return
    run.steps += plan.number * len(sides)
    worlds = [await _look(each) for each in sides]
    for each, world in zip(sides, worlds, strict=True):
        name = each.store.engine.name
        run.wrong += [f"{name}: {text}" for text in each.wrong + each.model.violations(world)]
        run.wrong += [f"{name}: {text}" for text in await _verify(each.caller.store, world)]
    if any(world != worlds[0] for world in worlds[1:]):
        run.wrong.append("the stores differ: " + "; ".join(_differences(*worlds)))


async def _make(side: Side, step: Step) -> list[tuple[str, str]]:
    """Make a step, with its faults, and settle what is unknown where a key allows it; what the callers were told."""
    side.clock.time += 1_000
    before = side.faults.met
    if step.group:
        answers = await _make_together(side, step)
    else:
        side.faults.arm(step.faults)
        answers = [await _answer(side, step)]
    side.faults.arm(())
    parts = step.group or (step,)
    for part, answer in zip(parts, list(answers), strict=True):
        if isinstance(answer, TROUBLE) and side.faults.met == before:
            side.wrong.append(f"{part} was answered {answer!r}, and nothing broke")
        if isinstance(answer, OutcomeUnknown) and part.keyed:
            answers.append(await _answer(side, part))
    return [(part.what, _text(answer)) for part, answer in zip((*parts, *parts), answers, strict=False)]


async def _make_together(side: Side, step: Step) -> list[Any]:
    """Make the calls of a group while their lane is at work, so that they are one transaction."""
    begun, go_on = threading.Event(), threading.Event()
    store = side.caller.store

    def hold(_tx: Tx) -> None:
        begun.set()
        go_on.wait(60)

    name = session_lock(store.tenant, step.session)
    first = asyncio.ensure_future(store.sessions.workers.write(hold, (name,)))
    while not begun.is_set():
        await asyncio.sleep(0.0005)
    lane = next(lane for lane in store._machinery.lanes if lane.waiting)
    tasks = [asyncio.ensure_future(_answer(side, part)) for part in step.group]
    while lane.waiting < 1 + sum(not task.done() for task in tasks):
        await asyncio.sleep(0.0005)
    side.faults.arm(step.faults)
    go_on.set()
    await asyncio.gather(first, return_exceptions=True)
    return list(await asyncio.gather(*tasks))


async def _answer(side: Side, step: Step) -> Any:
    """What the caller of a step was told; the model is told too."""
    try:
        answer = await side.caller.make(step)
    except HoldfastError as error:
        side.model.note(step, Outcome.UNKNOWN if isinstance(error, OutcomeUnknown) else Outcome.REFUSED)
        return error
    side.model.note(step, Outcome.ACKNOWLEDGED)
    return answer


_REFUSALS = {kind.__name__ for kind in vars(errors).values() if isinstance(kind, type)}


def _text(answer: Any) -> str:
    return type(answer).__name__ if isinstance(answer, HoldfastError) else repr(answer)


async def _look(side: Side) -> World:
    """What is there, once what was begun and not finished is done or undone."""
    store = side.caller.store
    await arrivals.declare_all_dead(store.sessions.workers)
    for chore in (arrivals.undo_step, move_step):
        while await store.sessions.workers.write(chore, ()):
            pass
    live: list[str] = []
    cursor = None
    while True:
        page = await store.sessions.list(cursor=cursor, limit=500)
        live += [session.session_id for session in page.sessions]
        cursor = page.cursor
        if cursor is None:
            break
    gone = [archive.session_id for archive in await store.archives.list()]
    logs = {name: await store.read(name) for name in live}
    logs |= {name: [event async for event in store.archives.events(name)] for name in gone}
    return World(frozenset(live), frozenset(gone), logs, await _memories(store))


async def _memories(store: Store) -> dict[tuple[str, str], list[bytes | None]]:
    found = {}
    for number in range(MEMORIES):
        name = ("notes", f"k{number}")
        try:
            found[name] = [version.payload for version in await store.memories.history(*name)]
        except NotFound:
            found[name] = []
    return found


async def _verify(store: Store, world: World) -> list[str]:
    found = [await store.verification.session(name) for name in sorted(world.live)]
    return [f"{each.session_id}: {each.problem}" for each in found if each.problem is not None]


def _differences(one: World, other: World) -> list[str]:
    names = sorted({*one.logs, *other.logs})
    return [name for name in names if one.logs.get(name) != other.logs.get(name)] or ["not in their logs"]
