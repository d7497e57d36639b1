"""Both wire versions on one URL: the same conversation, each answer in its own shape."""

import json
from pathlib import Path
from typing import Any

from tests.a2a.harness import listening, message, running, tell, words

from holdfast.a2a import A2AServer
from holdfast.store import Store


async def test_a_turn_in_version_0_3(store: Store) -> None:
    async with running(store, tell) as client:
        task = await client.send("hello", "ctx 1/ü", "m1")
    status = task.pop("status")
    [artifact] = task.pop("artifacts")
    task_id = task["id"]
    assert status == {"state": "completed", "timestamp": status["timestamp"]}
    assert status["timestamp"].endswith("Z")
    assert artifact["parts"] == [{"kind": "text", "text": "hello"}]
    assert task == {
        "kind": "task",
        "id": task_id,
        "contextId": "ctx 1/ü",
        "history": [
            {
                "kind": "message",
                "messageId": "m1",
                "role": "user",
                "contextId": "ctx 1/ü",
                "taskId": task_id,
                "parts": [{"kind": "text", "text": "hello"}],
            }
        ],
    }


async def test_a_turn_in_version_1_0(store: Store) -> None:
    sent = {"messageId": "m1", "contextId": "c", "role": "ROLE_USER", "parts": [{"text": "hello"}]}
    async with running(store, tell) as client:
        answer = await client.call("SendMessage", {"message": sent}, "1.0")
        task = answer["result"]["task"]
        got = await client.call("GetTask", {"id": task["id"]}, "1.0.1")
        bare = await client.call("GetTask", {"id": task["id"], "historyLength": 0}, "1.0")
    assert task["contextId"] == "c"
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    assert task["artifacts"][0]["parts"] == [{"text": "hello"}]
    assert task["history"] == [sent | {"taskId": task["id"]}]
    assert got["result"] == task
    assert "history" not in bare["result"]


async def test_both_versions_share_a_conversation(store: Store) -> None:
    async with running(store, tell) as client:
        await client.send("one", message_id="m1")
        sent = {"messageId": "m2", "contextId": "c", "role": "ROLE_USER", "parts": [{"text": "two"}]}
        answer = await client.call("SendMessage", {"message": sent}, "1.0")
        assert words(answer["result"]["task"]) == "user:one | agent:one | two"


async def test_a_context_is_made_if_none_is_given_and_each_is_its_own(store: Store) -> None:
    async with running(store, tell) as client:
        first = await client.send("one", None)
        second = await client.send("one", None)
        again = await client.send("two", first["contextId"], "m2", taskId=None)
    assert first["contextId"] != second["contextId"]
    assert again["contextId"] == first["contextId"]
    assert words(again) == "user:one | agent:one | two"


async def test_two_agents_do_not_share_a_context(store: Store) -> None:
    async with running(store, tell) as main, running(store, tell, agent="other") as other:
        first = await main.send("one")
        assert words(await other.send("two")) == "two"
        unknown = await other.call("tasks/get", {"id": first["id"]})
    assert unknown["error"]["code"] == -32001
    assert (await store.keys.get("agent:main:a2a:c")).session_id != (
        await store.keys.get("agent:other:a2a:c")
    ).session_id


async def test_numbers_and_files_come_out_as_they_went_in(store: Store) -> None:
    seen: list[Any] = []

    async def look(turn: Any) -> Any:
        seen.append(turn)
        yield "seen"

    old = [
        {"kind": "data", "data": {"whole": 1, "real": 1.0, "none": None}, "metadata": {"k": 2}},
        {"kind": "file", "file": {"bytes": "AAE=", "name": "a.bin", "mimeType": "application/x"}},
    ]
    new = [
        {"data": None},
        {"data": [1, 1.5, 12345678901234567890123], "mediaType": "application/vnd.list+json"},
        {"text": "# words", "mediaType": "text/markdown"},
        {"url": "https://files.example/b.txt", "filename": "b.txt", "mediaType": "text/plain"},
    ]
    async with running(store, look) as client:
        params = message("", message_id="m1") | {}
        params["message"]["parts"] = old
        first = (await client.call("message/send", params))["result"]
        sent = {"messageId": "m2", "contextId": "c", "role": "ROLE_USER", "parts": new}
        second = (await client.call("SendMessage", {"message": sent}, "1.0"))["result"]["task"]
        as_new = (await client.call("GetTask", {"id": first["id"]}, "1.0"))["result"]
    assert repr(first["history"][0]["parts"]) == repr(old)
    assert repr(second["history"][0]["parts"]) == repr(new)
    assert as_new["history"][0]["parts"][1] == {"raw": "AAE=", "filename": "a.bin", "mediaType": "application/x"}
    assert [turn.text for turn in seen] == ["", "# words"]
    assert seen[0].parts[0].data == {"whole": 1, "real": 1.0, "none": None}
    assert seen[1].history[0].parts == seen[0].parts


async def test_data_as_deep_as_a_request_may_be_comes_back(store: Store) -> None:
    deep = json.loads("[" * 59 + "]" * 59)
    parts = [{"text": "one"}, {"data": deep}]
    sent = {"messageId": "m", "contextId": "c", "role": "ROLE_USER", "parts": parts}
    async with running(store, tell) as client:
        as_new = (await client.call("SendMessage", {"message": sent}, "1.0"))["result"]["task"]
        task = await client.get(as_new["id"])
    assert as_new["history"][0]["parts"] == parts
    # Data of 0.3 is an object: a reader of that version finds any other value in one.
    boxed = {"kind": "data", "data": {"value": deep}, "metadata": {"data_part_compat": True}}
    assert task["history"][0]["parts"][1] == boxed


async def test_text_parts_make_the_text_one_per_line(store: Store) -> None:
    params = message("one")
    params["message"]["parts"].append({"kind": "text", "text": "two"})
    async with running(store, tell) as client:
        task = (await client.call("message/send", params))["result"]
    assert words(task) == "one\ntwo"


async def test_the_card_is_strictly_version_1_0(store: Store) -> None:
    async with running(store, tell) as client:
        card = (await client.http.get(client.url + "/.well-known/agent-card.json")).json()
        assert (await client.http.get(client.url + "/agent-card")).json() == card
    assert card["supportedInterfaces"] == [
        {"url": "http://127.0.0.1:1/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    ]
    assert card["capabilities"] == {"streaming": True, "pushNotifications": True, "extendedAgentCard": False}
    assert {"name", "description", "version", "defaultInputModes", "defaultOutputModes"} < card.keys()
    assert all({"id", "name", "description", "tags"} <= skill.keys() for skill in card["skills"])
    assert not {"url", "preferredTransport", "protocolVersion"} & card.keys()


async def test_without_an_address_of_its_own_the_card_names_the_one_that_was_asked(store: Store) -> None:
    server = A2AServer(store, tell, version="1", workspace=Path(), url=None)
    async with listening(server) as client:
        believed = {"Host": "agents.example:8443"}
        not_believed = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "evil.example", "Forwarded": "proto=https"}
        card = (await client.http.get(f"{client.url}/agent-card", headers=believed | not_believed)).json()
    assert card["supportedInterfaces"][0]["url"] == "http://agents.example:8443/a2a"
