"""The program: it has Claude Code do one task after the other, unattended; or it hands the terminal over to it."""

import argparse
import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from apps import settings
from apps.answers import AnswerFolder
from apps.claude_cli.command_line import THEIRS, ClaudeCode, ClaudeFailed
from apps.claude_cli.points import POINTS
from apps.crash_points import CrashPoints
from apps.failed_tries import FailedTries
from apps.health import served
from apps.inbox import Inbox
from apps.life import ProgramDescription, RunningProgram, live
from holdfast.core.durable_files import make_folder

NAME = "claude_cli"
ABOUT = "Claude Code, which does tasks in a workspace under the rules of a .claude folder."
LOOK_SECONDS = 0.25
PAUSE = 2.0
SECONDS_TO_FLUSH = 60.0
SECONDS_AT_THE_END = 5.0
MODELS = ("simulator", "anthropic")


class TaskDesk:
    """Takes what waits, in order; each task ends in done, failed or refused, and only once its end was told."""

    def __init__(self, program: RunningProgram, claude: ClaudeCode, inbox: Inbox, crash: CrashPoints) -> None:
        self._program = program
        self._report = program.report
        self._claude = claude
        self._inbox = inbox
        self._crash = crash
        data = program.settings.data
        self._answers = AnswerFolder(data / "answers")
        self._results = AnswerFolder(data / "results")
        self._tries = FailedTries()

    async def work(self) -> None:
        """Do what waits and what comes, until there is nothing more to do or the process ends."""
        self._program.status = "ok"
        while True:
            for name in self._inbox.refuse_names():
                await self._report.tell("task_refused", {"file": name[:200], "reason": "its name is none"})
            waiting = self._inbox.waiting()
            self._count()
            for name in self._tries.in_order(waiting):
                await self._one(name)
                self._count()
            if waiting:
                continue
            await self._report.move("ready", "waiting for tasks")
            if self._program.settings.once:
                return
            await asyncio.sleep(LOOK_SECONDS)

    async def _one(self, name: str) -> None:
        words = self._inbox.read(name).decode("utf-8", "replace").strip()
        if not words:
            if self._inbox.settled(name):
                await self._report.tell_once(f"{name}:refused", "task_refused", {"task": name, "reason": "it is empty"})
                self._inbox.move(name, "refused")
            else:
                await asyncio.sleep(LOOK_SECONDS)
            return
        goal = f"case-{name}"
        await self._report.goal(goal, f"Do task {name}")
        self._crash.reached("case:goal")
        try:
            result = self._results.get(name) or await self._do(name, words)
        except ClaudeFailed as failure:
            await self._failed(name, goal, failure)
            return
        await self._report.trouble(None)
        session = self._claude.session_of(name)
        self._answers.write(name, {"id": name, "answer": result["result"], "session": session})
        self._crash.reached("answer:kept")
        told = {"task": name, "claudeSession": session}
        await self._report.tell_once(f"{name}:finished", "task_finished", told)
        await self._report.response_once(name, told | {"answer": result["result"]})
        await self._report.end_goal(goal)
        self._crash.reached("case:told")
        self._inbox.move(name, "done")
        self._crash.reached("case:moved")

    async def _do(self, name: str, words: str) -> dict[str, Any]:
        """Have Claude Code do it; what it said at its end is kept before anything is made of it."""
        await self._report.move("execution", f"task {name}")
        told = {"task": name, "claudeSession": self._claude.session_of(name)}
        await self._report.tell_once(f"{name}:started", "task_started", told)
        self._crash.reached("claude:before")
        result = await self._claude.do(name, words, lambda how_far: self._crash.reached(f"claude:{how_far}"))
        self._crash.reached("claude:after")
        self._results.write(name, {"result": result["result"], "turns": result.get("num_turns")})
        self._crash.reached("result:kept")
        return result

    async def _failed(self, name: str, goal: str, failure: ClaudeFailed) -> None:
        """Try again after a pause, a few times; then the task is put aside, and told."""
        await self._report.trouble(f"{name}: {failure}"[:500])
        if self._tries.is_hopeless(name):
            await self._report.end_goal(goal, "failed")
            self._inbox.move(name, "failed")
            await self._report.trouble(None)
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(self._program.stopping.wait(), PAUSE)

    def _count(self) -> None:
        places = {place: self._inbox.count(place) for place in ("inbox", "done", "failed", "refused")}
        self._program.counts = {"waiting": places.pop("inbox"), **places, "answers": self._answers.count()}


def main() -> None:
    """Run the program."""
    chosen, options = settings.read(NAME, ABOUT, 9103, POINTS, _more)
    crash = CrashPoints(POINTS)
    workspace = Path(os.environ.get("APP_WORKSPACE") or chosen.data / "workspace")
    if options.interactive is not None:
        sys.exit(asyncio.run(_talk(chosen, workspace, options.interactive)))
    inbox = Inbox(chosen.data, ".md")

    async def work(program: RunningProgram) -> None:
        async with _claude(chosen, workspace) as claude:
            await program.report.tell("governed", {"rules": sorted(_rules(workspace)), "workspace": str(workspace)})
            # What the hooks of a run that was killed have kept, and in the end what the last ones have.
            flushing = asyncio.create_task(claude.flush(SECONDS_TO_FLUSH))
            try:
                await TaskDesk(program, claude, inbox, crash).work()
            finally:
                flushing.cancel()
                await asyncio.gather(flushing, return_exceptions=True)
                await claude.flush(SECONDS_AT_THE_END)

    config = {"model": os.environ.get("APP_MODEL") or "simulator"}
    initial = {"source": "apps/claude_cli", "input": "tasks", "config": config}
    live(chosen, ProgramDescription("claude-cli", initial, ("claude_cli", "claude-code")), work)


def _more(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--interactive",
        nargs=argparse.REMAINDER,
        metavar="…",
        help="talk with Claude Code at this terminal instead; the rest is for its command line",
    )


async def _talk(chosen: settings.ProgramSettings, workspace: Path, arguments: list[str]) -> int:
    async with _claude(chosen, workspace) as claude:
        return await claude.talk(arguments)


@asynccontextmanager
async def _claude(chosen: settings.ProgramSettings, workspace: Path) -> AsyncIterator[ClaudeCode]:
    """The command line, governed, and the model that it asks: the simulator unless `APP_MODEL` is `anthropic`."""
    kind = os.environ.get("APP_MODEL") or "simulator"
    if kind not in MODELS:
        raise SystemExit(f"APP_MODEL is {kind!r}; Claude Code speaks to {' or '.join(MODELS)}")
    home = chosen.data / "home"
    make_folder(home)
    if kind == "anthropic":
        model = {name: os.environ[name] for name in THEIRS if name in os.environ}
        yield _prepared(chosen, home, workspace, model)
        return
    from holdfast.models.simulator.app import create_app

    async with served(create_app(asyncio.Event()), "127.0.0.1", 0) as url:
        model = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none", "ANTHROPIC_MODEL": "sim-1"}
        yield _prepared(chosen, home, workspace, model)


def _prepared(chosen: settings.ProgramSettings, home: Path, workspace: Path, model: dict[str, str]) -> ClaudeCode:
    small = {"ANTHROPIC_SMALL_FAST_MODEL": model["ANTHROPIC_MODEL"]} if "ANTHROPIC_MODEL" in model else {}
    claude = ClaudeCode(home, workspace, model | small, chosen.session_id, chosen.desk_id)
    claude.prepare()
    return claude


def _rules(workspace: Path) -> list[str]:
    folder = workspace / ".claude"
    return [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]
