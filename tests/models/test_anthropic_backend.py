"""The Anthropic-style backend, against real servers on loopback."""

import json
from typing import Any

import pytest
from tests.support.scripted_server import Answer, endpoint, events

from holdfast.models import (
    AnthropicBackend,
    Backend,
    CompletionResponse,
    Message,
    ModelAnswerUnreadable,
    ModelBusy,
    ModelError,
    ModelRefused,
    ModelUnreachable,
    Retries,
    Role,
    Tool,
    ToolCall,
    file_part,
    image_part,
    text_part,
)

HELLO = [Message(Role.USER, "Hello")]
QUICK = Retries(2, 0.001)


def answer(*blocks: dict[str, Any], **usage: int) -> Answer:
    return Answer(json.dumps({"type": "message", "content": blocks, "usage": usage}).encode())


def block_start(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, **fields: str) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": fields}


START = {"type": "message_start", "message": {"id": "m", "content": [], "usage": {"input_tokens": 5}}}
STOP = {"type": "message_stop"}
TEXT = block_start(0, type="text", text="")
HI = delta(0, type="text_delta", text="Hi ")


async def streamed(backend: Backend) -> tuple[list[Any], CompletionResponse]:
    *pieces, last = [item async for item in backend.stream(HELLO)]
    assert isinstance(last, CompletionResponse)
    return pieces, last


async def test_it_sends_a_prompt_in_turns_and_reads_words_calls_and_usage() -> None:
    prompt = [
        Message(Role.SYSTEM, "Be brief."),
        Message(Role.USER, "Look"),
        Message(Role.ASSISTANT, "", [ToolCall("c1", "look", {"at": 1}), ToolCall("c2", "look", {})]),
        Message(Role.TOOL, "seen", tool_call_id="c1"),
        Message(Role.TOOL, "", tool_call_id="c2"),
        Message(Role.USER, "And?"),
        Message(Role.ASSISTANT, ""),
    ]
    answered = answer(
        {"type": "text", "text": "Hi"},
        {"type": "tool_use", "id": "c3", "name": "look", "input": {"at": 2}},
        input_tokens=3,
        output_tokens=4,
        cache_read_input_tokens=10,
        cache_creation_input_tokens=0,
    )
    with endpoint(answered) as server:
        backend: Backend = AnthropicBackend(server.base_url, "c-1", api_key="k", max_tokens=9)
        response = await backend.complete(prompt, [Tool("look", "Looks.", {})])
    assert response == CompletionResponse(
        "Hi",
        [ToolCall("c3", "look", {"at": 2})],
        {"prompt_tokens": 13, "completion_tokens": 4, "total_tokens": 17, "cache_read_input_tokens": 10},
    )
    ((path, headers, sent),) = server.requests
    assert (path, headers["x-api-key"], headers["anthropic-version"]) == ("/v1/messages", "k", "2023-06-01")
    assert sent == {
        "model": "c-1",
        "max_tokens": 9,
        "system": "Be brief.",
        "tools": [
            {"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {}}},
        ],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Look"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": 1}},
                    {"type": "tool_use", "id": "c2", "name": "look", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": "seen"},
                    {"type": "tool_result", "tool_use_id": "c2", "content": "(nothing)"},
                    {"type": "text", "text": "And?"},
                ],
            },
            {"role": "assistant", "content": [{"type": "text", "text": "(nothing)"}]},
        ],
    }


async def test_images_and_files_travel_as_blocks() -> None:
    parts = [
        text_part("See"),
        image_part("image/png", b"\x89PNG"),
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        file_part("a.pdf", "application/pdf", b"%PDF"),
        file_part("a.csv", "text/csv", b"a;b"),
        file_part("a.zip", "application/zip", b"PK"),
    ]
    with endpoint(answer({"type": "text", "text": "Hi"})) as server:
        await AnthropicBackend(server.origin, "m").complete([Message(Role.USER, parts)])
    source = {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="}
    words = {"type": "text", "media_type": "text/plain", "data": "a;b"}
    assert server.requests[0][2]["messages"][0]["content"] == [
        {"type": "text", "text": "See"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}},
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        {"type": "document", "title": "a.pdf", "source": source},
        {"type": "document", "title": "a.csv", "source": words},
        {"type": "text", "text": "[attached file: a.zip]"},
    ]


async def test_a_stream_is_pieces_and_then_all_of_it() -> None:
    told = events(
        START,
        TEXT,
        {"type": "ping"},
        HI,
        delta(0, type="text_delta", text="there"),
        {"type": "content_block_stop", "index": 0},
        block_start(1, type="tool_use", id="c1", name="f", input={}),
        delta(1, type="input_json_delta", partial_json='{"a":'),
        delta(1, type="input_json_delta", partial_json=" 1}"),
        block_start(2, type="tool_use", id="c2", name="g", input={}),
        delta(2, type="input_json_delta", partial_json=""),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 7}},
        STOP,
    )
    with endpoint(told) as server:
        pieces, whole = await streamed(AnthropicBackend(server.origin, "m"))
    assert pieces == ["Hi ", "there"]
    assert whole == CompletionResponse(
        "Hi there",
        [ToolCall("c1", "f", {"a": 1}), ToolCall("c2", "g", {})],
        {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12},
    )
    assert server.requests[0][2]["stream"] is True


@pytest.mark.parametrize("cut", [True, False], ids=["cut", "ended-early"])
async def test_a_stream_that_is_cut_is_no_answer_and_is_not_tried_again(cut: bool) -> None:
    got = []
    with endpoint(events(START, TEXT, HI, cut=cut)) as server, pytest.raises(ModelUnreachable):
        async for item in AnthropicBackend(server.origin, "m", retries=QUICK).stream(HELLO):
            got.append(item)
    assert got == ["Hi "]
    assert len(server.requests) == 1


def failure(kind: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": "no luck"}}


async def test_what_passes_before_the_first_piece_is_tried_again() -> None:
    answers = events(START, failure("overloaded_error")), Answer(status=529), events(START, TEXT, HI, STOP)
    with endpoint(*answers) as server:
        pieces, _ = await streamed(AnthropicBackend(server.origin, "m", retries=QUICK))
    assert pieces == ["Hi "]
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        (events(START, failure("overloaded_error")), ModelBusy),
        (events(START, failure("invalid_request_error")), ModelRefused),
        (events("{"), ModelAnswerUnreadable),
        (events(block_start(0, type="tool_use"), delta(0, partial_json="[1]"), STOP), ModelAnswerUnreadable),
        (answer({"type": "text", "text": "Hi"}), ModelAnswerUnreadable),
        (Answer(b"no luck", 401), ModelRefused),
    ],
)
async def test_a_stream_that_goes_wrong_says_how(told: Answer, kind: type[ModelError]) -> None:
    with endpoint(told) as server, pytest.raises(kind):
        await streamed(AnthropicBackend(server.origin, "m", retries=QUICK))


@pytest.mark.parametrize("body", [b"<html>", b"{}", b'{"content":7}', b'{"content":[{"type":"text","text":7}]}'])
async def test_an_answer_that_is_none_is_an_error_of_its_own(body: bytes) -> None:
    with endpoint(Answer(body)) as server, pytest.raises(ModelAnswerUnreadable):
        await AnthropicBackend(server.origin, "m").complete(HELLO)
