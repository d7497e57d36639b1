"""What Holdfast's own events say, read through their types."""

from typing import Any

import msgspec
import pytest

from holdfast.core import Event, event_bodies, strict_json, types
from holdfast.core.errors import Corrupt, InvalidInput
from holdfast.core.event_bodies import BODIES, EventBody, GoalUpdated, SessionCreated, SessionFinalized, TaskUpdated

DIGEST = "0" * 64
SMALLEST: dict[str, bytes] = {
    types.SESSION_CREATED: b"{}",
    types.SESSION_FINALIZED: b'{"status":"completed","outcome":null,"response":null}',
    types.SESSION_FORKED: b'{"sessionId":"s","seq":1}',
    types.SESSION_RESET: b'{"nextSession":"s"}',
    types.SESSION_DELETED: b'{"reason":""}',
    types.SESSION_RESTORED: b'{"keys":[]}',
    types.METADATA_UPDATED: b'{"patch":{}}',
    types.TAGS_UPDATED: b'{"add":[],"remove":[]}',
    types.HOLD_CHANGED: b'{"held":true}',
    types.STATE_UPDATED: b'{"patch":{}}',
    types.GOAL_ADDED: b'{"goalId":"g","description":"","status":"pending","priority":"low"}',
    types.GOAL_UPDATED: b'{"goalId":"g","changes":{}}',
    types.AGENT_SPAWNED: b'{"agentId":"a","type":"t","task":null}',
    types.AGENT_COMPLETED: b'{"agentId":"a","status":"failed","result":null}',
    types.CHECKPOINT_CREATED: b'{"checkpointId":"c","name":"","seq":1,"reason":"manual"}',
    types.SNAPSHOT_SAVED: b'{"firstSeq":0,"lastSeq":0}',
    types.COMPACTED: b'{"firstSeq":1,"lastSeq":1}',
    types.TOOL_STARTED: f'{{"callId":"c","tool":"t","digest":"{DIGEST}"}}'.encode(),
    types.TOOL_FINISHED: b'{"callId":"c","status":"finished","result":null}',
    types.USAGE_RECORDED: b'{"model":"m","inputTokens":0,"outputTokens":0,"cachedTokens":0,"costMicros":0}',
    types.ATTACHMENT_ADDED: f'{{"digest":"{DIGEST}"}}'.encode(),
    types.TASK_UPDATED: b'{"taskId":"t","contextId":"","state":"working","changes":{}}',
    types.EVENTS_ERASED: b'{"seqs":[],"reason":""}',
    types.LEFT_OUT: b"{}",
}


def event(type: str, payload: bytes) -> Event:
    return Event(7, "e", type, payload, 0, b"")


def test_every_type_of_our_own_has_a_body() -> None:
    names = {value for name, value in vars(types).items() if name.isupper() and value.startswith(types.PREFIX)}
    assert names - {types.PREFIX, types.RESPONSE} == set(BODIES) == set(SMALLEST), "a response is a caller's"
    assert {body.TYPE: body for body in EventBody.__subclasses__()} == BODIES


@pytest.mark.parametrize("type", BODIES)
def test_the_least_that_an_event_says_is_written_as_it_is_read(type: str) -> None:
    payload = SMALLEST[type]
    event_bodies.check(event(type, payload))
    assert msgspec.json.encode(event_bodies.read(event(type, payload), BODIES[type])) == payload


@pytest.mark.parametrize("type", BODIES)
def test_members_that_nobody_knows_are_no_trouble(type: str) -> None:
    known = SMALLEST[type]
    payload = known[:-1] + (b"," if known != b"{}" else b"") + b'"fromTomorrow":[1]}'
    event_bodies.check(event(type, payload))
    assert event_bodies.read(event(type, payload), BODIES[type]) == event_bodies.decode(BODIES[type], known)
    assert event_bodies.other_members(BODIES[type], payload) == {"fromTomorrow": [1]}


@pytest.mark.parametrize("type", sorted(BODIES.keys() - {types.SESSION_CREATED, types.SESSION_DELETED, types.LEFT_OUT}))
def test_an_event_without_its_members_is_refused_from_outside_and_damage_in_a_log(type: str) -> None:
    with pytest.raises(InvalidInput, match=f"event 7 is not a {type}"):
        event_bodies.check(event(type, b"{}"))
    with pytest.raises(Corrupt, match=f"event 7 is not a {type}") as refusal:
        event_bodies.read(event(type, b"{}"), BODIES[type])
    assert refusal.value.details["seq"] == 7


@pytest.mark.parametrize(
    ("type", "payload", "why"),
    [
        (types.SESSION_CREATED, b'{"agent":"a\\u0000"}', "NUL"),
        (types.SESSION_CREATED, b'{"tags":["x","\\u0000"]}', "NUL"),
        (types.TASK_UPDATED, b'{"taskId":"t","contextId":"\\u0000","state":"working","changes":{}}', "NUL"),
        (types.TASK_UPDATED, b'{"taskId":"t","contextId":"c","state":"asleep","changes":{}}', "asleep"),
        (types.SESSION_FINALIZED, b'{"status":"asleep","outcome":null,"response":null}', "asleep"),
        (types.GOAL_UPDATED, b'{"goalId":"g","changes":{"colour":"red"}}', "colour"),
        (types.GOAL_UPDATED, b'{"goalId":"g","changes":{"status":"red"}}', "red"),
        (types.ATTACHMENT_ADDED, b'{"digest":"0"}', "0"),
    ],
)
def test_what_no_store_would_have_written_is_refused_from_outside(type: str, payload: bytes, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        event_bodies.check(event(type, payload))


def test_an_erased_event_says_nothing_that_could_be_wrong() -> None:
    event_bodies.check(Event(7, "e", types.TASK_UPDATED, b"", 0, b"", erased=b"digest"))


def test_members_that_are_not_set_are_left_out_and_null_is_written() -> None:
    assert msgspec.json.encode(SessionCreated(user_id=None)) == b'{"userId":null}'
    assert event_bodies.decode(SessionCreated, b'{"userId":null}').agent is msgspec.UNSET


def test_changes_of_a_goal_keep_their_order() -> None:
    payload = b'{"goalId":"g","changes":{"priority":"low","description":"d","status":"failed"}}'
    assert msgspec.json.encode(event_bodies.decode(GoalUpdated, payload)) == payload


def test_other_members_come_after_our_own() -> None:
    body = SessionFinalized("failed", {"b": None}, None)
    assert list(event_bodies.with_others(body, {"tokens": 7})) == ["status", "outcome", "response", "tokens"]


def test_a_number_that_no_other_reader_would_keep_is_kept() -> None:
    changes = event_bodies.decode(
        TaskUpdated, b'{"taskId":"t","contextId":"c","state":"working","changes":{"n":123456789012345678901234567890}}'
    ).changes
    assert changes == {"n": 123456789012345678901234567890}


@pytest.mark.parametrize(
    ("type", "said"),
    [
        (types.HOLD_CHANGED, {"held": False, "reason": None}),
        (types.SESSION_RESET, {"nextSession": "s", "keys": None, "reason": None}),
        (types.SESSION_DELETED, {"reason": None}),
        (types.ATTACHMENT_ADDED, {"digest": "a" * 64, "name": None, "mediaType": None, "sizeBytes": None}),
        (types.TOOL_STARTED, {"callId": "c", "tool": "t", "digest": "a" * 64, "shown": None}),
        (types.COMPACTED, {"firstSeq": 1, "lastSeq": 2, "lastHash": None, "checkpointId": None}),
    ],
)
def test_a_member_that_may_be_left_out_may_be_null(type: str, said: dict[str, Any]) -> None:
    """Archives that others wrote have it so: their sessions can be verified, forked and erased as all can."""
    assert isinstance(event_bodies.decode(BODIES[type], strict_json.dump(said)), BODIES[type])
