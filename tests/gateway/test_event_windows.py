"""The log for people: windows of all events, one event whole, and the user's prompts; on both engines."""

import uuid
from typing import Any

from tests.gateway.calling import Caller


def log(caller: Caller, count: int, **more: Any) -> str:
    """A session whose log has its creation and so many actions."""
    session_id = f"log-{uuid.uuid4()}"
    caller.post("/api/sessions", {"sessionId": session_id})
    batch = [{"type": "step", "details": {"n": number}, **more} for number in range(2, count + 2)]
    caller.post(f"/api/actions/{session_id}/batch", batch)
    return session_id


def seqs(page: dict[str, Any]) -> list[int]:
    return [event["seq"] for event in page["events"]]


def test_the_newest_events_come_first_and_the_cursor_leads_to_the_oldest(caller: Caller) -> None:
    session_id = log(caller, 9)
    newest = caller.get(f"/api/sessions/{session_id}/events?limit=4")
    assert (seqs(newest), newest["cursor"], newest["damaged"]) == ([7, 8, 9, 10], {"before": 7, "after": 10}, [])
    older = caller.get(f"/api/sessions/{session_id}/events?limit=4&before=7")
    assert (seqs(older), older["cursor"]) == ([3, 4, 5, 6], {"before": 3, "after": 6})
    oldest = caller.get(f"/api/sessions/{session_id}/events?limit=4&before=3")
    assert (seqs(oldest), oldest["cursor"]) == ([1, 2], {"before": None, "after": 2})
    assert oldest["events"][0]["type"] == "holdfast.session_created"
    whole = caller.get(f"/api/sessions/{session_id}/events?limit=10")
    assert (len(whole["events"]), whole["cursor"]) == (10, {"before": None, "after": 10})
    assert seqs(caller.get(f"/api/sessions/{session_id}/events?before=1")) == []
    assert seqs(caller.get(f"/api/sessions/{session_id}/events?before=0")) == []


def test_events_after_a_seq_come_oldest_first_and_go_on(caller: Caller) -> None:
    session_id = log(caller, 9)
    page = caller.get(f"/api/sessions/{session_id}/events?after=4&limit=3")
    assert (seqs(page), page["cursor"]) == ([5, 6, 7], {"before": 5, "after": 7})
    rest = caller.get(f"/api/sessions/{session_id}/events?after=7&limit=100")
    assert (seqs(rest), rest["cursor"]) == ([8, 9, 10], {"before": 8, "after": 10})
    none = caller.get(f"/api/sessions/{session_id}/events?after=10")
    assert (seqs(none), none["cursor"]) == ([], {"before": 11, "after": 10})
    assert seqs(caller.get(f"/api/sessions/{session_id}/events?after=3&before=6")) == [4, 5]
    assert seqs(caller.get(f"/api/sessions/{session_id}/events?after=99")) == []


def test_an_event_is_shown_as_the_log_has_it(caller: Caller) -> None:
    session_id = f"log-{uuid.uuid4()}"
    body = {"type": "a", "details": {"n": 1.0}, "eventId": f"e-{session_id}", "idempotencyKey": "k"}
    caller.post(f"/api/actions/{session_id}", body)
    (event,) = caller.get(f"/api/sessions/{session_id}/events")["events"]
    assert event == caller.get(f"/api/sessions/{session_id}/events/1")
    assert (event["eventId"], event["idempotencyKey"], event["details"]) == (f"e-{session_id}", "k", {"n": 1.0})
    assert event["hash"] == caller.get("/api/sessions?limit=1")["sessions"][0]["headHash"]
    assert caller.get(f"/api/sessions/{session_id}/events/2", status=404)["code"] == "not_found"
    assert caller.get(f"/api/sessions/{session_id}/events/0", status=404)["code"] == "not_found"
    assert caller.get(f"/api/sessions/{session_id}/events/x", status=400)["code"] == "invalid_input"


def test_large_details_are_left_out_unless_they_are_asked_for(caller: Caller) -> None:
    session_id = f"log-{uuid.uuid4()}"
    caller.post(f"/api/actions/{session_id}", {"type": "a", "details": {"text": "x" * 100_000}})
    (event,) = caller.get(f"/api/sessions/{session_id}/events")["events"]
    assert (event["details"], event["detailsBytes"]) == (None, 100_011)
    (full,) = caller.get(f"/api/sessions/{session_id}/events?full=true")["events"]
    assert (len(full["details"]["text"]), "detailsBytes" in full) == (100_000, False)
    assert caller.get(f"/api/sessions/{session_id}/events/1") == full


def test_events_of_some_types(caller: Caller) -> None:
    session_id = log(caller, 4)
    caller.post(f"/api/actions/{session_id}", {"type": "rare", "details": {}})
    caller.patch(f"/api/state/{session_id}", {"a": 1})
    caller.post(f"/api/actions/{session_id}", {"type": "rare", "details": {}})
    path = f"/api/sessions/{session_id}/events"
    rare = caller.get(f"{path}?type=rare&type=holdfast.state_updated")
    assert (seqs(rare), rare["cursor"]) == ([6, 7, 8], {"before": None, "after": 8})
    last = caller.get(f"{path}?type=rare&limit=1")
    assert (seqs(last), last["cursor"]["before"]) == ([8], 8)
    assert seqs(caller.get(f"{path}?type=rare&limit=1&before=8")) == [6]
    after = caller.get(f"{path}?type=rare&after=1&limit=1")
    assert (seqs(after), after["cursor"]["after"]) == ([6], 6)
    assert seqs(caller.get(f"{path}?type=rare&after=6")) == [8]
    assert seqs(caller.get(f"{path}?type=unknown")) == []


def say(caller: Caller, session_id: str, role: str, text: str) -> None:
    details = {"role": role, "messageId": str(uuid.uuid4()), "parts": [{"text": text}]}
    caller.post(f"/api/actions/{session_id}", {"type": "message", "details": details})


def test_prompts_are_the_users_messages_without_what_lies_between(caller: Caller) -> None:
    session_id = log(caller, 1)
    for number in range(3):
        say(caller, session_id, "user", f"question {number}\nwith {'more ' * 100}")
        say(caller, session_id, "agent", f"answer {number}")
        caller.post(f"/api/actions/{session_id}/batch", [{"type": "step", "details": {}}] * 3)
    path = f"/api/sessions/{session_id}/prompts"
    page = caller.get(path)
    assert [(each["seq"], each["text"][:15]) for each in page["prompts"]] == [
        (3, "question 0 with"),
        (8, "question 1 with"),
        (13, "question 2 with"),
    ]
    assert max(len(each["text"]) for each in page["prompts"]) == 200
    assert page["cursor"] == {"before": None, "after": 17}
    last = caller.get(f"{path}?limit=1")
    assert ([each["seq"] for each in last["prompts"]], last["cursor"]["before"]) == ([13], 13)
    before = caller.get(f"{path}?limit=1&before=13")
    assert [each["seq"] for each in before["prompts"]] == [8]
    after = caller.get(f"{path}?after=3&limit=1")
    assert ([each["seq"] for each in after["prompts"]], after["cursor"]) == ([8], {"before": 4, "after": 8})
    assert caller.get(f"{path}?after=13")["cursor"]["after"] == 17
