"""What a program goes on with: its session, state, open goals, sub-agents at work and the newest events."""

from dataclasses import dataclass
from typing import Any

from holdfast.core import Goal, Session, SubAgent
from holdfast.core.clock import from_iso

OURS = ("sessionId", "version", "goals", "agents")


@dataclass(frozen=True, slots=True)
class PastEvent:
    """An event of the session's log; `details` is None if it was erased."""

    seq: int
    event_id: str
    type: str
    details: Any
    timestamp: int
    parent_id: str | None = None


@dataclass(frozen=True, slots=True)
class ResumedSession:
    """A session at one moment. Times are in milliseconds since 1970.

    `events` are the newest after the `summary` of the last compaction; `complete` says that none lacks between the two.
    """

    session: Session
    state: dict[str, Any]
    version: int
    goals: list[Goal]
    agents: list[SubAgent]
    events: list[PastEvent]
    complete: bool
    summary: Any = None
    goals_omitted: int = 0
    agents_omitted: int = 0
    """How many older ones are open beside these."""

    @classmethod
    def of(cls, said: dict[str, Any]) -> "ResumedSession":
        """What the service's answer says."""
        return cls(
            session=_session(said["session"]),
            state={name: value for name, value in said["state"].items() if name not in OURS},
            version=said["state"]["version"],
            goals=[_goal(each) for each in said["goals"]],
            agents=[_agent(each) for each in said["agents"]],
            events=[_event(each) for each in said["events"]],
            complete=said["complete"],
            summary=said["snapshot"]["document"] if said["snapshot"] is not None else None,
            goals_omitted=said.get("goalsOmitted", 0),
            agents_omitted=said.get("agentsOmitted", 0),
        )


def _session(said: dict[str, Any]) -> Session:
    return Session(
        session_id=said["sessionId"],
        agent=said["agent"],
        user_id=said["userId"],
        status=said["status"],
        created_at=from_iso(said["createdAt"]),
        updated_at=from_iso(said["updatedAt"]),
        head_seq=said["headSeq"],
        head_hash=bytes.fromhex(said["headHash"]),
        metadata=said["metadata"],
        tags=tuple(said["tags"]),
        lineage=said["lineage"],
        held=said["held"],
        size_bytes=said["sizeBytes"],
    )


def _goal(said: dict[str, Any]) -> Goal:
    return Goal(said["goalId"], said["description"], said["status"], said["priority"], from_iso(said["createdAt"]))


def _agent(said: dict[str, Any]) -> SubAgent:
    return SubAgent(said["agentId"], said["type"], said["task"], said["status"], from_iso(said["spawnedAt"]))


def _event(said: dict[str, Any]) -> PastEvent:
    place = (said["seq"], said["eventId"], said["type"])
    return PastEvent(*place, said["details"], from_iso(said["timestamp"]), said.get("parentId"))
