"""What is below a session, with totals of each subtree, and a transcript as Markdown; on both engines."""

import uuid
from typing import Any

from tests.gateway.calling import Caller


def new(caller: Caller, parent: str | None = None, events: int = 0, **more: Any) -> str:
    """A session below another, whose log has its creation and so many actions."""
    session_id = f"fam-{uuid.uuid4()}"
    caller.post("/api/sessions", {"sessionId": session_id, **({"parentSession": parent} if parent else {}), **more})
    if events:
        caller.post(f"/api/actions/{session_id}/batch", [{"type": "x"}] * events)
    return session_id


def children(caller: Caller, session_id: str) -> dict[str, Any]:
    found: dict[str, Any] = caller.get(f"/api/sessions/{session_id}/children")
    return found


def test_sessions_below_one_are_told_with_the_totals_of_their_subtrees(caller: Caller) -> None:
    top = new(caller, events=1)
    left, right = new(caller, top, events=2), new(caller, top)
    new(caller, left, events=3)
    found = children(caller, top)
    assert [row["sessionId"] for row in found["sessions"]] == [left, right]
    assert [(row["totals"]["sessions"], row["totals"]["events"]) for row in found["sessions"]] == [(2, 7), (1, 1)]
    assert (found["totals"]["sessions"], found["totals"]["events"], found["truncated"]) == (4, 10, False)
    row = caller.get(f"/api/sessions/{left}")["metadata"]
    assert {name: found["sessions"][0][name] for name in row} == row
    alone = children(caller, right)
    assert (alone["sessions"], alone["agents"], alone["totals"]["events"]) == ([], [], 1)


def test_sub_agents_are_told_with_the_sessions_that_are_theirs(caller: Caller) -> None:
    top = new(caller)
    for agent_id in ("a1", "a2"):
        caller.post(f"/api/state/{top}/agents", {"type": "searcher", "agentId": agent_id, "task": "look"})
    own = new(caller, top, events=4, metadata={"agentId": "a2"})
    first, second = children(caller, top)["agents"]
    assert (first["agentId"], "sessionId" in first, "totals" in first) == ("a1", False, False)
    assert (second["agentId"], second["sessionId"], second["totals"]["events"]) == ("a2", own, 5)


def test_a_family_that_goes_round_or_deep_is_bounded(caller: Caller) -> None:
    one = f"fam-{uuid.uuid4()}"
    two = new(caller, one)
    caller.post("/api/sessions", {"sessionId": one, "parentSession": two})
    assert children(caller, one)["totals"]["sessions"] == 2
    top = last = new(caller)
    for _ in range(10):
        last = new(caller, last)
    found = children(caller, top)
    assert (found["totals"]["sessions"], found["truncated"]) == (9, True)
    wide = new(caller)
    for _ in range(3):
        new(caller, wide)
    caller.client.delete(f"/api/sessions/{children(caller, wide)['sessions'][0]['sessionId']}")
    assert len(children(caller, wide)["sessions"]) == 2


def test_a_transcript_is_markdown(caller: Caller) -> None:
    on = f"agent:main:md:{uuid.uuid4()}"
    said = caller.post(f"/api/chat/{on}", {"text": "Hi, my name is Ada.\n\n- one\n- two"}, status=200)
    caller.post(f"/api/actions/{said['sessionId']}", {"type": "note", "details": {"text": "a ``` fence"}})
    answer = caller.client.get(f"/api/sessions/{said['sessionId']}/markdown")
    assert answer.headers["content-type"].startswith("text/markdown")
    assert answer.headers["content-disposition"].startswith("attachment;")
    text = answer.text
    assert text.startswith(f"# {said['sessionId']}\n")
    assert "## User\n" in text and "Hi, my name is Ada.\n\n- one\n- two\n" in text
    assert "## Agent\n" in text and said["text"] in text
    assert '````json\n{"text":"a ``` fence"}\n````' in text.replace(": ", ":")
    assert "holdfast." not in text
    assert caller.get("/api/sessions/nobody/markdown", status=404)["code"] == "not_found"
