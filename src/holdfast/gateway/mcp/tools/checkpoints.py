"""Tools for checkpoints: list, make, compact, branch, restore."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from holdfast.core.errors import NotFound
from holdfast.gateway.mcp.arguments import DEFAULT_ENTRIES, ChangeOfSession, Cursor, Handle, Limit, OfSession
from holdfast.gateway.mcp.service import RouteRequest, only_given
from holdfast.gateway.mcp.tool import ADDS, READS, REPLACES, McpTool
from holdfast.gateway.mcp.tools.sessions import of
from holdfast.gateway.wire.children import CheckpointList, CheckpointView, SnapshotView
from holdfast.gateway.wire.forks import ForkView
from holdfast.gateway.wire.types import Name, Seq

MOST_BYTES = 16 * 1024 * 1024
"""Of all checkpoints of a session, of which a page is shown."""

_decode = msgspec.json.Decoder(CheckpointList).decode
_encode = msgspec.json.Encoder().encode

NewId = Annotated[Handle | None, Meta(description="the new session's id; one is made if there is none")]
Label = Annotated[str, Meta(max_length=512, description="what it is called")]


class ListCheckpoints(OfSession, kw_only=True):
    """Whose checkpoints."""

    limit: Limit = DEFAULT_ENTRIES
    cursor: Cursor = None


class CheckpointPage(Struct):
    """Checkpoints, oldest first; `cursor` asks for the next page, null at the end."""

    checkpoints: list[CheckpointView]
    cursor: str | None


class CreateCheckpoint(ChangeOfSession, kw_only=True):
    """A checkpoint to make."""

    name: Label = ""
    seq: Annotated[Seq | None, Meta(description="at this event; at the end if left out")] = None
    checkpoint_id: Annotated[Name | None, Meta(description="its id; one is made if there is none")] = None


class CompactSession(ChangeOfSession, kw_only=True):
    """What is to be summed up."""

    summary: Annotated[Any, Meta(description="what stands for the events; made from them if left out")] = None
    first_seq: Seq = 1
    last_seq: Annotated[Seq | None, Meta(description="the last event that it stands for; the newest if left out")] = (
        None
    )
    name: Label = ""
    expected_seq: Annotated[Seq | None, Meta(description="refuse it unless the log ends with this seq")] = None


class BranchCheckpoint(ChangeOfSession, kw_only=True):
    """Where to branch."""

    checkpoint_id: Name
    new_session_id: NewId = None
    key: Annotated[Name | None, Meta(description="a new session key that is to route to the branch")] = None


class RestoreCheckpoint(ChangeOfSession, kw_only=True):
    """What to go back to."""

    checkpoint_id: Name
    new_session_id: NewId = None


def _list(given: ListCheckpoints) -> RouteRequest:
    return RouteRequest("GET", of("/api/sessions/{}/checkpoints", given.session_id), most_bytes=MOST_BYTES)


def _page(given: ListCheckpoints, raw: bytes) -> bytes:
    found = _decode(raw).checkpoints
    first = 0
    if given.cursor:
        places = [place for place, each in enumerate(found) if each.checkpoint_id == given.cursor]
        if not places:
            raise NotFound(f"there is no page after {given.cursor!r:.80}", hint="a cursor is of one session's list")
        first = places[0] + 1
    shown = found[first : first + given.limit]
    more = first + len(shown) < len(found)
    return _encode(CheckpointPage(shown, shown[-1].checkpoint_id if more else None))


def _create(given: CreateCheckpoint) -> RouteRequest:
    body = only_given({"name": given.name, "seq": given.seq, "checkpointId": given.checkpoint_id})
    where = of("/api/sessions/{}/checkpoints", given.session_id)
    return RouteRequest("POST", where, body=body, key=given.idempotency_key)


def _compact(given: CompactSession) -> RouteRequest:
    body = only_given(
        {
            "summary": given.summary,
            "firstSeq": given.first_seq,
            "lastSeq": given.last_seq,
            "name": given.name,
            "expectedSeq": given.expected_seq,
        }
    )
    where = of("/api/sessions/{}/compact", given.session_id)
    return RouteRequest("POST", where, body=body, key=given.idempotency_key, slow=True)


def _branch(given: BranchCheckpoint) -> RouteRequest:
    where = of("/api/sessions/{}/checkpoints/{}/branch", given.session_id, given.checkpoint_id)
    body = only_given({"sessionId": given.new_session_id, "key": given.key})
    return RouteRequest("POST", where, body=body, key=given.idempotency_key, slow=True)


def _restore(given: RestoreCheckpoint) -> RouteRequest:
    where = of("/api/sessions/{}/checkpoints/{}/restore", given.session_id, given.checkpoint_id)
    body = only_given({"sessionId": given.new_session_id})
    return RouteRequest("POST", where, body=body, key=given.idempotency_key, slow=True)


TOOLS = (
    McpTool(
        "list_checkpoints",
        "List checkpoints",
        "The points in a session's log to branch from or restore to, oldest first.",
        READS,
        ListCheckpoints,
        CheckpointPage,
        _list,
        _page,
    ),
    McpTool(
        "create_checkpoint",
        "Make a checkpoint",
        "Name a point in a session's log, to branch from it or restore it later.",
        ADDS,
        CreateCheckpoint,
        CheckpointView,
        _create,
    ),
    McpTool(
        "compact_session",
        "Compact a session",
        "Let a summary stand for older events when the session is resumed. The events stay readable, and a "
        "checkpoint marks the place.",
        ADDS,
        CompactSession,
        SnapshotView,
        _compact,
    ),
    McpTool(
        "branch_checkpoint",
        "Branch from a checkpoint",
        "Make a new session with this one's log up to a checkpoint. The session itself keeps its keys.",
        ADDS,
        BranchCheckpoint,
        ForkView,
        _branch,
    ),
    McpTool(
        "restore_checkpoint",
        "Restore a checkpoint",
        "Make a new session with this one's log up to a checkpoint, and let it take this one's place on its keys. "
        "The old one stays readable by its id.",
        REPLACES,
        RestoreCheckpoint,
        ForkView,
        _restore,
    ),
)
