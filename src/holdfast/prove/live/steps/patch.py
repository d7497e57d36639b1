"""patch: a change of the session's metadata is in the row and in the API at once, and can be undone."""

from holdfast.core import strict_json
from holdfast.prove.live.api import at
from holdfast.prove.live.claims import same
from holdfast.prove.live.stage import LiveStage, LiveStep

MEMBER = "liveProof"
NAME = "patch projection"


async def perform(stage: LiveStage) -> str:
    """Set a member, compare, take it away again, compare."""
    session_id = stage.sessions[0]
    for value, expected in ((stage.marker, {MEMBER: stage.marker}), (None, {})):
        path = at("/api/sessions/{}/metadata", session_id)
        told = await stage.api.must("a patch", "PATCH", path, {MEMBER: value})
        same(told["metadata"], expected, NAME, "the answer does not have the change")
        row = stage.row(session_id)
        document = strict_json.parse_own(bytes(row["document"]))
        same(document.get("metadata", {}), expected, NAME, "the row does not have the change")
        read = await stage.api.must("the session", "GET", at("/api/sessions/{}", session_id), limit=1)
        same(read["metadata"]["metadata"], expected, NAME, "the API does not have the change")
    return "a change was in the row and in the API, and so was its undoing"


PATCH = LiveStep(
    "patch",
    "a reversible change of the metadata is in the row and in the API, and is undone",
    perform,
    needs=frozenset({"chat"}),
    moves={"transcript_events": (2, 2), "transcript_event_identities": (2, 2)},
)
