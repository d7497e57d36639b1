"""From nothing to three programs at work: the engine, what is built, the service, the programs, their first words."""

import asyncio

from holdfast.prove.live.claims import require, same
from holdfast.prove.service.stage import ServiceStage, ServiceStep
from holdfast.prove.service.surroundings import GATEWAY

AT_WORK = frozenset({"execution", "ready"})


async def find_engine(stage: ServiceStage) -> str:
    """What runs the parts is there."""
    return await stage.around.find_engine()


async def build(stage: ServiceStage) -> str:
    """Everything is installed."""
    return await stage.around.build(stage.tell)


async def start_service(stage: ServiceStage) -> str:
    """The gateway answers, and can write."""
    stage.tell("starting the session service")
    await stage.around.start(GATEWAY)
    health = await stage.api.must("health", "GET", "/health")
    same(health["status"], "ok", "the service is healthy", "it says something else")
    ready = await stage.api.must("ready", "GET", "/readyz")
    return f"holdfast {health['version']} on {ready['storage']['engine']} at {stage.around.url}"


async def start_programs(stage: ServiceStage) -> str:
    """The programs answer on HTTP; each finds work that waited for it."""
    for program in stage.programs:
        stage.feed(program, stage.options.cases // 2)
    stage.tell("starting the programs")
    await asyncio.gather(*(stage.around.start(program.name) for program in stage.programs))
    return ", ".join(f"{name} {stage.around.running(name)}" for name in stage.names)


async def initialise(stage: ServiceStage) -> str:
    """Each program works on its own session, and has nothing to complain of."""
    for program in stage.programs:

        async def missing(name: str = program.name) -> str:
            found = await stage.health(name)
            at_work = found.get("status") == "ok" or found.get("phase") in AT_WORK
            return "" if at_work else f"{name}: {found.get('phase')}, {found.get('error') or found.get('step')}"

        await stage.until("the programs are initialised", missing)
        found = await stage.health(program.name)
        require(
            found.get("sessionId") == stage.sessions[program.name],
            "the programs are initialised",
            f"{program.name} reports to another session",
            expected=stage.sessions[program.name],
            got=found.get("sessionId"),
        )
        stage.note(program.name, "facts", health=found)
    return f"{len(stage.programs)} programs are at work, each on a session of its own"


ENGINE = ServiceStep("engine available", "what runs the parts is there", find_engine, needed=True)
BUILT = ServiceStep("built", "every part is installed", build, needed=True)
HEALTHY = ServiceStep("service healthy", "the session service answers and can write", start_service, needed=True)
STARTED = ServiceStep("started", "every program answers", start_programs, needed=True)
INITIALISED = ServiceStep("initialised", "every program is at work on its session", initialise, needed=True)
