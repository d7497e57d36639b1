"""Sub-agents: those at work for a session, from their spawning to their end."""

import hashlib
from dataclasses import replace
from typing import Any

from holdfast.core import SubAgent, strict_json
from holdfast.core.errors import Conflict, NotFound
from holdfast.core.event_bodies import AgentCompleted, AgentSpawned
from holdfast.core.ids import check_name, check_session_id
from holdfast.core.statuses import ACTIVE, AGENT_ENDS, COMPLETED, one_of
from holdfast.store.engine import Tx
from holdfast.store.log.append import append
from holdfast.store.log.log_reader import existing_head, head_of
from holdfast.store.log.prepare import at_time, check_most
from holdfast.store.log.projection import Child, completed_agent, new_agent
from holdfast.store.log.replay import find_replays, first_body
from holdfast.store.log.rows import AGENTS
from holdfast.store.part import Part

MAX_REPORT = 64 * 1024
"""A sub-agent's task, or its result."""


class SubAgents(Part):
    """`store.agents`."""

    __slots__ = ()

    async def spawn(
        self,
        session_id: str,
        type: str,
        task: Any = None,
        *,
        agent_id: str | None = None,
        spawned_at: int | None = None,
        idempotency_key: str | None = None,
        create: bool = True,
    ) -> SubAgent:
        """A new sub-agent; the same one again if that is what is there, Conflict if the id is another's."""
        check_session_id(session_id)
        name = check_name(agent_id or self._name(idempotency_key), "a sub-agent's id")
        body = AgentSpawned(name, check_name(type, "a sub-agent's type"), strict_json.plain(task))
        check_most(body.task, MAX_REPORT, "a sub-agent's task")
        event = at_time(self.own_event(body, idempotency_key), spawned_at)

        def write(tx: Tx) -> SubAgent:
            head = head_of(tx, self.tenant, session_id)
            number = 1
            if head is not None:
                there = AGENTS.get(tx, head.session_no, name)
                known = find_replays(tx, head, [event])
                if there is not None and same_members(there, type=body.type, task=body.task):
                    ours = bool(known) and known[0].event_id == event.event_id
                    return replace(as_agent(name, there), replayed=not ours)
                if known:
                    first_body(known[0], AgentSpawned)  # erased, for it left no sub-agent
                if there is not None:
                    raise Conflict(f"there is a sub-agent {name!r} already, and it is another one", agent_id=name)
                number = AGENTS.next_number(tx, head.session_no)
            append(tx, self.tenant, session_id, [event], create=create)
            child = new_agent(number, body, event.created_at)
            AGENTS.put(tx, existing_head(tx, self.tenant, session_id).session_no, {name: child})
            return as_agent(name, child)

        return await self.write(session_id, write)

    async def complete(
        self,
        session_id: str,
        agent_id: str,
        status: str = COMPLETED,
        result: Any = None,
        *,
        completed_at: int | None = None,
        idempotency_key: str | None = None,
    ) -> SubAgent:
        """The sub-agent, ended; the same end again changes nothing, another one is a Conflict."""
        check_session_id(session_id)
        end = one_of(AGENT_ENDS, status, f"a sub-agent cannot end as {status!r:.80}")
        body = AgentCompleted(check_name(agent_id, "a sub-agent's id"), end, strict_json.plain(result))
        check_most(body.result, MAX_REPORT, "a sub-agent's result")
        event = at_time(self.own_event(body, idempotency_key), completed_at)

        def write(tx: Tx) -> SubAgent:
            head = existing_head(tx, self.tenant, session_id)
            before = AGENTS.get(tx, head.session_no, agent_id)
            if before is None:
                raise NotFound(f"session {session_id!r} has no sub-agent {agent_id!r}", agent_id=agent_id)
            if find_replays(tx, head, [event]):
                return as_agent(agent_id, before)  # still active, if that end was erased
            if before.status != ACTIVE:
                if before.status == status and same_members(before, result=body.result):
                    return as_agent(agent_id, before)
                raise Conflict(f"sub-agent {agent_id!r} has ended before, otherwise", status=before.status)
            append(tx, self.tenant, session_id, [event])
            after = completed_agent(before, body, event.created_at)
            AGENTS.put(tx, head.session_no, {agent_id: after})
            return as_agent(agent_id, after)

        return await self.write(session_id, write)

    def _name(self, idempotency_key: str | None) -> str:
        """A new id; the same one for the same key, so that a retry names the same sub-agent."""
        if idempotency_key is None:
            return self.ids()
        return "agent-" + hashlib.sha256(idempotency_key.encode("utf-8", "surrogatepass")).hexdigest()[:26]

    async def list(self, session_id: str) -> list[SubAgent]:
        """The session's sub-agents in the order they were spawned."""
        check_session_id(session_id)
        return await self.workers.read(lambda tx: agents_of(tx, existing_head(tx, self.tenant, session_id).session_no))


def agents_of(tx: Tx, session_no: int) -> "list[SubAgent]":
    """The session's sub-agents."""
    return [as_agent(name, child) for name, child in AGENTS.all(tx, session_no).items()]


def same_members(there: Child, **members: Any) -> bool:
    """Whether the sub-agent has these members already, compared as JSON values."""
    return all(
        strict_json.canonical(there.document.get(name)) == strict_json.canonical(value)
        for name, value in members.items()
    )


def as_agent(agent_id: str, child: Child) -> SubAgent:
    """A row as a sub-agent."""
    known = child.document
    ended = (known.get("completedAt"), known.get("result"))
    return SubAgent(agent_id, known["type"], known["task"], child.status, known["spawnedAt"], *ended)
