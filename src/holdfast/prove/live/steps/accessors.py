"""accessors: what the API tells of sessions equals their rows, for the proof's session and for some that were there."""

from collections.abc import Mapping
from typing import Any

from holdfast.core import strict_json
from holdfast.core.clock import to_iso
from holdfast.prove.live import proof_rows
from holdfast.prove.live.api import at
from holdfast.prove.live.claims import ClaimBroken, digest, same
from holdfast.prove.live.database import Row
from holdfast.prove.live.stage import LiveStage, LiveStep

NAME = "metadata accessors"
TRIES = 5
"""Others may write between two looks; whoever does so every time is left out."""


async def perform(stage: LiveStage) -> str:
    """Compare the proof's session, its key, and the neighbours that were chosen."""
    with stage.database.look() as look:
        row = proof_rows.session_on(look, stage.key)
    assert row is not None
    await compare(stage, row["session_id"])
    await compare_key(stage)
    compared = [session_id for session_id in stage.neighbours if await compare(stage, session_id)]
    stage.note("neighbours", compared=compared, moving=[each for each in stage.neighbours if each not in compared])
    return f"the API and the rows agree on the proof's session and on {len(compared)} others"


async def compare(stage: LiveStage, session_id: str) -> bool:
    """Compare a session with its row; False if it never stood still."""
    for _ in range(TRIES):
        before, state = _rows(stage, session_id)
        answer = await stage.api.ask("a session", "GET", at("/api/sessions/{}", session_id), limit=1)
        if before != _rows(stage, session_id)[0]:
            continue
        if before is None or before["life"] != "live":
            return False
        told = answer.document
        expected = proof_rows.shown(before)
        _same_members(told.get("metadata", {}), expected, session_id)
        version, document = (state["version"], strict_json.parse_own(bytes(state["document"]))) if state else (0, {})
        _same_members(told.get("state", {}), {**document, "version": version}, session_id)
        return True
    return False


async def compare_key(stage: LiveStage) -> None:
    """Compare where the proof's key routes with its rows."""
    told = await stage.api.must("the key", "GET", at("/api/keys/{}", stage.key))
    with stage.database.look() as look:
        row, routes = proof_rows.session_on(look, stage.key), proof_rows.routes(look, stage.key)
    assert row is not None
    same(told["sessionId"], row["session_id"], NAME, "the key routes to another session")
    expected = [
        {
            "sessionId": route["session_id"],
            "startedAt": to_iso(route["started_at"]),
            "endedAt": None if route["ended_at"] is None else to_iso(route["ended_at"]),
        }
        for route in routes
    ]
    same(told["routes"], expected, NAME, "the key had other routes")


def _rows(stage: LiveStage, session_id: str) -> tuple[Row | None, Row | None]:
    with stage.database.look() as look:
        row = proof_rows.session(look, session_id, stage.tenant)
        state = look.rows("SELECT * FROM session_state WHERE session_no = ?", row["session_no"]) if row else []
        return row, state[0] if state else None


def _same_members(told: Mapping[str, Any], expected: Mapping[str, Any], session_id: str) -> None:
    """ClaimBroken if a member differs; of others' sessions only hashes are told."""
    for name, value in expected.items():
        if told.get(name) != value:
            raise ClaimBroken(
                NAME,
                f"the API tells another {name} of session {session_id} than its row",
                expected=digest(strict_json.encode(value)),
                got=digest(strict_json.encode(told.get(name))),
            )


ACCESSORS = LiveStep(
    "accessors",
    "the proof's session and some that were there, read through the API, equal their rows",
    perform,
    needs=frozenset({"chat"}),
)
