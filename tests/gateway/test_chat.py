"""Chat over the API: turns of the gateway's agent on a session key, on both engines and over a real socket."""

import base64
import json
import uuid
from pathlib import Path
from typing import Any

import httpx2
from tests.gateway.calling import Caller
from tests.gateway.process import PATIENCE, running
from tests.support.web import LOCAL


def key() -> str:
    return f"agent:main:chat:{uuid.uuid4()}"


def say(caller: Caller, on: str, text: str, *, status: int = 200, **more: Any) -> Any:
    return caller.post(f"/api/chat/{on}", {"text": text, **more}, status=status)


def test_a_conversation_on_a_key_is_remembered_and_told(caller: Caller) -> None:
    on = key()
    first = say(caller, on, "Hi, my name is Ada.")
    assert (first["status"], first["key"]) == ("completed", on)
    second = say(caller, on, "What's my name?")
    assert "Ada" in second["text"]
    assert second["sessionId"] == first["sessionId"] == caller.get(f"/api/keys/{on}")["sessionId"]
    told = caller.get(f"/api/chat/{on}/history")
    assert [(message["role"], message["text"]) for message in told["messages"]] == [
        ("user", "Hi, my name is Ada."),
        ("agent", first["text"]),
        ("user", "What's my name?"),
        ("agent", second["text"]),
    ]
    page = caller.get(f"/api/chat/{on}/history?limit=2")
    assert [message["text"] for message in page["messages"]] == ["What's my name?", second["text"]]
    before = caller.get(f"/api/chat/{on}/history?limit=2&before={page['cursor']}")
    assert [message["text"] for message in before["messages"]] == ["Hi, my name is Ada.", first["text"]]


def test_another_key_is_another_conversation_and_a_reset_begins_anew(caller: Caller) -> None:
    on = key()
    say(caller, on, "Hi, my name is Ada.")
    assert "Ada" not in say(caller, key(), "What's my name?")["text"]
    caller.post(f"/api/keys/{on}/reset")
    assert "Ada" not in say(caller, on, "What's my name?")["text"]


def test_a_retry_is_the_same_turn_and_another_message_under_its_key_is_refused(caller: Caller) -> None:
    on = key()
    first = say(caller, on, "Append the line 'once' to once.txt", idempotencyKey="k1")
    again = say(caller, on, "Append the line 'once' to once.txt", idempotencyKey="k1")
    assert again == first
    by_header = caller.post(
        f"/api/chat/{on}",
        {"text": "Append the line 'once' to once.txt"},
        status=200,
        headers={"Idempotency-Key": "k1"},
    )
    assert by_header == first
    refused = say(caller, on, "Something else", idempotencyKey="k1", status=409)
    assert refused["code"] == "idempotency_conflict"
    assert len(caller.get(f"/api/chat/{on}/history")["messages"]) == 2


def test_an_attachment_reaches_the_agent_and_is_named_in_the_history(caller: Caller) -> None:
    on = key()
    data = base64.b64encode(b"the code word is heron").decode()
    file = {"name": "notes.txt", "mediaType": "text/plain", "data": data}
    answer = caller.post(f"/api/chat/{on}", {"attachments": [file]}, status=200)
    assert "notes.txt" in answer["text"]
    (sent, _) = caller.get(f"/api/chat/{on}/history")["messages"]
    (kept,) = sent["attachments"]
    assert (kept["name"], kept["mediaType"], kept["size"]) == ("notes.txt", "text/plain", 22)


def test_a_stream_tells_pieces_and_then_the_whole_answer(caller: Caller) -> None:
    on = key()
    with caller.client.stream("POST", f"/api/chat/{on}", json={"text": "Count to 40.", "stream": True}) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        told = [json.loads(line[6:]) for line in answer.iter_lines() if line.startswith("data: ")]
    assert told[0]["type"] == "task"
    last = told[-1]
    assert (last["type"], last["status"]) == ("answer", "completed")
    pieces = [each["text"] for each in told if each["type"] == "text"]
    assert len(pieces) > 1
    assert "".join(pieces) == last["text"]


def test_what_cannot_be_said_is_refused_and_nothing_is_recorded(caller: Caller) -> None:
    on = key()
    refusals: list[tuple[str, Any]] = [
        (on, {}),
        (on, {"text": ""}),
        (on, {"attachments": [{"name": "x"}]}),
        (on, {"attachments": [{"data": "AA==", "uri": "workspace:/workspace/x"}]}),
        (on, {"attachments": [{"data": "not base64!"}]}),
        (on, {"attachments": [{"uri": "workspace:/workspace/../../etc/passwd"}]}),
        (on, {"text": 7}),
        ("other:main:x", {"text": "hi"}),
        ("agent:main:", {"text": "hi"}),
    ]
    for where, body in refusals:
        refused = caller.post(f"/api/chat/{where}", body, status=400)
        assert refused["code"] in {"invalid_input", "invalid_json"}, body
    assert caller.get(f"/api/chat/{on}/history", status=404)["code"] == "not_found"


def test_it_is_the_conversation_that_a2a_has_under_the_same_context(caller: Caller) -> None:
    context = f"ctx-{uuid.uuid4()}"
    message = {"role": "ROLE_USER", "messageId": "m1", "contextId": context, "parts": [{"text": "My name is Grace."}]}
    call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
    done = caller.post("/a2a", call, status=200, headers={"A2A-Version": "1.0"})
    assert done["result"]["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert "Grace" in say(caller, f"agent:main:a2a:{context}", "What's my name?")["text"]


def test_after_a_kill_the_conversation_goes_on(tmp_path: Path, store_url: str) -> None:
    on = key()

    def ask(url: str, text: str) -> str:
        answer = httpx2.post(f"{url}/api/chat/{on}", json={"text": text}, **LOCAL)
        assert answer.status_code == 200, answer.text
        words: str = answer.json()["text"]
        return words

    with running(tmp_path, "--store", store_url) as gateway:
        ask(gateway.url, "Hi, my name is Ada.")
        gateway.process.kill()
        gateway.process.wait(PATIENCE)
    with running(tmp_path, "--store", store_url) as gateway:
        assert "Ada" in ask(gateway.url, "What's my name?")


def a2a_send(caller: Caller, context: str, text: str, **more: Any) -> Any:
    message = {"role": "ROLE_USER", "messageId": str(uuid.uuid4()), "contextId": context, "parts": [{"text": text}]}
    call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": {**message, **more}}}
    return caller.post("/a2a", call, status=200, headers={"A2A-Version": "1.0"})


def told_over_a2a(caller: Caller, context: str, text: str) -> str:
    task = a2a_send(caller, context, text)["result"]["task"]
    return "".join(part.get("text", "") for artifact in task["artifacts"] for part in artifact["parts"])


def test_after_a_reset_and_the_deletion_of_the_new_session_the_key_begins_anew(caller: Caller) -> None:
    context = f"ctx-{uuid.uuid4()}"
    on = f"agent:main:a2a:{context}"
    old = say(caller, on, "Hi, my name is Hongming.")["sessionId"]
    new = caller.post(f"/api/keys/{on}/reset")["sessionId"]
    caller.ask("DELETE", f"/api/sessions/{new}")
    known = caller.get(f"/api/keys/{on}")
    assert (known["sessionId"], [route["sessionId"] for route in known["routes"]]) == (None, [old, new])
    assert caller.get(f"/api/chat/{on}/history")["messages"] == []
    answer = say(caller, on, "What's my name?")
    assert "Hongming" not in answer["text"]
    assert answer["sessionId"] not in {old, new}
    assert "Hongming" not in told_over_a2a(caller, context, "What's my name?")
    assert caller.get(f"/api/keys/{on}")["sessionId"] == answer["sessionId"]


def test_after_the_deletion_of_its_only_session_a_key_is_used_again_over_chat_and_a2a(caller: Caller) -> None:
    context = f"ctx-{uuid.uuid4()}"
    on = f"agent:main:a2a:{context}"
    for _ in range(2):
        told_over_a2a(caller, context, "Hi, my name is Hongming.")
        caller.ask("DELETE", f"/api/sessions/{caller.get(f'/api/keys/{on}')['sessionId']}")
        assert "Hongming" not in told_over_a2a(caller, context, "What's my name?")
        caller.ask("DELETE", f"/api/sessions/{caller.get(f'/api/keys/{on}')['sessionId']}")
        assert "Hongming" not in say(caller, on, "What's my name?")["text"]


def test_a_key_whose_session_was_deleted_can_be_reset(caller: Caller) -> None:
    on = key()
    old = say(caller, on, "Hi, my name is Ada.")["sessionId"]
    caller.ask("DELETE", f"/api/sessions/{old}")
    done = caller.post(f"/api/keys/{on}/reset")
    assert (done["previousSession"], done["keys"]) == (old, [on])
    assert say(caller, on, "What's my name?")["sessionId"] == done["sessionId"]
    assert caller.post(f"/api/keys/{key()}/reset", status=404)["code"] == "not_found"


def test_a_context_is_never_read_as_a_key(caller: Caller) -> None:
    context = f"ctx-{uuid.uuid4()}"
    told_over_a2a(caller, context, "Hi, my name is Grace.")
    for other in (f"agent:main:a2a:{context}", f"agent:main:{context}"):
        assert "Grace" not in told_over_a2a(caller, other, "What's my name?")
        assert caller.get(f"/api/keys/agent:main:a2a:{other}")["sessionId"] == f"agent:main:a2a:{other}"
    on = key()
    say(caller, on, "Hi, my name is Alan.")
    assert "Alan" not in told_over_a2a(caller, on, "What's my name?")
    assert "Alan" in say(caller, on, "What's my name?")["text"]
    assert "Grace" in say(caller, f"agent:main:a2a:{context}", "What's my name?")["text"]
