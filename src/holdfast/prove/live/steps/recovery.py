"""recovery: a turn that a restart cut is gone on with, once, and nothing that was there is lost.

A gateway of our own is killed and started. Of one that is not, a turn of the proof's own session is interrupted through
the route that does to it what a restart would; no other session is touched.
"""

import asyncio
import time
from contextlib import suppress

from holdfast.core import HoldfastError, strict_json
from holdfast.prove.live import proof_rows
from holdfast.prove.live.api import at
from holdfast.prove.live.claims import ClaimBroken, StepUnjudged, same
from holdfast.prove.live.database import Row
from holdfast.prove.live.stage import MANY, LiveStage, LiveStep
from holdfast.prove.live.stage import RECOVERY as ENDING

NAME = "restart recovery"
PROMPT = "Think for 2 seconds, then say the word {}."
OVER_BY_THEN = 409
BEGIN_SECONDS = 15.0
END_SECONDS = 30.0
LOOK_EVERY_SECONDS = 0.02
OVER = frozenset({"completed", "failed", "canceled", "rejected"})


async def perform(stage: LiveStage) -> str:
    """Begin a turn, cut it while it runs, and see how it ends."""
    key = stage.key + ENDING
    turn = asyncio.create_task(stage.say(key, PROMPT.format(stage.marker)))
    try:
        await _until(stage, key, frozenset({"working"}), BEGIN_SECONDS, "the turn did not begin")
        before = _logs(stage)
        await _cut(stage, key)
    finally:
        turn.cancel()
        with suppress(asyncio.CancelledError, ClaimBroken, HoldfastError):
            await turn
    task = await _until(stage, key, OVER, END_SECONDS, "the turn did not end")
    same(task["state"], "completed", NAME, "the turn was not gone on with")
    _check_nothing_lost(before, _logs(stage))
    await _check_session(stage, key)
    return "the turn that was cut was marked interrupted, begun again once, and answered"


async def _cut(stage: LiveStage, key: str) -> None:
    """Do to the turn what a restart does; StepUnjudged if it was over by then."""
    if stage.power is not None:
        await stage.power.kill()
        stage.evidence.event(stage.api.step, "kill", "killed", pid=stage.pid)
        await stage.power.start()
        stage.pid = int((await stage.api.must("the gateway", "GET", "/api/status"))["pid"])
        stage.evidence.event(stage.api.step, "start again", "ready", pid=stage.pid)
        return
    answer = await stage.api.ask("an interruption", "POST", at("/api/sessions/{}/interrupt", stage.sessions[-1]))
    if answer.status == OVER_BY_THEN:
        raise StepUnjudged("the turn was over before it could be interrupted", hint="run it again")
    same(answer.status, 200, NAME, "the turn could not be interrupted")


async def _check_session(stage: LiveStage, key: str) -> None:
    """ClaimBroken unless the session was interrupted and is active again, with one message and one answer."""
    with stage.database.look() as look:
        row = proof_rows.session_on(look, key)
        assert row is not None
        said = proof_rows.tail(look, row["session_no"])
        marks = [event for event in proof_rows.log(look, row["session_no"]) if _is_interruption(event)]
    same([each.role for each in said], ["user", "agent"], NAME, "the messages of the cut turn are not once there")
    same(len(marks), 1, NAME, "the session was not marked interrupted once")
    same(row["status"], "active", NAME, "the session did not become active again")
    told = await stage.history(key)
    same([each["seq"] for each in told["messages"]], [each.seq for each in said], NAME, "the history shows others")


def _is_interruption(event: Row) -> bool:
    document = strict_json.parse_own(bytes(event["payload"]))
    return isinstance(document, dict) and document.get("status") == "interrupted"


async def _until(stage: LiveStage, key: str, states: frozenset[str], within: float, otherwise: str) -> Row:
    """The task of the turn on a key, once it has one of these states."""
    deadline = time.monotonic() + within
    task: Row | None = None
    while time.monotonic() < deadline:
        with stage.database.look() as look:
            row = proof_rows.session_on(look, key)
            found = proof_rows.rows_of(look, "tasks", [row["session_no"]], "task_id, state") if row else []
        if row is not None:
            stage.mine(row["session_id"])
        task = found[0] if found else None
        if task is not None and task["state"] in states:
            return task
        await asyncio.sleep(LOOK_EVERY_SECONDS)
    raise ClaimBroken(NAME, otherwise, expected=" or ".join(sorted(states)), got=str(task and task["state"]))


def _check_nothing_lost(before: dict[str, list[bytes]], after: dict[str, list[bytes]]) -> None:
    for session_id, hashes in before.items():
        same(after[session_id][: len(hashes)] == hashes, True, NAME, f"events of session {session_id} were lost")


def _logs(stage: LiveStage) -> dict[str, list[bytes]]:
    with stage.database.look() as look:
        rows = {each: proof_rows.session(look, each) for each in stage.sessions}
        return {
            session_id: [bytes(event["hash"]) for event in proof_rows.log(look, row["session_no"])]
            for session_id, row in rows.items()
            if row is not None
        }


RECOVERY = LiveStep(
    "recovery",
    "a turn that a restart cut is gone on with, once, and nothing is lost",
    perform,
    needs=frozenset({"chat", "identity"}),
    moves={
        "sessions": (1, 1),
        "session_entries": (1, 1),
        "session_routes": (1, 1),
        "transcript_events": (2, MANY),
        "transcript_event_identities": (2, MANY),
    },
)
