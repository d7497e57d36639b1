"""identity: the marker is in the gateway's history and in the rows, and every event has its identity row."""

from holdfast.prove.live import proof_rows
from holdfast.prove.live.claims import require, same
from holdfast.prove.live.stage import LiveStage, LiveStep

NAME = "transcript identity"


async def perform(stage: LiveStage) -> str:
    """Find the marker in both, at the same place and under the same id."""
    told = (await stage.history(stage.key))["messages"]
    shown = [each for each in told if each["role"] == "user" and stage.marker in each["text"]]
    same(len(shown), 1, NAME, "the marker is not once in the history")
    with stage.database.look() as look:
        row = proof_rows.session_on(look, stage.key)
        require(row is not None, NAME, "the key routes nowhere", expected="a session", got="none")
        assert row is not None
        events = proof_rows.log(look, row["session_no"])
        identities = proof_rows.rows_of(look, "transcript_event_identities", [row["session_no"]])
    of_user = [
        event for event in events if stage.marker.encode() in bytes(event["payload"]) and event["type"] == "message"
    ]
    first = of_user[0] if of_user else None
    require(first is not None, NAME, "the marker is in no message of the rows", expected="an event", got="none")
    assert first is not None
    same(first["seq"], shown[0]["seq"], NAME, "the marker is at another place in the rows")
    lacking = [event["seq"] for event in events if event["identity_seq"] != event["seq"]]
    require(
        not lacking,
        NAME,
        "events have no identity row, or one for another place",
        expected="one for each event",
        got=f"none at seq {lacking}",
    )
    same(len(identities), len(events), NAME, "there are identity rows without an event")
    stage.note("the marker", seq=first["seq"], eventId=first["event_id"], identities=len(identities))
    return f"the marker is at seq {first['seq']} in both, and {len(events)} events have their identities"


IDENTITY = LiveStep(
    "identity",
    "the same marker is in the gateway's history and in the rows, with its identity row",
    perform,
    needs=frozenset({"chat"}),
)
