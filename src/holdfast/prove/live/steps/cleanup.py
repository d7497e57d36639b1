"""cleanup: the proof's sessions are deleted; what a deletion leaves by design is there, and nothing else.

A deletion takes away, so a backup of what is touched comes first; it goes again once the archive is seen to be whole.
"""

import asyncio
import time

from holdfast.core import HoldfastError
from holdfast.prove.live import proof_rows, remains
from holdfast.prove.live.api import at
from holdfast.prove.live.claims import ClaimBroken, require, same
from holdfast.prove.live.database import Row
from holdfast.prove.live.stage import REASON, LiveStage, LiveStep

NAME = "cleanup"
BACKUP = "proof-sessions.zip"
GONE = 410
MOVE_SECONDS = 20.0
REST_SECONDS = 60.0
RUNNING = frozenset({"submitted", "working"})
LOOK_EVERY_SECONDS = 0.05

Logs = dict[str, list[Row]]


async def perform(stage: LiveStage) -> str:
    """Back up, delete, and see what is left; again if a turn that was under way has made a session meanwhile."""
    while doomed := await _at_rest(stage):
        logs = _logs(stage, doomed)
        await _back_up(stage, doomed)
        await _delete(stage, doomed)
        await _until_moved(stage)
        _check_archives(stage, logs)
    await _check_gone(stage)
    with stage.database.look() as look:
        left = remains.left(look, stage.numbers(look), stage.sessions, stage.started_at)
    (stage.evidence.folder / BACKUP).unlink(missing_ok=True)
    return f"{len(stage.sessions)} sessions were archived and deleted; {len(left)} rows are left by design"


async def _at_rest(stage: LiveStage) -> list[str]:
    """The proof's sessions that are there, once no turn runs in them: a run that was cut short may have left one."""
    deadline = time.monotonic() + REST_SECONDS
    while True:
        with stage.database.look() as look:
            numbers = stage.numbers(look)
            sessions = proof_rows.rows_of(look, "sessions", numbers, "session_id, life")
            tasks = proof_rows.rows_of(look, "tasks", numbers, "state")
        running = [task for task in tasks if task["state"] in RUNNING]
        if not running or time.monotonic() > deadline:
            return [stage.mine(row["session_id"]) for row in sessions if row["life"] == "live"]
        await asyncio.sleep(LOOK_EVERY_SECONDS)


async def _back_up(stage: LiveStage, doomed: list[str]) -> None:
    answer = await stage.api.ask("a backup", "GET", "/api/export", session=doomed)
    same((answer.status, answer.raw[:2]), (200, b"PK"), "a fresh backup", "there is no backup, so nothing is deleted")
    (stage.evidence.folder / BACKUP).write_bytes(answer.raw)


async def _delete(stage: LiveStage, doomed: list[str]) -> None:
    """Delete each, also after one was refused."""
    refused: list[ClaimBroken | HoldfastError] = []
    for session_id in reversed(doomed):
        try:
            await stage.api.must("a deletion", "DELETE", at("/api/sessions/{}", session_id), reason=REASON)
        except (ClaimBroken, HoldfastError) as error:
            refused.append(error)
    if refused:
        raise refused[0]


async def _until_moved(stage: LiveStage) -> None:
    """Wait until no event is on its way to the archive any more."""
    deadline = time.monotonic() + MOVE_SECONDS
    lives = _lives(stage)
    while "leaving" in lives.values() and time.monotonic() < deadline:
        await asyncio.sleep(LOOK_EVERY_SECONDS)
        lives = _lives(stage)
    same(lives, dict.fromkeys(lives, "gone"), NAME, "a session of the proof was left behind")


def _check_archives(stage: LiveStage, logs: Logs) -> None:
    """ClaimBroken unless each archive has the log that its session had."""
    for session_id, log in logs.items():
        number = stage.row(session_id)["session_no"]
        with stage.database.look() as look:
            archive = proof_rows.rows_of(look, "archives", [number], "state, reason, last_seq, last_hash")
            moved = proof_rows.rows_of(look, "archived_events", [number], "seq, hash")
            rest = proof_rows.log(look, number)
            entries = proof_rows.rows_of(look, "session_entries", [number])
            routes = proof_rows.rows_of(look, "session_routes", [number], "ended_at")
        kept = [(row["state"], row["reason"], row["last_seq"], bytes(row["last_hash"])) for row in archive]
        expected = [("kept", REASON, *proof_rows.end_of(log))]
        require(
            kept == expected, NAME, "the archive does not end where the log did", expected="its head", got="another"
        )
        hashes = [bytes(row["hash"]) for row in sorted(moved, key=lambda row: int(row["seq"]))]
        same(hashes == [bytes(event["hash"]) for event in log], True, NAME, "the archive has other events than the log")
        same([event["type"] for event in rest], ["holdfast.session_deleted"], NAME, "events are left in the log")
        same(entries, [], NAME, "a key still routes to the session")
        same([row for row in routes if row["ended_at"] is None], [], NAME, "a route has not ended")


async def _check_gone(stage: LiveStage) -> None:
    """ClaimBroken if the API still has a session or a key of the proof."""
    for session_id in stage.sessions:
        answer = await stage.api.ask("a deleted session", "GET", at("/api/sessions/{}", session_id))
        same(answer.status, GONE, NAME, "the API still has a deleted session")
    for key in stage.keys:
        with stage.database.look() as look:
            known = proof_rows.routes(look, key)
        if known:
            told = await stage.api.must("a key of the proof", "GET", at("/api/keys/{}", key))
            same(told["sessionId"], None, NAME, "a key of the proof still routes to a session")


def _lives(stage: LiveStage) -> dict[str, str]:
    return {session_id: stage.row(session_id)["life"] for session_id in stage.sessions}


def _logs(stage: LiveStage, doomed: list[str]) -> Logs:
    with stage.database.look() as look:
        rows = {each: proof_rows.session(look, each) for each in doomed}
        return {each: proof_rows.log(look, row["session_no"]) for each, row in rows.items() if row is not None}


CLEANUP = LiveStep(
    "cleanup",
    "the proof's sessions are archived and deleted, and only what a deletion leaves by design is there",
    perform,
    moves=None,
)
