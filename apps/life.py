"""The life of a program: its session before anything else, its health while it runs, and an orderly end on SIGTERM.

Whatever it was at when it ends is gone on with by the next start, so the end waits for nothing but the report of it.
"""

import asyncio
import json
import os
import signal
import sys
import traceback
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.routing import Route

from apps.health import health_app, quiet, served
from apps.report import SessionReport
from apps.settings import ProgramSettings
from holdfast.client import HookAgent

SECONDS_TO_REPORT = 5.0


@dataclass
class RunningProgram:
    """What the parts of a program share while it runs."""

    settings: ProgramSettings
    report: SessionReport
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    counts: dict[str, int] = field(default_factory=dict)
    status: str = "starting"

    def health(self) -> dict[str, Any]:
        """What `GET /health` says."""
        report = self.report
        return {
            "status": self.status if report.error is None else "trouble",
            "program": self.settings.name,
            "sessionId": report.session_id,
            "phase": report.phase,
            "step": report.step,
            "counts": self.counts,
            "error": report.error,
            "delivery": report.delivery(),
            "pid": os.getpid(),
        }


@dataclass(frozen=True, slots=True)
class ProgramDescription:
    """What a program's session says of it."""

    user: str
    initial: dict[str, Any]
    tags: Sequence[str]


Work = Callable[[RunningProgram], Awaitable[None]]


def live(
    settings: ProgramSettings,
    description: ProgramDescription,
    work: Work,
    routes: Callable[[RunningProgram], Sequence[Route]] = lambda program: (),
) -> None:
    """Run a program until its work is done, or a signal ends it; exits with 0 in both cases, with 1 if it broke."""
    quiet()
    sys.exit(asyncio.run(_run(settings, description, work, routes)))


async def _run(
    settings: ProgramSettings,
    description: ProgramDescription,
    work: Work,
    routes: Callable[[RunningProgram], Sequence[Route]],
) -> int:
    loop, asked = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asked.set)
    spool = os.environ.get("HOLDFAST_SPOOL") or settings.data / "spool"
    agent = HookAgent(settings.session_id, spool=spool)
    async with agent:
        report = SessionReport(agent, settings.name)
        program = RunningProgram(settings, report, asked)
        app = health_app(program.health, list(routes(program)), [settings.host, *_names()])
        async with served(app, settings.host, settings.port) as url:
            print(json.dumps(_announcement(settings, url)), flush=True)
            await report.begin(description.user, description.initial, description.tags)
            failure = await _until_stopped(program, work, asked)
        await agent.close(SECONDS_TO_REPORT)
    return 1 if failure else 0


async def _until_stopped(program: RunningProgram, work: Work, asked: asyncio.Event) -> BaseException | None:
    """Work until there is nothing more to do or somebody asks for the end; what broke it, if anything did."""
    report = program.report
    working, waiting = asyncio.ensure_future(work(program)), asyncio.ensure_future(asked.wait())
    await asyncio.wait([working, waiting], return_when=asyncio.FIRST_COMPLETED)
    program.status, step = "stopping", report.step
    for task in (working, waiting):
        task.cancel()
    found = (await asyncio.gather(working, return_exceptions=True))[0]
    failure = found if isinstance(found, Exception) else None
    if failure is not None:
        traceback.print_exception(failure, file=sys.stderr)
        await report.trouble(f"{type(failure).__name__}: {failure}"[:500])
    reason = "signal" if asked.is_set() else "error" if failure else "nothing left to do"
    await report.tell("program_stopped", {"reason": reason, "step": step, "clean": failure is None})
    await report.move("stopped", "stopped")
    return failure


def _announcement(settings: ProgramSettings, url: str) -> dict[str, Any]:
    return {
        "program": settings.name,
        "health": f"{url}/health",
        "url": url,
        "sessionId": settings.session_id,
        "data": str(settings.data),
        "pid": os.getpid(),
    }


def _names() -> list[str]:
    """Other names that the program may be called by: those of its container."""
    return [name for name in os.environ.get("APP_ALLOWED_HOSTS", "").split(",") if name]
