"""The program: it takes one mail after the other from the mailbox through the pipeline."""

import asyncio
import os
from typing import Any

from apps import models, settings
from apps.checkpoints import Checkpoints, checkpoint_file, forget_others, go_on
from apps.crash_points import CrashPoints
from apps.email_solver.pipeline import Pipeline, new_case
from apps.email_solver.points import POINTS, STEPS
from apps.failed_tries import FailedTries
from apps.life import ProgramDescription, RunningProgram, live
from apps.patience import in_words, is_away, keep_trying
from apps.tool_server import ToolServer, tool_server

NAME = "email_solver"
ABOUT = "A pipeline that answers the mail of a mailbox folder."
STAGES = ("config", "tokens", "clients", "graph", "services", "execution")
NEEDED = frozenset({"list_mail", "read_mail", "send_answer", "note_outcome"})
LOOK_SECONDS = 0.25


class WrongServer(Exception):
    """What answers is no mail server of the kind that the pipeline needs."""


class MailDesk:
    """Takes what waits, in order; a mail waits until it is noted what became of it, and that was told."""

    def __init__(
        self,
        program: RunningProgram,
        tools: ToolServer,
        checkpoints: Checkpoints,
        crash: CrashPoints,
        tries: FailedTries,
    ) -> None:
        self._program = program
        self._report = program.report
        self._tools = tools
        self._checkpoints = checkpoints
        self._crash = crash
        self._tries = tries
        self._counts = program.counts

    async def work(self, graph: Any) -> None:
        """Answer what waits and what comes, until there is nothing more to do or the process ends."""
        self._program.status = "ok"
        await self._finish_told()
        while True:
            waiting: list[str] = await self._tools.call("list_mail", {})
            self._counts["waiting"] = len(waiting)
            for name in self._tries.in_order(waiting):
                await self._one(name, graph)
            if waiting:
                continue
            await self._report.move("ready", "waiting for mail")
            if self._program.settings.once:
                return
            await asyncio.sleep(LOOK_SECONDS)

    async def _finish_told(self) -> None:
        """Tell what the process did not come to tell before it died: its mail is noted, and waits no more."""
        await self._checkpoints.setup()
        waiting = await self._tools.call("list_mail", {})
        async with self._checkpoints.conn.execute("SELECT DISTINCT thread_id FROM checkpoints") as rows:
            begun = [str(row[0]) for row in await rows.fetchall()]
        for name in begun:
            if name not in waiting:
                config: Any = {"configurable": {"thread_id": name}}
                kept = await self._checkpoints.aget_tuple(config)
                await self._tell_end(name, dict(kept.checkpoint["channel_values"]) if kept else {})
        await forget_others(self._checkpoints, waiting)

    async def _one(self, name: str, graph: Any) -> None:
        goal = f"case-{name}"
        await self._report.goal(goal, f"Handle mail {name}")
        self._crash.reached("case:goal")
        try:
            case = await go_on(graph, self._checkpoints, name, new_case(name))
        except Exception as error:
            await self._failed(name, error)
            return
        await self._report.trouble(None)
        await self._tell_end(name, case)
        self._crash.reached("case:told")
        await self._checkpoints.adelete_thread(name)
        self._crash.reached("case:forgotten")

    async def _tell_end(self, name: str, case: dict[str, Any]) -> None:
        """The goal and the response of a mail that is noted."""
        if case.get("draft"):
            told = {"case": name, "to": case["mail"]["sender"], "category": case["category"], "answer": case["draft"]}
            await self._report.response_once(name, told)
            self._counts["sent"] += 1
        await self._report.end_goal(f"case-{name}")
        self._counts["done"] += 1
        self._counts["waiting"] = max(0, self._counts["waiting"] - 1)

    async def _failed(self, name: str, error: Exception) -> None:
        """What is away is waited for; what fails for itself is tried again a few times, and then put aside."""
        if is_away(error):
            self._tries.away(name)
            raise error
        said = f"{name}: {in_words(error)}"
        await self._report.trouble(said)
        if self._tries.is_hopeless(name):
            await self._tools.call("note_outcome", {"id": name, "outcome": "failed", "about": {"error": said}})
            await self._report.end_goal(f"case-{name}", "failed")
            await self._checkpoints.adelete_thread(name)
            self._counts["failed"] += 1
            await self._report.trouble(None)


def main() -> None:
    """Run the program."""
    chosen, _ = settings.read(NAME, ABOUT, 9102, POINTS)
    crash = CrashPoints(POINTS)

    async def work(program: RunningProgram) -> None:
        report, tries = program.report, FailedTries()
        program.counts |= {"waiting": 0, "done": 0, "failed": 0, "refused": 0, "sent": 0}

        async def stage(name: str) -> None:
            place = STAGES.index(name)
            await report.move("execution" if name == "execution" else "initialization", name)
            await report.tell("stage", {"from": STAGES[place - 1] if place else None, "to": name})

        await stage("config")
        await report.tell("configured", {"model": models.described(), "mail": _url() or "the bundled server"})
        await stage("tokens")
        mail_token = os.environ.get("GMAIL_MCP_TOKEN")
        await stage("clients")
        async with models.chat_model() as model, checkpoint_file(chosen.data) as checkpoints:

            async def attempt() -> None:
                async with tool_server(_url(), mail_token, "apps.email_solver.mail_server", str(chosen.data)) as tools:
                    scheme = "bearer" if mail_token else "none needed"
                    await report.tell("authenticated", {"with": "mail server", "scheme": scheme})
                    await report.tell("mcp_initialized", tools.described)
                    missing = sorted(NEEDED - set(tools.tools))
                    if missing:
                        raise WrongServer(f"the mail server has no tool {', '.join(missing)}")
                    await stage("graph")
                    desk = MailDesk(program, tools, checkpoints, crash, tries)
                    graph = Pipeline(model, tools, report, crash).graph(checkpoints)
                    await report.tell_once("graph", "graph_built", {"steps": list(STEPS)})
                    await stage("services")
                    await report.tell("services", {"sessionService": report.delivery()["trouble"] or "reached"})
                    await stage("execution")
                    await desk.work(graph)

            await keep_trying(program, attempt)

    live(chosen, _description(), work)


def _url() -> str | None:
    return os.environ.get("GMAIL_MCP_URL") or None


def _description() -> ProgramDescription:
    config = {"model": models.described()}
    initial = {"source": "apps/email_solver", "input": "a mailbox", "config": config}
    return ProgramDescription("tandem-flights", initial, ("email_solver", "langgraph"))
