"""Every part is killed in the middle of its work and started again; then all of the work is done."""

import asyncio

from holdfast.prove.live.claims import ClaimBroken, require
from holdfast.prove.service.stage import KillOrder, ServiceStage, ServiceStep
from holdfast.prove.service.surroundings import GATEWAY
from holdfast.prove.targets.target import TargetNotReady

BEGIN_SECONDS = 30.0


async def perform(stage: ServiceStage) -> str:
    """Give more to do, kill, start again, wave by wave; then wait until all is done."""
    waves = stage.plan()
    for number, wave in enumerate(waves):
        victims = {kill.victim for kill in wave}
        for program in stage.programs:
            if victims & {program.name, GATEWAY}:
                left = stage.options.cases - len(stage.cases[program.name])
                stage.feed(program, max(left // (len(waves) - number), 1))
        await asyncio.gather(*(_kill(stage, kill) for kill in wave))
    for program in stage.programs:
        stage.feed(program, max(stage.options.cases - len(stage.cases[program.name]), 1))
    await stage.until_idle()
    for name in stage.names:
        require(
            bool(stage.around.running(name)), "the parts run", f"{name} has ended", expected="it runs", got="it ended"
        )
    told = ", ".join(dict.fromkeys(stage.kills)) or "nobody"
    return f"killed {len(stage.kills)} times in the middle ({told}), and all of the work was done"


async def _kill(stage: ServiceStage, kill: KillOrder) -> None:
    """SIGKILL to a part while there is work, and a start."""
    victim = kill.victim
    stage.tell(f"killing {victim}")
    await _work_begins(stage, victim)
    await asyncio.sleep(kill.after)
    stage.note(f"kill {victim}", "kill", was=stage.around.running(victim))
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
