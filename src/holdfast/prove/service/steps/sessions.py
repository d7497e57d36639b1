"""What the service has of the three sessions: they are there, once and whole, and say how it stands."""

from holdfast.prove.live.claims import ClaimBroken, require, same
from holdfast.prove.service import records
from holdfast.prove.service.stage import ServiceStage, ServiceStep

LISTED = "the sessions are listed"
STANDS = "the states say how it stands"
PAGE = 500


async def look_for_sessions(stage: ServiceStage) -> str:
    """Each session is in the list once, can be read, and its log is whole."""
    listed: list[str] = []
    cursor = None
    while True:
        query = {"limit": PAGE} | ({"cursor": cursor} if cursor else {})
        page = await stage.api.must("sessions", "GET", "/api/sessions", **query)
        listed += [str(row["sessionId"]) for row in page["sessions"]]
        cursor = page["cursor"]
        if cursor is None:
            break
    for session_id in stage.sessions.values():
        same(listed.count(session_id), 1, LISTED, f"{session_id} is not once in the list")
        await records.read(stage.api, session_id)
    broken = await records.verify(stage.api, list(stage.sessions.values()))
    for session_id, problem in broken.items():
        raise ClaimBroken("the sessions are whole", f"{session_id}: {problem}", expected="verified", got=problem)
    return f"{len(stage.sessions)} sessions, once each, verified: {', '.join(stage.sessions.values())}"


async def look_at_states(stage: ServiceStage) -> str:
    """Each state has its phase, and a goal for each case that is completed."""
    goals = 0
    for program in stage.programs:
        state = (await records.read(stage.api, stage.sessions[program.name])).state
        same(state.get("phase"), "ready", STANDS, f"{program.name} is in another phase")
        require(bool(state.get("currentStep")), STANDS, f"{program.name} has no step", expected="a step", got="none")
        found = {str(goal["goalId"]): str(goal["status"]) for goal in state.get("goals", [])}
        statuses = [status for goal_id, status in found.items() if goal_id.startswith("case-")]
        same(
            len(statuses),
            len(stage.cases[program.name]),
            STANDS,
            f"the session of {program.name} has not one goal for each case",
        )
        same(set(statuses), {"completed"}, STANDS, f"a goal of {program.name} is not completed")
        goals += len(statuses)
    return f"every program is ready, and {goals} goals are completed"


SESSIONS = ServiceStep("sessions created", "each session is there once, and verified", look_for_sessions)
STATES = ServiceStep("states", "each state says that the work is done", look_at_states)
