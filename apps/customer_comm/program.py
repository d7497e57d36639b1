"""The program: it takes one message after the other from the inbox and has the team answer it."""

import asyncio
import os
from typing import Any

from apps import models, settings
from apps.answers import AnswerFolder
from apps.checkpoints import Checkpoints, checkpoint_file, forget_others, go_on
from apps.crash_points import CrashPoints
from apps.customer_comm import messages
from apps.customer_comm.points import POINTS
from apps.customer_comm.team import Team, new_case
from apps.failed_tries import FailedTries
from apps.inbox import Inbox
from apps.life import ProgramDescription, RunningProgram, live
from apps.patience import in_words, is_away, keep_trying
from apps.tool_server import tool_server

NAME = "customer_comm"
ABOUT = "A team that answers the customers of an operator of tandem flights."
LOOK_SECONDS = 0.25


class CaseDesk:
    """Takes what waits, in order; each message ends in done, failed or refused, and only once its end was told."""

    def __init__(self, program: RunningProgram, inbox: Inbox, answers: AnswerFolder, crash: CrashPoints) -> None:
        self._program = program
        self._report = program.report
        self._inbox = inbox
        self._answers = answers
        self._crash = crash
        self._tries = FailedTries()

    def count(self) -> None:
        """Tell the health how much there is of everything."""
        places = {place: self._inbox.count(place) for place in ("inbox", "done", "failed", "refused")}
        self._program.counts = {"waiting": places.pop("inbox"), **places, "answers": self._answers.count()}

    async def work(self, graph: Any, checkpoints: Checkpoints) -> None:
        """Answer what waits and what comes, until there is nothing more to do or the process ends."""
        self._program.status = "ok"
        await forget_others(checkpoints, self._inbox.waiting())
        while True:
            for name in self._inbox.refuse_names():
                await self._report.tell("message_refused", {"file": name[:200], "reason": "its name is none"})
            waiting = self._inbox.waiting()
            self.count()
            for name in self._tries.in_order(waiting):
                await self._one(name, graph, checkpoints)
                self.count()
            if waiting:
                continue
            await self._report.move("ready", "waiting for messages")
            if self._program.settings.once:
                return
            await asyncio.sleep(LOOK_SECONDS)

    async def _one(self, name: str, graph: Any, checkpoints: Checkpoints) -> None:
        try:
            message = messages.parse(self._inbox.read(name))
        except messages.NoMessage as error:
            if self._inbox.settled(name):
                await self._report.tell_once(f"{name}:refused", "message_refused", {"case": name, "reason": str(error)})
                self._inbox.move(name, "refused")
            else:
                await asyncio.sleep(LOOK_SECONDS)
            return
        goal = f"case-{name}"
        await self._report.goal(goal, f"Answer message {name}")
        self._crash.reached("case:goal")
        try:
            if self._answers.get(name) is None:
                await go_on(graph, checkpoints, name, new_case(name, message.sender, message.text))
        except Exception as error:
            await self._failed(name, goal, error)
            return
        await self._report.trouble(None)
        await self._tell_answer(name)
        await self._report.end_goal(goal)
        self._crash.reached("case:told")
        self._inbox.move(name, "done")
        self._crash.reached("case:moved")
        await checkpoints.adelete_thread(name)

    async def _tell_answer(self, name: str) -> None:
        answer = self._answers.get(name)
        assert answer is not None, name
        told = {"case": name, "to": answer["to"], "specialists": answer["specialists"], "answer": answer["answer"]}
        await self._report.response_once(name, told)

    async def _failed(self, name: str, goal: str, error: Exception) -> None:
        """What is away is waited for; what fails for itself is tried again a few times, and then put aside."""
        if is_away(error):
            self._tries.away(name)
            raise error
        await self._report.trouble(f"{name}: {in_words(error)}")
        if self._tries.is_hopeless(name):
            await self._report.end_goal(goal, "failed")
            self._inbox.move(name, "failed")
            await self._report.trouble(None)


def main() -> None:
    """Run the program."""
    chosen, _ = settings.read(NAME, ABOUT, 9101, POINTS)
    crash = CrashPoints(POINTS)
    inbox, answers = Inbox(chosen.data, ".json"), AnswerFolder(chosen.data / "answers")

    async def work(program: RunningProgram) -> None:
        report = program.report
        desk = CaseDesk(program, inbox, answers, crash)
        desk.count()
        await report.move("initialization", "model and checkpoints")
        async with models.chat_model() as model, checkpoint_file(chosen.data) as checkpoints:

            async def attempt() -> None:
                async with _tools(chosen) as tools:
                    await report.tell("tools_connected", tools.described)
                    members = Team(model, tools, report, answers, crash, chosen.desk_id)
                    await members.spawn()
                    await report.move("execution", "team_ready")
                    await desk.work(members.graph(checkpoints), checkpoints)

            await keep_trying(program, attempt)

    live(chosen, _description(), work, lambda program: messages.routes(chosen, inbox, answers, crash))


def _tools(chosen: settings.ProgramSettings) -> Any:
    url, token = os.environ.get("BOOKING_MCP_URL"), os.environ.get("BOOKING_MCP_TOKEN")
    return tool_server(url, token, "apps.customer_comm.booking_server", str(chosen.data / "bookings"))


def _description() -> ProgramDescription:
    config = {"model": models.described()}
    initial = {"source": "apps/customer_comm", "input": "messages of customers", "config": config}
    return ProgramDescription("tandem-flights", initial, ("customer_comm", "langgraph"))
