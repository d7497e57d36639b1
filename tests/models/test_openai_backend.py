"""The OpenAI-style backend, against real servers on loopback."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from holdfast.models import (
    Backend,
    Message,
    ModelAnswerUnreadable,
    ModelBusy,
    ModelError,
    ModelRefused,
    ModelUnreachable,
    OpenAIBackend,
    Role,
    Tool,
    ToolCall,
)

HELLO = [Message(Role.USER, "Hello")]


class Endpoint(ThreadingHTTPServer):
    """Answers every request alike and keeps what it was sent."""

    def __init__(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.status, self.body, self.headers = status, body, headers
        self.requests: list[tuple[str, dict[str, str], Any]] = []

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["content-length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.requests.append((self.path, headers, sent))
        self.send_response(self.server.status)
        for name, value in {"content-length": str(len(self.server.body)), **self.server.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def endpoint(status: int = 200, body: bytes = b"", **headers: str) -> Iterator[Endpoint]:
    with Endpoint(status, body, {name.replace("_", "-"): value for name, value in headers.items()}) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def completion(message: dict[str, Any], **more: Any) -> bytes:
    return json.dumps({"choices": [{"index": 0, "message": message}]} | more).encode()


async def test_it_sends_messages_and_tools_and_reads_words_and_usage() -> None:
    tool = Tool("look", "Looks.", {"type": "object", "properties": {}})
    prompt = [
        Message(Role.SYSTEM, "Be brief."),
        Message(Role.USER, [{"type": "text", "text": "Look"}]),
        Message(Role.ASSISTANT, "", [ToolCall("c1", "look", {"at": "it"})]),
        Message(Role.TOOL, "seen", tool_call_id="c1"),
    ]
    answered = completion({"role": "assistant", "content": "Hi"}, usage={"prompt_tokens": 3})
    with endpoint(body=answered) as server:
        backend: Backend = OpenAIBackend(server.base_url + "/", "m-1", api_key="k")
        response = await backend.complete(prompt, [tool])
    assert (response.content, response.tool_calls, response.usage) == ("Hi", [], {"prompt_tokens": 3})
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
        ],
        "tools": [
            {
                "type": "function",
                "function": {"name": "look", "description": "Looks.", "parameters": tool.parameters},
            }
        ],
    }


async def test_without_key_and_tools_it_sends_neither() -> None:
    with endpoint(body=completion({"content": "Hi"})) as server:
        await OpenAIBackend(server.base_url, "m-1").complete(HELLO)
    ((_, headers, sent),) = server.requests
    assert "authorization" not in headers
    assert "tools" not in sent


@pytest.mark.parametrize(("raw", "arguments"), [('{"n": 1}', {"n": 1}), ("", {})])
async def test_it_reads_tool_calls(raw: str, arguments: dict[str, Any]) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": raw}}
    with endpoint(body=completion({"content": None, "tool_calls": [call]})) as server:
        response = await OpenAIBackend(server.base_url, "m").complete(HELLO)
    assert response.content == ""
    assert response.tool_calls == [ToolCall("c1", "f", arguments)]


@pytest.mark.parametrize(
    ("status", "kind"), [(400, ModelRefused), (401, ModelRefused), (500, ModelRefused), (503, ModelBusy)]
)
async def test_a_refusal_says_what_the_endpoint_said(status: int, kind: type[ModelError]) -> None:
    with endpoint(status, b'{"error":{"message":"no luck"}}') as server, pytest.raises(kind) as refused:
        await OpenAIBackend(server.base_url, "m").complete(HELLO)
    assert "no luck" in refused.value.message
    assert refused.value.details["model_status"] == status


@pytest.mark.parametrize(
    ("header", "seconds"), [({"retry_after": "7"}, 7), ({"retry_after": "soon"}, None), ({}, None)]
)
async def test_a_busy_endpoint_says_when_to_come_back(header: dict[str, str], seconds: int | None) -> None:
    with endpoint(429, b"{}", **header) as server, pytest.raises(ModelBusy) as busy:
        await OpenAIBackend(server.base_url, "m").complete(HELLO)
    assert busy.value.details["retry_after"] == seconds


BAD_CALL = {"id": "c", "function": {"name": "f", "arguments": "{not json"}}
NO_OBJECT = {"id": "c", "function": {"name": "f", "arguments": "[1]"}}


@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b"{}",
        b'{"choices":[]}',
        completion({"content": 7}),
        completion({"tool_calls": [BAD_CALL]}),
        completion({"tool_calls": [NO_OBJECT]}),
    ],
)
async def test_an_answer_that_is_no_completion_is_an_error_of_its_own(body: bytes) -> None:
    with endpoint(body=body) as server, pytest.raises(ModelAnswerUnreadable):
        await OpenAIBackend(server.base_url, "m").complete(HELLO)


async def test_an_answer_that_is_cut_is_no_answer() -> None:
    with endpoint(body=b"{", content_length="100") as server, pytest.raises(ModelUnreachable):
        await OpenAIBackend(server.base_url, "m").complete(HELLO)


async def test_nobody_there_is_unreachable() -> None:
    with endpoint() as server:
        gone = server.base_url
    with pytest.raises(ModelUnreachable, match="no answer from http"):
        await OpenAIBackend(gone, "m").complete(HELLO)
