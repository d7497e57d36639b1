"""OpenAI's chat completions: a request read into messages and tools, and the answer as its clients read it.

The answer is one document, or a stream of chunks.
"""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from holdfast.core import strict_json
from holdfast.core.errors import InvalidInput
from holdfast.http import server_sent_events
from holdfast.models.messages import CompletionResponse, Part, PromptMessage, PromptRole, Tool, ToolCall
from holdfast.models.simulator.measures import pieces
from holdfast.models.simulator.wire.api import (
    AnswerHead,
    Api,
    ApiProblem,
    ModelRequest,
    arguments,
    check_content,
    event,
)


class _Function(msgspec.Struct):
    name: str
    arguments: str = "{}"


class _Call(msgspec.Struct):
    id: str
    function: _Function


class _Message(msgspec.Struct):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[Part] | None = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str | None = None


class _Declaration(msgspec.Struct):
    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None


class _Tool(msgspec.Struct):
    function: _Declaration | None = None


class _StreamOptions(msgspec.Struct):
    include_usage: bool | None = None


class _Request(msgspec.Struct):
    model: str
    messages: list[_Message]
    tools: list[_Tool] | None = None
    tool_choice: Any = None
    stream: bool | None = None
    stream_options: _StreamOptions | None = None


def read(raw: bytes) -> ModelRequest:
    """The request in a body; InvalidInput says what is wrong with it."""
    try:
        request = msgspec.convert(strict_json.parse(raw), _Request)
    except msgspec.ValidationError as error:
        raise InvalidInput(str(error)) from None
    offered = [] if request.tool_choice == "none" else request.tools or []
    return ModelRequest(
        model=request.model,
        messages=[_read_message(message) for message in request.messages],
        tools=[_read_tool(tool.function) for tool in offered if tool.function],
        stream=bool(request.stream),
        include_usage=bool(request.stream_options and request.stream_options.include_usage),
    )


def _read_message(wire: _Message) -> PromptMessage:
    role = PromptRole.SYSTEM if wire.role == "developer" else PromptRole(wire.role)
    calls = [
        ToolCall(call.id, call.function.name, arguments(call.id, call.function.arguments))
        for call in wire.tool_calls or []
    ]
    return PromptMessage(role, check_content(wire.content or ""), calls, wire.tool_call_id)


def _read_tool(declared: _Declaration) -> Tool:
    return Tool(declared.name, declared.description or "", declared.parameters or {})


TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


def error(problem: ApiProblem) -> dict[str, Any]:
    """The error as a document."""
    usual = "server_error" if problem.status >= 500 else "invalid_request_error"
    kind = TYPES.get(problem.status, usual)
    return {"error": {"message": problem.message, "type": kind, "param": None, "code": problem.code}}


DONE = server_sent_events.event(b"[DONE]")


def document(envelope: AnswerHead, response: CompletionResponse) -> dict[str, Any]:
    """The completion in one piece."""
    message: dict[str, Any] = {"role": "assistant", "content": response.content}
    if response.tool_calls:
        message["content"] = response.content or None
        message["tool_calls"] = [_call_document(call) for call in response.tool_calls]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(response)}
    return _head(envelope, "chat.completion") | {"choices": [choice], "usage": response.usage}


def stream(envelope: AnswerHead, response: CompletionResponse) -> Iterator[bytes]:
    """The completion as server-sent events: role, words or calls, the reason to stop, usage, DONE."""
    head = _head(envelope, "chat.completion.chunk")
    if envelope.include_usage:
        head["usage"] = None
    yield event(head | {"choices": [_delta({"role": "assistant", "content": ""})]})
    for piece in pieces(response.content):
        yield event(head | {"choices": [_delta({"content": piece})]})
    for index, call in enumerate(response.tool_calls):
        for part in _call_pieces(call):
            yield event(head | {"choices": [_delta({"tool_calls": [{"index": index} | part]})]})
    yield event(head | {"choices": [_delta({}, _finish(response))]})
    if envelope.include_usage:
        yield event(head | {"choices": [], "usage": response.usage})
    yield DONE


def error_event(problem: ApiProblem) -> bytes:
    """The event that ends a stream with an error."""
    return event(error(problem))


def _head(envelope: AnswerHead, kind: str) -> dict[str, Any]:
    return {"id": envelope.id, "object": kind, "created": envelope.created, "model": envelope.model}


def _delta(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}


def _call_document(call: ToolCall) -> dict[str, Any]:
    arguments = strict_json.dump(call.arguments).decode()
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _call_pieces(call: ToolCall) -> Iterator[dict[str, Any]]:
    """The call without arguments, then its arguments piece by piece."""
    whole = _call_document(call)
    yield whole | {"function": whole["function"] | {"arguments": ""}}
    yield from ({"function": {"arguments": piece}} for piece in pieces(whole["function"]["arguments"]))


def _finish(response: CompletionResponse) -> str:
    return "tool_calls" if response.tool_calls else "stop"


CHAT = Api(
    name="chat",
    prefix="chatcmpl-",
    read=read,
    document=document,
    stream=stream,
    error=error,
    error_event=error_event,
)
