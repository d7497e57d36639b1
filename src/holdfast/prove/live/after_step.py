"""What must hold after every step: rows, the proof's session, its history, files, handles, the log.

Each assertion compares with what the last look saw, so that a step answers for what happened in it and for no more.
"""

import os
from collections.abc import Awaitable, Callable
from pathlib import Path

from holdfast.core import strict_json
from holdfast.prove.live import legacy_files, proof_rows
from holdfast.prove.live.api import at
from holdfast.prove.live.claims import ClaimBroken, digest, require, same, well_formed
from holdfast.prove.live.database import Row
from holdfast.prove.live.proof_rows import Said
from holdfast.prove.live.stage import LiveStage, LiveStep

SKEW_MS = 1_000
SHOWN = 5


async def judge(stage: LiveStage, step: LiveStep) -> list[ClaimBroken]:
    """Every assertion that does not hold after a step."""
    broken: list[ClaimBroken] = []
    for check in CHECKS:
        try:
            with well_formed():
                await check(stage, step)
        except ClaimBroken as error:
            broken.append(error)
    return broken


async def rows_advance(stage: LiveStage, step: LiveStep) -> None:
    """Rows advance only where this step makes some; if nobody else is there, no others do at all."""
    with stage.database.look() as look:
        total, ours = proof_rows.counts(look), proof_rows.counts_of(look, stage.numbers(look))
    before, stage.seen.total, all_before = stage.seen.ours, total, stage.seen.total
    stage.seen.ours = ours
    moved = {table: ours[table] - before[table] for table in ours}
    others = {table: total[table] - all_before[table] - moved[table] for table in total}
    stage.note("rows", moved=moved, others=others)
    for table, number in moved.items() if step.moves is not None else ():
        least, most = (step.moves or {}).get(table, (0, 0))
        require(
            least <= number <= most,
            "rows advance only where expected",
            f"{table} has {number:+d} rows of the proof",
            expected=f"{least}" if least == most else f"{least} to {most}",
            got=number,
        )
    if stage.alone:
        same(others, dict.fromkeys(others, 0), "rows advance only where expected", "rows of other sessions moved")


async def neighbours_unchanged(stage: LiveStage, step: LiveStep) -> None:
    """A session of others, of those that the proof looks at, changes by an event of its own or not at all, while it is
    there: of a deleted one the log is on its way to the archive."""
    with stage.database.look() as look:
        now = stage.neighbour_rows(look)
    before, stage.seen.neighbours = stage.seen.neighbours, now
    for session_id, row in now.items():
        was = before.get(session_id, row)
        kept = row == was or row["head_seq"] > was["head_seq"] or row["life"] != "live"
        told = "other sessions unchanged"
        require(kept, told, "a session of others changed without an event", expected="its row", got=session_id)


async def session_row(stage: LiveStage, step: LiveStep) -> None:
    """The session on the proof's key has the row that its log and the run make one expect."""
    with stage.database.look() as look:
        row = proof_rows.session_on(look, stage.key)
        if row is None:
            return
        events = proof_rows.log(look, row["session_no"])
        routes = proof_rows.routes(look, stage.key)
    told = "the row of the proof's session"
    require(
        row["session_id"] in stage.sessions,
        told,
        "the key routes to a session that is not the proof's",
        expected=stage.sessions,
        got=row["session_id"],
    )
    document = strict_json.parse_own(bytes(row["document"]))
    facts = {
        "agent": row["agent"],
        "life": row["life"],
        "status": row["status"],
        "metadata": document.get("metadata", {}),
        "seqs": [event["seq"] for event in events] == list(range(1, row["head_seq"] + 1)),
        "hash": bytes(events[-1]["hash"]) == bytes(row["head_hash"]) if events else False,
        "times": _in_order(row, events, stage.started_at),
        "open routes": [route["session_id"] for route in routes if route["ended_at"] is None],
    }
    expected = {
        "agent": stage.agent,
        "life": "live",
        "status": "active",
        "metadata": {},
        "seqs": True,
        "hash": True,
        "times": True,
        "open routes": [row["session_id"]],
    }
    wrong = [name for name in facts if facts[name] != expected[name]]
    for name in wrong[:1]:
        same(facts[name], expected[name], told, f"{name} is not what the run makes one expect")


async def history_is_the_tail(stage: LiveStage, step: LiveStep) -> None:
    """The history that the gateway tells is the tail of the transcript in the rows."""
    answer = await stage.api.ask("the history", "GET", at("/api/chat/{}/history", stage.key))
    told = [
        Said(each["seq"], each["role"], each["messageId"], digest(each["text"]))
        for each in answer.document.get("messages", ())
    ]
    with stage.database.look() as look:
        row = proof_rows.session_on(look, stage.key)
        tail = proof_rows.tail(look, row["session_no"]) if row else []
    name = "history equals the transcript's tail"
    refused = f"HTTP {answer.status} {answer.document.get('code', '')}"
    require(answer.status < 500, name, "the gateway cannot tell it", expected="HTTP 200", got=refused)
    same(answer.document.get("sessionId"), row["session_id"] if row else None, name, "it is of another session")
    same(told, tail, name, "the gateway tells what the rows do not have, or not all of it")


async def no_proof_file(stage: LiveStage, step: LiveStep) -> None:
    """No .jsonl was made or changed that is about a session of the proof."""
    before, now = stage.seen.side, legacy_files.side_marks(stage.data, stage.mirror)
    stage.seen.side = now
    names = (stage.marker, *stage.keys, *stage.sessions)
    changed = [path for path, mark in now.items() if before.get(path) != mark]
    found = [path for path in changed if legacy_files.is_of(Path(path), names)]
    _require_none(found, "no proof-session JSONL", "a file was written beside the database", expected="none")


async def legacy_unchanged(stage: LiveStage, step: LiveStep) -> None:
    """Every legacy file is as it was."""
    before, now = stage.seen.legacy, legacy_files.legacy_marks(stage.legacy)
    stage.seen.legacy = now
    changed = sorted(path for path in {*before, *now} if before.get(path) != now.get(path))
    _require_none(changed, "legacy files unchanged", "legacy files came, went or changed", expected="the same files")


async def no_legacy_handle(stage: LiveStage, step: LiveStep) -> None:
    """The gateway holds its database open, and no legacy file."""
    check_handles(stage)


def check_handles(stage: LiveStage) -> set[str]:
    """The gateway's open files; ClaimBroken unless they are what a gateway on its database has open."""
    opened = legacy_files.open_files(stage.pid)
    name = "open files"
    require(opened is not None, name, f"process {stage.pid} cannot be looked at", expected="its files", got="none")
    assert opened is not None
    legacy = legacy_files.legacy_handles(opened, stage.legacy)
    _require_none(legacy, "no hot legacy handle", "the gateway holds legacy files open", expected="none")
    if stage.database.path is not None:
        real = os.path.realpath(stage.database.path)
        missing = [path for path in (real, f"{real}-wal", f"{real}-shm") if path not in opened]
        require(
            not missing,
            name,
            "the gateway does not hold its database open",
            expected="the database, -wal and -shm",
            got=f"without {', '.join(missing)}",
        )
    return opened


async def log_is_clean(stage: LiveStage, step: LiveStep) -> None:
    """The log since the last look has nothing that a healthy gateway never says."""
    await stage.log.read_on(stage.api, step.name)


def _require_none(found: list[str], claim: str, reason: str, *, expected: str) -> None:
    """ClaimBroken if there is any of what must not be."""
    require(not found, claim, reason, expected=expected, got=", ".join(found[:SHOWN]))


def _in_order(row: Row, events: list[Row], started_at: int) -> bool:
    """Whether the times are those of a session that this run made, last changed by its last event."""
    newest = events[-1]["created_at"] if events else 0
    return bool(started_at - SKEW_MS <= row["created_at"] <= row["updated_at"] == newest)


CHECKS: tuple[Callable[[LiveStage, LiveStep], Awaitable[None]], ...] = (
    rows_advance,
    neighbours_unchanged,
    session_row,
    history_is_the_tail,
    no_proof_file,
    legacy_unchanged,
    no_legacy_handle,
    log_is_clean,
)
