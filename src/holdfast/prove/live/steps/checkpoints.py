"""checkpoints: a checkpoint is listed, branched from and restored, and only the proof's keys move."""

from typing import Any

from holdfast.prove.live import proof_rows
from holdfast.prove.live.api import at
from holdfast.prove.live.claims import require, same
from holdfast.prove.live.stage import BRANCH, MANY, LiveStage, LiveStep

NAME = "checkpoint lifecycle"


async def perform(stage: LiveStage) -> str:
    """Make a checkpoint, go on, branch, restore."""
    session_id = stage.sessions[0]
    path = at("/api/sessions/{}", session_id)
    made = await stage.api.must("a checkpoint", "POST", f"{path}/checkpoints", {"name": stage.marker})
    listed = (await stage.api.must("the checkpoints", "GET", f"{path}/checkpoints"))["checkpoints"]
    same([each["checkpointId"] for each in listed], [made["checkpointId"]], NAME, "the list does not have it")
    with stage.database.look() as look:
        number = stage.row(session_id)["session_no"]
        kept = proof_rows.rows_of(look, "checkpoints", [number], "checkpoint_id")
    same([each["checkpoint_id"] for each in kept], [made["checkpointId"]], NAME, "the rows do not have it")
    note = {"type": "live-proof.note", "details": {"marker": stage.marker}}
    await stage.api.must("an event after it", "POST", at("/api/actions/{}", session_id), note)
    await _branch(stage, session_id, f"{path}/checkpoints/{made['checkpointId']}/branch", made)
    await _restore(stage, session_id, f"{path}/checkpoints/{made['checkpointId']}/restore", made)
    return f"a checkpoint at seq {made['seq']} was listed, branched from and restored"


async def _branch(stage: LiveStage, session_id: str, path: str, made: dict[str, Any]) -> None:
    """A branch has a key of its own, and the session keeps its key."""
    branch = stage.mine((await stage.api.must("a branch", "POST", path, {"key": stage.key + BRANCH}))["sessionId"])
    same(_current(stage, stage.key), session_id, NAME, "a branch took the session's key")
    same(_current(stage, stage.key + BRANCH), branch, NAME, "the branch is not on its own key")
    _same_beginning(stage, session_id, branch, made["seq"])


async def _restore(stage: LiveStage, session_id: str, path: str, made: dict[str, Any]) -> None:
    """A restored session is on the key of the one that it takes the place of, and on no other."""
    restored = stage.mine((await stage.api.must("a restore", "POST", path, {}))["sessionId"])
    _same_beginning(stage, session_id, restored, made["seq"])
    same(_current(stage, stage.key), restored, NAME, "the restored session is not on the key that it was restored for")
    with stage.database.look() as look:
        number = stage.row(restored)["session_no"]
        keys = [row["key"] for row in proof_rows.rows_of(look, "session_entries", [number], "key")]
        ended = [route["session_id"] for route in proof_rows.routes(look, stage.key) if route["ended_at"] is not None]
    same(keys, [stage.key], NAME, "the restored session is on other keys")
    same(ended, [session_id], NAME, "the route to the session before it has not ended")
    told = await stage.api.must("the key", "GET", at("/api/keys/{}", stage.key))
    same(told["sessionId"], restored, NAME, "the API routes the key elsewhere")


def _current(stage: LiveStage, key: str) -> str | None:
    with stage.database.look() as look:
        row = proof_rows.session_on(look, key)
    return row["session_id"] if row else None


def _same_beginning(stage: LiveStage, source: str, copy: str, seq: int) -> None:
    """ClaimBroken unless the copy begins with the source's events up to a seq, and has nothing of what came later."""
    with stage.database.look() as look:
        one, other = (proof_rows.log(look, stage.row(each)["session_no"]) for each in (source, copy))
    hashes = [bytes(event["hash"]) for event in one if event["seq"] <= seq]
    require(
        [bytes(event["hash"]) for event in other[:seq]] == hashes,
        NAME,
        "the copy has another beginning",
        expected=f"{seq} events of the source",
        got="others",
    )
    later = {event["event_id"] for event in one if event["seq"] > seq}
    require(
        not later & {event["event_id"] for event in other},
        NAME,
        "the copy has events from after the checkpoint",
        expected="none",
        got="some",
    )


CHECKPOINTS = LiveStep(
    "checkpoints",
    "a checkpoint is listed, branched from and restored, on the proof's keys only",
    perform,
    needs=frozenset({"chat", "identity"}),
    moves={
        "sessions": (2, 2),
        "session_entries": (1, 1),
        "session_routes": (2, 2),
        "transcript_events": (2, MANY),
        "transcript_event_identities": (2, MANY),
    },
)
