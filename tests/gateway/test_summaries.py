"""Summaries of sessions in lists: titles, last words, counts; on both engines and over a real socket."""

import uuid
from typing import Any

from tests.gateway.calling import Caller


def new(caller: Caller, **body: Any) -> str:
    session_id = f"sum-{uuid.uuid4()}"
    caller.post("/api/sessions", {"sessionId": session_id, **body})
    return session_id


def act(caller: Caller, session_id: str, type: str, details: Any) -> int:
    return int(caller.post(f"/api/actions/{session_id}", {"type": type, "details": details})["seq"])


def message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "messageId": str(uuid.uuid4()), "parts": [{"text": text}]}


def summary(caller: Caller, session_id: str) -> dict[str, Any]:
    shown = caller.get(f"/api/sessions/{session_id}?summaries=true")
    row = caller.get(f"/api/sessions?summaries=true&user={shown['metadata']['userId']}")["sessions"][0]
    assert row["sessionId"] == session_id
    assert row["summary"] == shown["summary"]
    found: dict[str, Any] = shown["summary"]
    return found


def user() -> str:
    return f"u-{uuid.uuid4()}"


def test_a_conversation_has_the_first_words_of_its_user_as_title_and_its_last_words(caller: Caller) -> None:
    on = f"agent:main:sum:{uuid.uuid4()}"
    first = caller.post(f"/api/chat/{on}", {"text": "Hi, my name is Ada.\nWhat is new?"}, status=200)
    second = caller.post(f"/api/chat/{on}", {"text": "What's my name?"}, status=200)
    found = caller.get(f"/api/sessions/{first['sessionId']}?summaries=true")["summary"]
    assert found["title"] == "Hi, my name is Ada. What is new?"
    assert found["keys"] == [on]
    assert (found["lastWords"]["role"], found["lastWords"]["text"]) == ("agent", second["text"])
    events = caller.get(f"/api/chat/{on}/history")["messages"]
    assert found["lastWords"]["seq"] == events[-1]["seq"]
    assert found["lastWords"]["timestamp"] == events[-1]["timestamp"]
    assert found["tokens"] == caller.get(f"/api/query/usage?session={first['sessionId']}")
    assert (found["waitingTasks"], found["unresolvedEffects"]) == (0, 0)


def test_a_title_of_the_metadata_wins_and_is_cut(caller: Caller) -> None:
    session_id = new(caller, userId=user(), metadata={"title": "t" * 500})
    act(caller, session_id, "message", message("user", "something else"))
    title = summary(caller, session_id)["title"]
    assert (len(title), title[:119], title[-1]) == (120, "t" * 119, "…")


def test_without_messages_the_title_is_what_the_session_was_begun_with(caller: Caller) -> None:
    session_id = new(caller, userId=user(), initial={"source": "docs", "input": "Sort my mail"})
    assert summary(caller, session_id)["title"] == "Sort my mail"
    assert summary(caller, session_id)["lastWords"] is None
    seq = act(caller, session_id, "step", {"text": "opened the inbox"})
    words = summary(caller, session_id)["lastWords"]
    assert (words["role"], words["text"], words["seq"]) == ("action", "step: opened the inbox", seq)
    caller.post(f"/api/actions/{session_id}/responses", {"text": "all sorted"})
    assert summary(caller, session_id)["lastWords"]["role"] == "agent"
    assert summary(caller, session_id)["lastWords"]["text"] == "all sorted"


def test_the_newest_message_is_found_behind_many_events_of_the_stores_own(caller: Caller) -> None:
    session_id = new(caller, userId=user())
    act(caller, session_id, "message", message("agent", "How can I help?"))
    act(caller, session_id, "message", message("user", "Count the stars"))
    seq = act(caller, session_id, "message", message("agent", "I am at it"))
    for number in range(12):
        caller.patch(f"/api/state/{session_id}", {"counted": number})
    found = summary(caller, session_id)
    assert found["title"] == "Count the stars"
    assert (found["lastWords"]["text"], found["lastWords"]["seq"]) == ("I am at it", seq)


def test_large_payloads_are_passed_over(caller: Caller) -> None:
    session_id = new(caller, userId=user())
    act(caller, session_id, "message", message("user", "x" * 100_000))
    act(caller, session_id, "message", message("user", "the short one"))
    act(caller, session_id, "page", {"text": "x" * 100_000})
    found = summary(caller, session_id)
    assert found["title"] == "the short one"
    assert (found["lastWords"]["role"], found["lastWords"]["text"]) == ("action", "page")


def test_goals_are_counted(caller: Caller) -> None:
    session_id = new(caller, userId=user())
    for number in range(3):
        caller.post(f"/api/state/{session_id}/goals", {"description": "x", "goalId": f"g{number}"})
    caller.patch(f"/api/state/{session_id}/goals/g1", {"status": "completed"})
    caller.patch(f"/api/state/{session_id}/goals/g2", {"status": "in_progress"})
    assert summary(caller, session_id)["goals"] == {"open": 2, "total": 3}


def test_rows_without_summaries_are_as_they_were(caller: Caller) -> None:
    who = user()
    new(caller, userId=who)
    plain = caller.get(f"/api/sessions?user={who}")["sessions"][0]
    with_summary = caller.get(f"/api/sessions?user={who}&summaries=true")["sessions"][0]
    assert list(with_summary) == [*plain, "summary"]
    assert with_summary | {"summary": None} == plain | {"summary": None}
    assert "summary" not in caller.get(f"/api/sessions/{plain['sessionId']}")


def test_pages_with_summaries_go_on_at_their_cursor(caller: Caller) -> None:
    who = user()
    made = [new(caller, userId=who) for _ in range(5)]
    seen, cursor = [], ""
    while True:
        page = caller.get(f"/api/sessions?summaries=true&limit=2&user={who}&cursor={cursor}")
        assert all("summary" in row for row in page["sessions"])
        seen += [row["sessionId"] for row in page["sessions"]]
        cursor = page["cursor"]
        if cursor is None:
            break
    assert seen == made[::-1]


def test_sessions_are_found_by_their_words_with_summaries(caller: Caller) -> None:
    word = f"w{uuid.uuid4().hex}"
    session_id = new(caller, userId=user())
    act(caller, session_id, "note", {"text": word})
    (row,) = caller.get(f"/api/sessions?summaries=true&q={word}")["sessions"]
    assert (row["sessionId"], row["summary"]["lastWords"]["text"]) == (session_id, f"note: {word}")


def test_lists_by_agent_and_by_hold(caller: Caller) -> None:
    agent, who = f"a-{uuid.uuid4()}", user()
    one, two = new(caller, agent=agent, userId=who), new(caller, agent=agent, userId=who)
    new(caller, userId=who)
    caller.post(f"/api/sessions/{one}/hold", {"held": True}, status=200)

    def listed(query: str) -> list[str]:
        return [row["sessionId"] for row in caller.get(f"/api/sessions?{query}")["sessions"]]

    assert listed(f"agent={agent}") == [two, one]
    assert listed(f"agent={agent}&held=true") == [one]
    assert listed(f"agent={agent}&held=false") == [two]
    assert len(listed(f"user={who}&agent=")) == 3
    assert caller.get("/api/sessions?held=perhaps", status=400)["code"] == "invalid_input"
