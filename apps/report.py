"""What a program tells the session service, so that a restart tells nothing twice.

What belongs to one step of one case has an event id made of both, and says only what is settled when it is told: a step
that is done again tells the same again, and the service knows it. Goals and sub-agents have ids of their own anyway.
"""

import hashlib
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.client import HookAgent
from holdfast.core.statuses import GoalStatus

log = logging.getLogger("apps")


class SessionReport:
    """One program's session: phase and step, actions, goals, and the team."""

    def __init__(self, agent: HookAgent, program: str) -> None:
        self._agent = agent
        self._program = program
        self.phase = "initialization"
        self.step = "starting"
        self.error: str | None = None

    @property
    def session_id(self) -> str:
        """The session that is reported to."""
        return self._agent.session_id

    def delivery(self) -> dict[str, Any]:
        """How far the service has heard what was told."""
        agent = self._agent
        return {"waiting": agent.spooled, "refused": agent.refused, "trouble": agent.trouble}

    async def begin(self, user: str, initial: Mapping[str, Any], tags: Sequence[str]) -> bool:
        """Describe the session, unless it is resumed; whether it is."""
        resumed = self._agent.resumed is not None
        if not resumed:
            await self._agent.create_session(user, agent=self._program, initial=dict(initial), tags=tags)
        await self._agent.log_action("program_resumed" if resumed else "program_started", {"program": self._program})
        await self._agent.update_state({"workspace": {"program": self._program}, "phase": self.phase})
        return resumed

    async def move(self, phase: str, step: str) -> None:
        """The program is in this phase, at this step."""
        if (phase, step) != (self.phase, self.step):
            self.phase, self.step = phase, step
            await self._agent.update_state({"phase": phase, "currentStep": step})

    async def tell(self, type: str, details: Mapping[str, Any]) -> None:
        """An action that may happen any number of times."""
        await self._agent.log_action(type, dict(details))

    async def tell_once(self, name: str, type: str, details: Mapping[str, Any]) -> None:
        """An action that happens once, however often it is told: `name` says which."""
        mark = hashlib.sha256(f"{self.session_id}\0{self._program}\0{name}".encode()).hexdigest()[:32]
        await self._agent.log_action({"type": type, "details": dict(details), "eventId": f"{self._program}-{mark}"})

    async def response_once(self, name: str, details: Mapping[str, Any]) -> None:
        """A response that is given once, however often it is told."""
        mark = hashlib.sha256(f"{self.session_id}\0{self._program}\0response\0{name}".encode()).hexdigest()[:32]
        await self._agent.log_response({"details": dict(details), "eventId": f"{self._program}-{mark}"})

    async def goal(self, goal_id: str, description: str) -> None:
        """A goal that is worked on; the same one again is the same one."""
        await self._agent.add_goal(description, goal_id=goal_id)
        await self._agent.update_goal(goal_id, "in_progress")

    async def end_goal(self, goal_id: str, status: GoalStatus = "completed") -> None:
        """A goal's end."""
        await self._agent.update_goal(goal_id, status)

    async def spawn(self, agent_id: str, kind: str, task: str) -> None:
        """A member of the team; the same one again is the same one."""
        await self._agent.spawn_agent(kind, {"task": task}, agent_id=agent_id)

    async def trouble(self, error: str | None) -> None:
        """What goes wrong, in the state for as long as it does."""
        if error != self.error:
            self.error = error
            await self._agent.update_state({"lastError": error})
            if error is not None:
                log.warning("%s", error)
                await self._agent.log_action("error", {"message": error, "step": self.step})
