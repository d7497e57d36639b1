"""The OpenAI-style backend, against real servers on loopback."""

import json
from typing import Any

import pytest
from tests.support.scripted_server import Answer, endpoint, events

from holdfast.models import (
    Backend,
    CompletionResponse,
    Message,
    ModelAnswerUnreadable,
    ModelBusy,
    ModelError,
    ModelRefused,
    ModelUnreachable,
    OpenAIBackend,
    Retries,
    Role,
    Tool,
    ToolCall,
    file_part,
    image_part,
    text_part,
)
from holdfast.models.messages import runtime_message

HELLO = [Message(Role.USER, "Hello")]
ONCE = Retries(times=0)


def completion(message: dict[str, Any], **more: Any) -> Answer:
    return Answer(json.dumps({"choices": [{"index": 0, "message": message}]} | more).encode())


def chunk(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}], "usage": None}


async def streamed(backend: Backend) -> tuple[list[str], CompletionResponse]:
    """The pieces of an answer, and all of it."""
    *pieces, last = [item async for item in backend.stream(HELLO)]
    assert isinstance(last, CompletionResponse)
    words = [piece for piece in pieces if isinstance(piece, str)]
    assert len(words) == len(pieces)
    return words, last


async def test_it_sends_messages_and_tools_and_reads_words_and_usage() -> None:
    tool = Tool("look", "Looks.", {"type": "object", "properties": {}})
    prompt = [
        Message(Role.SYSTEM, "Be brief."),
        Message(Role.USER, [{"type": "text", "text": "Look"}]),
        Message(Role.ASSISTANT, "", [ToolCall("c1", "look", {"at": "it"})]),
        Message(Role.TOOL, "seen", tool_call_id="c1"),
        runtime_message("Go on."),
    ]
    used = {"prompt_tokens": 3, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 2}}
    with endpoint(completion({"role": "assistant", "content": "Hi"}, usage=used)) as server:
        backend: Backend = OpenAIBackend(server.base_url + "/", "m-1", api_key="k")
        response = await backend.complete(prompt, [tool])
    assert (response.content, response.tool_calls) == ("Hi", [])
    assert response.usage == {
        "prompt_tokens": 3,
        "completion_tokens": 1,
        "total_tokens": 4,
        "cache_read_input_tokens": 2,
    }
    ((path, headers, sent),) = server.requests
    assert (path, headers["authorization"]) == ("/v1/chat/completions", "Bearer k")
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at":"it"}'}}
    assert sent == {
        "model": "m-1",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "Look"}]},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "content": "seen", "tool_call_id": "c1"},
            {"role": "user", "content": "[RUNTIME] Go on."},
        ],
        "tools": [
            {
                "type": "function",
                "function": {"name": "look", "description": "Looks.", "parameters": tool.parameters},
            }
        ],
    }


async def test_without_key_and_tools_it_sends_neither() -> None:
    with endpoint(completion({"content": "Hi"})) as server:
        response = await OpenAIBackend(server.base_url, "m-1").complete(HELLO)
    ((_, headers, sent),) = server.requests
    assert "authorization" not in headers
    assert "tools" not in sent
    assert response.usage == {}


async def test_images_and_files_travel_as_parts() -> None:
    parts = [text_part("See"), image_part("image/png", b"\x89PNG"), file_part("a.pdf", "application/pdf", b"%PDF")]
    with endpoint(completion({"content": "Hi"})) as server:
        await OpenAIBackend(server.base_url, "m").complete([Message(Role.USER, parts)])
    assert server.requests[0][2]["messages"][0]["content"] == [
        {"type": "text", "text": "See"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="}},
    ]


@pytest.mark.parametrize(("raw", "arguments"), [('{"n": 1}', {"n": 1}), ("", {})])
async def test_it_reads_tool_calls(raw: str, arguments: dict[str, Any]) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": raw}}
    with endpoint(completion({"content": None, "tool_calls": [call]})) as server:
        response = await OpenAIBackend(server.base_url, "m").complete(HELLO)
    assert response.content == ""
    assert response.tool_calls == [ToolCall("c1", "f", arguments)]


async def test_a_stream_is_pieces_and_then_all_of_it() -> None:
    line = "one\u2028two\x85"
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    answer = events(
        chunk({"role": "assistant", "content": ""}),
        chunk({"content": "Hi "}),
        chunk({"content": line}),
        chunk({}, "stop"),
        {"choices": [], "usage": usage},
        "[DONE]",
    )
    with endpoint(answer) as server:
        pieces, whole = await streamed(OpenAIBackend(server.base_url, "m"))
    assert pieces == ["Hi ", line]
    assert whole == CompletionResponse("Hi " + line, [], usage)
    assert server.requests[0][2]["stream_options"] == {"include_usage": True}


def call_chunk(name: str | None = None, arguments: str | None = None, **more: Any) -> dict[str, Any]:
    return chunk({"tool_calls": [more | {"function": {"name": name, "arguments": arguments}}]})


@pytest.mark.parametrize("numbered", [True, False], ids=["numbered", "not-numbered"])
async def test_a_stream_brings_tool_calls_together(numbered: bool) -> None:
    def index(number: int) -> dict[str, Any]:
        return {"index": number} if numbered else {}

    answer = events(
        call_chunk("f", '{"a":', id="c1", **index(0)),
        call_chunk(None, " 1}", **index(0)),
        call_chunk("g", "", id="c2", **index(1)),
        chunk({}, "tool_calls"),
        "[DONE]",
    )
    with endpoint(answer) as server:
        pieces, whole = await streamed(OpenAIBackend(server.base_url, "m"))
    assert pieces == []
    assert whole.tool_calls == [ToolCall("c1", "f", {"a": 1}), ToolCall("c2", "g", {})]


BEGUN = chunk({"content": "Your name is "})


@pytest.mark.parametrize("cut", [True, False], ids=["cut", "ended-early"])
async def test_a_stream_that_is_cut_is_no_answer_and_is_not_tried_again(cut: bool) -> None:
    got = []
    with endpoint(events(BEGUN, cut=cut)) as server, pytest.raises(ModelUnreachable):
        async for item in OpenAIBackend(server.base_url, "m", retries=Retries(3, 0.001)).stream(HELLO):
            got.append(item)
    assert got == ["Your name is "]
    assert len(server.requests) == 1


async def test_a_stream_that_is_cut_before_its_first_piece_is_tried_again() -> None:
    whole = events(BEGUN, chunk({}, "stop"), "[DONE]")
    with endpoint(events(chunk({"content": ""}), cut=True), Answer(status=503), whole) as server:
        pieces, _ = await streamed(OpenAIBackend(server.base_url, "m", retries=Retries(3, 0.001)))
    assert pieces == ["Your name is "]
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (events({"error": {"message": "no luck"}}), ModelRefused),
        (events("{"), ModelAnswerUnreadable),
        (completion({"content": "Hi"}), ModelAnswerUnreadable),
        (Answer(b"no luck", 400), ModelRefused),
    ],
)
async def test_a_stream_that_goes_wrong_says_how(answer: Answer, kind: type[ModelError]) -> None:
    with endpoint(answer) as server, pytest.raises(kind):
        await streamed(OpenAIBackend(server.base_url, "m"))


@pytest.mark.parametrize(
    ("status", "kind"), [(400, ModelRefused), (401, ModelRefused), (500, ModelRefused), (503, ModelBusy)]
)
async def test_a_refusal_says_what_the_endpoint_said(status: int, kind: type[ModelError]) -> None:
    answer = Answer(b'{"error":{"message":"no luck"}}', status)
    with endpoint(answer) as server, pytest.raises(kind) as refused:
        await OpenAIBackend(server.base_url, "m", retries=ONCE).complete(HELLO)
    assert "no luck" in refused.value.message
    assert refused.value.details["model_status"] == status


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
async def test_a_busy_endpoint_says_when_to_come_back(header: dict[str, str], seconds: int | None) -> None:
    with endpoint(Answer(b"{}", 429, header)) as server, pytest.raises(ModelBusy) as busy:
        await OpenAIBackend(server.base_url, "m", retries=ONCE).complete(HELLO)
    assert busy.value.details["retry_after"] == seconds


@pytest.mark.parametrize("status", [429, 500, 502, 503, 529])
async def test_what_passes_is_tried_again(status: int) -> None:
    answers = Answer(status=status), Answer(b"{", cut=True), completion({"content": "Hi"})
    with endpoint(*answers) as server:
        response = await OpenAIBackend(server.base_url, "m", retries=Retries(3, 0.001)).complete(HELLO)
    assert response.content == "Hi"
    assert len(server.requests) == 3


@pytest.mark.parametrize(("status", "requests"), [(503, 3), (400, 1), (401, 1), (404, 1)])
async def test_tries_are_bounded_and_what_stays_is_not_tried_again(status: int, requests: int) -> None:
    with endpoint(Answer(status=status)) as server, pytest.raises(ModelError):
        await OpenAIBackend(server.base_url, "m", retries=Retries(2, 0.001)).complete(HELLO)
    assert len(server.requests) == requests


def test_the_pause_is_what_the_endpoint_asks_for_or_grows_up_to_a_bound() -> None:
    retries = Retries(5, 0.5, 3.0)
    assert retries.pause(ModelBusy("", retry_after=2), 1) == 2.0
    assert retries.pause(ModelBusy("", retry_after=4), 1) is None
    grown = [retries.pause(ModelBusy(""), tried) or 0.0 for tried in range(1, 6)]
    assert all(longest / 2 <= pause <= longest for pause, longest in zip(grown, [0.5, 1, 2, 3, 3], strict=True))
    assert retries.pause(ModelBusy(""), 6) is None
    assert retries.pause(ModelUnreachable("", timed_out=True), 1) is None


@pytest.mark.parametrize("said", ["9" * 5_000, "Mon, 01 Jan 99999999999999999999 00:00:00 GMT"])
async def test_a_retry_after_that_no_clock_can_hold_is_a_busy_model_like_any_other(said: str) -> None:
    with endpoint(Answer(status=429, headers={"Retry-After": said})) as server, pytest.raises(ModelBusy):
        await OpenAIBackend(server.base_url, "m", retries=ONCE).complete(HELLO)


BAD_CALL = {"id": "c", "function": {"name": "f", "arguments": "{not json"}}
NO_OBJECT = {"id": "c", "function": {"name": "f", "arguments": "[1]"}}


@pytest.mark.parametrize(
    "answer",
    [
        Answer(b"<html>"),
        Answer(b"{}"),
        Answer(b'{"choices":[]}'),
        completion({"content": 7}),
        completion({"tool_calls": [BAD_CALL]}),
        completion({"tool_calls": [NO_OBJECT]}),
    ],
)
async def test_an_answer_that_is_no_completion_is_an_error_of_its_own(answer: Answer) -> None:
    with endpoint(answer) as server, pytest.raises(ModelAnswerUnreadable):
        await OpenAIBackend(server.base_url, "m").complete(HELLO)


async def test_an_answer_that_is_cut_is_no_answer() -> None:
    with endpoint(Answer(b"{", cut=True)) as server, pytest.raises(ModelUnreachable):
        await OpenAIBackend(server.base_url, "m", retries=ONCE).complete(HELLO)


async def test_nobody_there_is_unreachable() -> None:
    with endpoint() as server:
        gone = server.base_url
    with pytest.raises(ModelUnreachable, match="no answer from http"):
        await OpenAIBackend(gone, "m", retries=Retries(1, 0.001)).complete(HELLO)
