"""Every part is killed in the middle of its work and started again; then all of the work is done."""

import asyncio

from holdfast.prove.live.claims import ClaimBroken, require
from holdfast.prove.service.options import RANDOM
from holdfast.prove.service.stage import ServiceStage, ServiceStep
from holdfast.prove.service.surroundings import GATEWAY
from holdfast.prove.targets.target import TargetNotReady

BEGIN_SECONDS = 30.0
LONGEST_SECONDS = 0.6
"""How long after the beginning of the work somebody is killed, at most."""


async def perform(stage: ServiceStage) -> str:
    """Give more to do, kill, start again, as often as was planned; then wait until all is done."""
    rest = stage.options.cases - stage.options.cases // 2
    for victim in stage.plan():
        for program in stage.programs:
            if victim in {program.name, GATEWAY} and (rest_of := rest - _more(stage, program.name)) > 0:
                stage.feed(program, 1 if rest_of > 1 and stage.options.kills == RANDOM else rest_of)
        await _kill(stage, victim)
    for program in stage.programs:
        stage.feed(program, max(stage.options.cases - len(stage.cases[program.name]), 1))
    await stage.until_idle()
    for name in stage.names:
        require(
            bool(stage.around.running(name)), "the parts run", f"{name} has ended", expected="it runs", got="it ended"
        )
    told = ", ".join(dict.fromkeys(stage.kills)) or "nobody"
    return f"killed {len(stage.kills)} times in the middle ({told}), and all of the work was done"


def _more(stage: ServiceStage, name: str) -> int:
    """How much a program was given since the start."""
    return len(stage.cases[name]) - stage.options.cases // 2


async def _kill(stage: ServiceStage, victim: str) -> None:
    """SIGKILL to a part while there is work, at a moment that is drawn, and a start."""
    stage.tell(f"killing {victim}")
    await _work_begins(stage, victim)
    await asyncio.sleep(stage.chance.uniform(0, LONGEST_SECONDS))
    was = stage.around.running(victim)
    stage.note(f"kill {victim}", "kill", was=was)
    await stage.around.kill(victim)
    stage.kills.append(victim)
    stage.note(f"kill {victim}", "killed")
    try:
        await stage.around.start(victim)
    except TargetNotReady as error:
        raise ClaimBroken(
            "the parts come back", f"{victim}: {error.message}", expected="it starts", got="it does not"
        ) from None
    stage.note(f"kill {victim}", "ready", now=stage.around.running(victim))


async def _work_begins(stage: ServiceStage, victim: str) -> None:
    """Return once a program that is about to be killed has something to do, or has done all of it already."""

    program = next((each for each in stage.programs if each.name == victim), None)
    if program is None:
        return

    async def missing() -> str:
        counts = (await stage.health(victim)).get("counts") or {}
        ended = program.ended(stage.around.data(victim))
        begun = int(counts.get("waiting", 0)) > 0 or ended >= len(stage.cases[victim])
        return "" if begun else f"{victim} has not seen its work yet"

    try:
        await stage.until("the work begins", missing, within=BEGIN_SECONDS)
    except ClaimBroken as slow:
        stage.note(f"kill {victim}", "facts", slow=slow.got)


PARTS = ServiceStep(
    "process status", "whoever is killed in the middle comes back, and all of the work is done", perform, needed=True
)
