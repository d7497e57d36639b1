"""The hook agent for programs with an event loop.

Calls that report something return at once, so they are only async in name; those that ask the service wait in a thread
while the loop goes on. What is done is in `blocking`, once.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from holdfast.client.action_span import ActionSpan, Function
from holdfast.client.blocking import DEFAULT_EVENTS, HookAgentBlocking
from holdfast.client.resume import ResumedSession
from holdfast.client.settings import DEFAULT_SPOOL_BYTES, DEFAULT_TIMEOUT
from holdfast.core.statuses import COMPLETED, MEDIUM, PENDING, AgentEnd, GoalPriority, GoalStatus


class HookAgent:
    """Reports what a program does to a session service, without losing anything and without holding the program up."""

    def __init__(
        self,
        session_id: str | None = None,
        *,
        url: str | None = None,
        token: str | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        spool: str | Path | None = None,
        spool_bytes: int = DEFAULT_SPOOL_BYTES,
    ) -> None:
        self._agent = HookAgentBlocking(
            session_id, url=url, token=token, timeout=timeout, spool=spool, spool_bytes=spool_bytes
        )

    @property
    def session_id(self) -> str:
        """The session that is reported on."""
        return self._agent.session_id

    @property
    def resumed(self) -> ResumedSession | None:
        """What entering found of a session that was there; None for a new one, or if the service was away."""
        return self._agent.resumed

    @property
    def spool(self) -> Path:
        """The folder that holds the spool, and in `refused.jsonl` what the service will not take."""
        return self._agent.spool

    @property
    def spooled(self) -> int:
        """How many entries of the session wait for the service."""
        return self._agent.spooled

    @property
    def refused(self) -> int:
        """How many entries the service refused since the agent was made."""
        return self._agent.refused

    @property
    def trouble(self) -> str | None:
        """Why nothing is delivered at present; None if all is well."""
        return self._agent.trouble

    async def __aenter__(self) -> "HookAgent":
        await asyncio.to_thread(self._agent.__enter__)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def test_connection(self) -> bool:
        """Whether the service would take an entry now; the log says why not."""
        return await asyncio.to_thread(self._agent.test_connection)

    async def create_session(
        self,
        user_id: str | None = None,
        *,
        agent: str | None = None,
        initial: Any = None,
        tags: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        parent_session: str | None = None,
    ) -> str:
        """Describe the session; its id. A session is described once: what was resumed has its description."""
        return self._agent.create_session(
            user_id, agent=agent, initial=initial, tags=tags, metadata=metadata, parent_session=parent_session
        )

    async def log_action(
        self,
        type: str | Mapping[str, Any],
        details: Any = None,
        *,
        timestamp: str | int | None = None,
        parent_id: str | None = None,
    ) -> str:
        """Log an action; its event id. It happened now, or at `timestamp`: ISO 8601, or milliseconds since 1970.

        One mapping, `{"type": …, "details": …}`, does as well; without `details`, its other members are the details.
        """
        return self._agent.log_action(type, details, timestamp=timestamp, parent_id=parent_id)

    async def log_response(
        self, details: Any, *, timestamp: str | int | None = None, parent_id: str | None = None
    ) -> str:
        """Log a response; its event id. A mapping with `details` may have the time and the parent in it."""
        return self._agent.log_response(details, timestamp=timestamp, parent_id=parent_id)

    async def update_state(self, patch: Mapping[str, Any]) -> None:
        """Merge a patch into the session's state: objects merge, arrays and scalars replace, None removes."""
        self._agent.update_state(patch)

    async def add_goal(
        self,
        description: str | Mapping[str, Any],
        *,
        goal_id: str | None = None,
        status: GoalStatus = PENDING,
        priority: GoalPriority = MEDIUM,
    ) -> str:
        """Add a goal; its id, which is made here if none is given, so that nobody waits for it.

        One mapping, `{"description": …, "goalId": …}`, does as well.
        """
        return self._agent.add_goal(description, goal_id=goal_id, status=status, priority=priority)

    async def update_goal(
        self,
        goal_id: str,
        status: GoalStatus | None = None,
        *,
        description: str | None = None,
        priority: GoalPriority | None = None,
    ) -> None:
        """Change a goal."""
        self._agent.update_goal(goal_id, status, description=description, priority=priority)

    async def spawn_agent(self, type: str | Mapping[str, Any], task: Any = None, *, agent_id: str | None = None) -> str:
        """Report a sub-agent; its id, which is made here if none is given.

        One mapping, `{"type": …, "task": …}`, does as well.
        """
        return self._agent.spawn_agent(type, task, agent_id=agent_id)

    async def complete_agent(self, agent_id: str, result: Any = None, *, status: AgentEnd = COMPLETED) -> None:
        """Report a sub-agent's end."""
        self._agent.complete_agent(agent_id, result, status=status)

    def acting(self, type: str, details: Any = None) -> ActionSpan:
        """Log a piece of work as an action: `async with agent.acting("book", {"seat": 3}) as output: …`."""
        return self._agent.acting(type, details)

    def action(self, type: str | None = None) -> Callable[[Function], Function]:
        """Log each call of a function, async or not, as an action; of its own name if none is given."""
        return self._agent.action(type)

    async def resume(self, limit: int = DEFAULT_EVENTS, *, timeout: float | None = None) -> ResumedSession:  # noqa: ASYNC109
        """The session as it is once everything logged so far is in it; NotFound if there is none."""
        return await asyncio.to_thread(self._agent.resume, limit, timeout=timeout)

    async def flush(self, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """Wait until the service has acknowledged all that was logged; NotDelivered or EntriesRefused if it has not."""
        await asyncio.to_thread(self._agent.flush, timeout)

    async def close(self, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """Deliver what the service takes in that time and end; what is left is in the spool for the next start."""
        await asyncio.to_thread(self._agent.close, timeout)
