"""The simulator's HTTP surface, as an OpenAI client sees it."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from holdfast.models import Message, Role
from holdfast.models.simulator import answer
from holdfast.models.simulator.app import create_app
from holdfast.models.simulator.log import LENGTH, AnswerLog
from holdfast.models.simulator.wire.api import ModelRequest

ASK = [
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "content": "My name is Zq7kfa."},
    {"role": "assistant", "content": None},
    {"role": "user", "content": [{"type": "text", "text": "What is my name?"}]},
]
APPEND = [{"role": "user", "content": "Append the line a to the file x"}]
APPEND_TOOL = {
    "type": "function",
    "function": {"name": "append_file", "parameters": {"properties": {"file_path": {}, "text": {}}}},
}


class Clock:
    def now(self) -> int:
        return 1_700_000_000_123


@pytest.fixture
async def client() -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app=create_app(clock=Clock(), ids=lambda: "1"))
    async with httpx2.AsyncClient(transport=transport, base_url="http://sim") as client:
        yield client


async def chat(client: httpx2.AsyncClient, messages: Any, **more: Any) -> httpx2.Response:
    return await client.post("/v1/chat/completions", json={"model": "m", "messages": messages} | more)


def events(response: httpx2.Response) -> list[Any]:
    """The chunks of a stream, after a look at its frame."""
    assert response.headers["content-type"].startswith("text/event-stream")
    *frames, last = response.text.removesuffix("\n\n").split("\n\n")
    assert last == "data: [DONE]"
    return [json.loads(frame.removeprefix("data: ")) for frame in frames]


async def test_a_plain_answer_is_a_chat_completion(client: httpx2.AsyncClient) -> None:
    response = await chat(client, ASK)
    assert response.status_code == 200
    body = response.json()
    assert body["choices"] == [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "Your name is Zq7kfa."},
            "logprobs": None,
            "finish_reason": "stop",
        }
    ]
    assert (body["id"], body["object"], body["created"], body["model"]) == (
        "chatcmpl-1",
        "chat.completion",
        1_700_000_000,
        "m",
    )
    assert body["usage"] == {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}


async def test_a_tool_call_carries_its_arguments_as_json_text(client: httpx2.AsyncClient) -> None:
    choice = (await chat(client, APPEND, tools=[{"type": "web_search"}, APPEND_TOOL])).json()["choices"][0]
    (call,) = choice["message"]["tool_calls"]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] is None
    assert call["type"] == "function"
    assert json.loads(call["function"]["arguments"]) == {"file_path": "x", "text": "a"}


async def test_a_tool_result_goes_back_in(client: httpx2.AsyncClient) -> None:
    answer = (await chat(client, APPEND, tools=[APPEND_TOOL])).json()["choices"][0]["message"]
    result = {"role": "tool", "tool_call_id": answer["tool_calls"][0]["id"], "content": "wrote 2 bytes"}
    final = (await chat(client, [*APPEND, answer, result], tools=[APPEND_TOOL])).json()
    assert final["choices"][0]["message"]["content"] == "Done: wrote 2 bytes"


async def test_a_stream_adds_up_to_the_plain_answer(client: httpx2.AsyncClient) -> None:
    said = "You said: one  two\nthree"
    chunks = events(await chat(client, [{"role": "user", "content": "one  two\nthree"}], stream=True))
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert deltas[0] == {"role": "assistant", "content": ""}
    assert "".join(delta.get("content", "") for delta in deltas) == said
    assert len(deltas) == 2 + len(said.split())
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None] * (len(chunks) - 1) + ["stop"]
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert all("usage" not in chunk for chunk in chunks)


async def test_a_stream_ends_with_usage_if_asked(client: httpx2.AsyncClient) -> None:
    *chunks, last = events(await chat(client, ASK, stream=True, stream_options={"include_usage": True}))
    assert last["choices"] == []
    assert last["usage"] == {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}
    assert all(chunk["usage"] is None for chunk in chunks)


async def test_a_tool_call_is_streamed(client: httpx2.AsyncClient) -> None:
    asked = [{"role": "user", "content": "Append the line one two to the file x"}]
    chunks = events(await chat(client, asked, tools=[APPEND_TOOL], stream=True))
    (call,) = chunks[1]["choices"][0]["delta"]["tool_calls"]
    assert call["index"] == 0
    assert call["function"] == {"name": "append_file", "arguments": ""}
    later = [chunk["choices"][0]["delta"]["tool_calls"][0] for chunk in chunks[2:-1]]
    assert {delta["index"] for delta in later} == {0}
    assert [delta["function"]["arguments"] for delta in later] == ['{"file_path":"x","text":"one ', 'two"}']
    assert chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        (b"{", "invalid_json", "not JSON"),
        (b'{"model":"m","model":"n","messages":[]}', "invalid_json", "'model' is there twice"),
        (b'{"model":"m"}', "invalid_input", "`messages`"),
        (b'{"messages":[]}', "invalid_input", "`model`"),
        (b'{"model":"m","messages":[{"role":"robot","content":"x"}]}', "invalid_input", "$.messages[0].role"),
        (b'{"model":"m","messages":[{"role":"user","content":7}]}', "invalid_input", "$.messages[0].content"),
        (b'{"model":"m","messages":[{"role":"user","content":[{}]}]}', "invalid_input", "no type"),
        (
            b'{"model":"m","messages":[{"role":"user","content":[{"type":"text"}]}]}',
            "invalid_input",
            "no text",
        ),
        (
            b'{"model":"m","messages":[{"role":"assistant","tool_calls":'
            b'[{"id":"c1","function":{"name":"f","arguments":"[]"}}]}]}',
            "invalid_input",
            "'c1' are not a JSON object",
        ),
    ],
)
async def test_a_bad_request_is_refused_in_the_shape_that_clients_read(
    client: httpx2.AsyncClient, body: bytes, code: str, message: str
) -> None:
    response = await client.post("/v1/chat/completions", content=body)
    assert response.status_code == 400
    error = response.json()["error"]
    assert message in error["message"]
    assert (error["type"], error["code"], error["param"]) == ("invalid_request_error", code, None)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_service_that_stops_cuts_its_thoughts_short(stream: bool) -> None:
    stopping = asyncio.Event()
    transport = httpx2.ASGITransport(app=create_app(stopping))
    async with httpx2.AsyncClient(transport=transport, base_url="http://sim") as client:
        thinking = asyncio.create_task(
            chat(client, [{"role": "user", "content": "Think for 60 seconds."}], stream=stream)
        )
        while not (await client.get("/log")).json()["answered"]:
            await asyncio.sleep(0)
        stopping.set()
        response = await asyncio.wait_for(thinking, 30)
    assert response.status_code == (200 if stream else 503)
    error = json.loads(response.text.removeprefix("data: "))["error"]
    assert (error["type"], error["code"]) == ("server_error", "model_busy")


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_comes_after_the_thinking(client: httpx2.AsyncClient, stream: bool) -> None:
    start = asyncio.get_running_loop().time()
    prompt = [{"role": "user", "content": "Think for 0.2 seconds. What is my name?"}]
    response = await chat(client, prompt, stream=stream)
    assert 0.19 < asyncio.get_running_loop().time() - start < 30
    assert response.status_code == 200
    assert "know" in response.text


async def test_unknown_addresses_and_methods_have_the_same_shape(client: httpx2.AsyncClient) -> None:
    missing, wrong = await client.get("/v1/nothing"), await client.get("/v1/chat/completions")
    assert (missing.status_code, wrong.status_code) == (404, 405)
    assert missing.json()["error"]["message"] == "Not Found"
    assert wrong.json()["error"]["type"] == "invalid_request_error"
    assert wrong.headers["allow"] == "POST"


async def test_no_messages_are_an_empty_prompt(client: httpx2.AsyncClient) -> None:
    body = (await chat(client, [])).json()
    assert body["choices"][0]["message"]["content"] == "I received an empty prompt."


async def test_models_and_health(client: httpx2.AsyncClient) -> None:
    models = (await client.get("/v1/models")).json()
    assert [model["id"] for model in models["data"]] == ["sim-1"]
    assert (await client.get("/health")).json() == {"status": "ok"}


async def test_the_log_says_where_each_answer_came_from(client: httpx2.AsyncClient) -> None:
    await chat(client, ASK)
    await chat(client, ASK[-1:], stream=True)
    log = (await client.get("/log")).json()
    assert log["answered"] == 2
    known, unknown = log["answers"]
    assert known == {
        "number": 1,
        "at": 1_700_000_000_123,
        "api": "chat",
        "stream": False,
        "messages": 4,
        "fault": None,
        "rule": "recall",
        "sources": [{"thing": "name", "value": "Zq7kfa", "index": 1, "role": "user", "words": "My name is Zq7kfa."}],
        "content": "Your name is Zq7kfa.",
        "tool_calls": [],
        "delay": 0.0,
    }
    assert (unknown["content"], unknown["sources"]) == ("I do not know your name.", [])


def test_the_log_keeps_the_newest_answers_and_cuts_long_ones() -> None:
    log = AnswerLog()
    for number in range(LENGTH + 2):
        asked = ModelRequest("m", [Message(Role.USER, f"{number} " + "x" * 1000)], [], stream=False)
        log.add(number, "chat", asked, answer(asked.messages), None)
    document = log.document()
    assert document["answered"] == LENGTH + 2
    assert [entry["number"] for entry in document["answers"]] == list(range(3, LENGTH + 3))
    assert len(document["answers"][-1]["content"]) == 500
