"""What the steps of one run share: the parts, what the programs were given, and how to wait for them."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import httpx2

from holdfast.core import HoldfastError
from holdfast.prove.evidence import Evidence
from holdfast.prove.live.api import GatewayApi
from holdfast.prove.live.claims import ClaimBroken
from holdfast.prove.service.options import NONE, ONE_EACH, ServiceOptions
from holdfast.prove.service.program import ProgramCase, ProgramSpec
from holdfast.prove.service.surroundings import GATEWAY, Surroundings, Tell

LOOK_EVERY_SECONDS = 0.05
MOST_WAVES = 4
LONGEST_SECONDS = 0.6
"""How long after the beginning of the work somebody is killed, at most."""
ANSWER_SECONDS = 5.0


class KillOrder(NamedTuple):
    """Who is killed, and how many seconds after there is something to do."""

    victim: str
    after: float


@dataclass(slots=True)
class ServiceStage:
    """One run: `step` tells how far the step at work is."""

    options: ServiceOptions
    evidence: Evidence
    around: Surroundings
    api: GatewayApi
    programs: tuple[ProgramSpec, ...]
    sessions: dict[str, str]
    seed: int
    tell: Tell
    chance: random.Random = field(init=False)
    cases: dict[str, list[ProgramCase]] = field(init=False)
    kills: list[str] = field(default_factory=list)
    """Who was killed, in order."""

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.cases = {program.name: [] for program in self.programs}

    @property
    def names(self) -> tuple[str, ...]:
        """The parts: the programs, and the gateway."""
        return (*(program.name for program in self.programs), GATEWAY)

    def plan(self) -> list[list[KillOrder]]:
        """Who is to be killed, in waves: those of one wave are killed beside each other, each once."""
        programs = [program.name for program in self.programs]
        waves = {NONE: [], ONE_EACH: [programs, [GATEWAY]]}.get(self.options.kills)
        if waves is None:
            count = self.chance.randint(2, MOST_WAVES)
            waves = [self.chance.sample(self.names, self.chance.randint(1, len(self.names))) for _ in range(count)]
        return [[KillOrder(name, self.chance.uniform(0, LONGEST_SECONDS)) for name in wave] for wave in waves]

    def note(self, step: str, event: str, **details: Any) -> None:
        """Write something into the evidence."""
        self.evidence.event(self.api.step, step, event, **details)

    def feed(self, program: ProgramSpec, count: int) -> None:
        """Give a program so many more things to do, each file whole."""
        for _ in range(count):
            case = program.draw(self.chance, len(self.cases[program.name]))
            path = self.around.data(program.name) / case.path
            path.parent.mkdir(parents=True, exist_ok=True)
            beside = path.parent.parent / f".{path.name}.new"
            beside.write_bytes(case.content)
            self.cases[program.name].append(case)
            beside.rename(path)

    async def health(self, name: str) -> dict[str, Any]:
        """What a program says of itself; an empty object if it says nothing."""
        try:
            async with httpx2.AsyncClient(trust_env=False, timeout=ANSWER_SECONDS) as http:
                answer = await http.get(self.around.health(name))
                found = answer.json()
        except (httpx2.HTTPError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    async def until(self, assertion: str, look: Callable[[], Awaitable[str]], *, within: float | None = None) -> None:
        """Wait until a look finds nothing that is missing; ClaimBroken with what it is, if that takes too long."""
        seconds = self.options.timeout if within is None else within
        deadline = time.monotonic() + seconds
        while missing := await look():
            if time.monotonic() > deadline:
                raise ClaimBroken(
                    assertion, f"not within {seconds:g} s", expected="everything is done", got=missing[:500]
                )
            self.tell(missing)
            await asyncio.sleep(LOOK_EVERY_SECONDS)

    async def until_idle(self) -> None:
        """Wait until every program has done all that it was given, and the service knows it."""
        for program in self.programs:
            await self.until("the work is done", lambda program=program: self._unfinished(program))  # type: ignore[misc]

    async def _unfinished(self, program: ProgramSpec) -> str:
        """What a program has yet to do; empty if nothing."""
        found = await self.health(program.name)
        if not found:
            return f"{program.name} does not answer"
        try:
            counts, delivery = dict(found["counts"]), dict(found["delivery"])
            ended = program.ended(self.around.data(program.name))
            given = len(self.cases[program.name])
            if ended < given or int(counts["waiting"]) or found["phase"] != "ready":
                step = found.get("error") or found["step"]
                return f"{program.name} has done {ended} of {given}: {found['phase']}, {step}"
            if int(delivery["waiting"]):
                return f"{program.name} has {delivery['waiting']} reports to deliver: {delivery.get('trouble')}"
        except (LookupError, TypeError, ValueError) as error:
            return f"{program.name} tells its health in another form: {type(error).__name__} {error}"
        return ""


@dataclass(frozen=True, slots=True)
class ServiceStep:
    """A step: its name, what it claims, and what it does; the reason that it returns is what holds.

    If `needed` it is one without which no other can be taken.
    """

    name: str
    claim: str
    perform: Callable[[ServiceStage], Awaitable[str]]
    needed: bool = False


class PartLeftOut(HoldfastError):
    """What a step needs is not on this machine; the message says what."""

    code = "left_out"
    status = 503
