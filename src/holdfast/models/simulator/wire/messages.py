"""Anthropic's Messages API: a request read into messages and tools, and the answer as its clients read it.

The results of tools come as blocks of a user message here: each becomes a message of its own, in its place, and what
stands around it stays the user's. The answer is one document, or a stream of named events.
"""

from collections.abc import Iterator
from typing import Any, Literal, TypeVar

import msgspec

from holdfast.core import strict_json
from holdfast.core.errors import InvalidInput
from holdfast.models.messages import CompletionResponse, Content, Part, PromptMessage, PromptRole, Tool, ToolCall
from holdfast.models.simulator.measures import pieces
from holdfast.models.simulator.wire.api import (
    AnswerHead,
    Api,
    ApiProblem,
    ModelRequest,
    check_content,
    event,
)

THOUGHTS = frozenset({"thinking", "redacted_thinking"})


class _Message(msgspec.Struct):
    role: Literal["user", "assistant", "system"]
    content: str | list[Part]


class _Tool(msgspec.Struct):
    name: str | None = None
    description: str | None = None
    input_schema: dict[str, Any] | None = None


class _Counted(msgspec.Struct):
    model: str
    messages: list[_Message]
    system: str | list[Part] | None = None
    tools: list[_Tool] | None = None
    tool_choice: dict[str, Any] | None = None


class _Request(_Counted, kw_only=True):
    max_tokens: int
    stream: bool | None = None


T = TypeVar("T", bound=_Counted)


def read(raw: bytes) -> ModelRequest:
    """The request in a body; InvalidInput says what is wrong with it."""
    request = _convert(raw, _Request)
    return _asked(request, stream=bool(request.stream))


def read_to_count(raw: bytes) -> ModelRequest:
    """A request whose tokens are to be counted: it needs no limit for an answer."""
    return _asked(_convert(raw, _Counted), stream=False)


def _convert(raw: bytes, kind: type[T]) -> T:
    try:
        return msgspec.convert(strict_json.parse(raw), kind)
    except msgspec.ValidationError as error:
        raise InvalidInput(str(error)) from None


def _asked(request: _Counted, *, stream: bool) -> ModelRequest:
    system = [PromptMessage(PromptRole.SYSTEM, check_content(request.system))] if request.system else []
    none = request.tool_choice is not None and request.tool_choice.get("type") == "none"
    offered = [] if none else request.tools or []
    return ModelRequest(
        model=request.model,
        messages=[*system, *(said for message in request.messages for said in _read_messages(message))],
        tools=[_read_tool(tool, tool.name) for tool in offered if tool.name and tool.input_schema is not None],
        stream=stream,
    )


def _read_messages(wire: _Message) -> list[PromptMessage]:
    role, content = PromptRole(wire.role), check_content(wire.content)
    if isinstance(content, str):
        return [PromptMessage(role, content)]
    results = [_read_result(part) for part in content if part["type"] == "tool_result"]
    calls = [_read_call(part) for part in content if part["type"] == "tool_use"]
    rest = [part for part in content if part["type"] not in {"tool_result", "tool_use", *THOUGHTS}]
    if calls or rest or not results:
        return [*results, PromptMessage(role, rest, calls)]
    return results


def _read_result(part: Part) -> PromptMessage:
    content: Content = part.get("content") or ""
    if not isinstance(part.get("tool_use_id"), str) or not isinstance(content, str | list):
        raise InvalidInput("a tool_result has no tool_use_id, or content that is neither text nor blocks")
    if isinstance(content, list) and not all(isinstance(block, dict) for block in content):
        raise InvalidInput("the content of a tool_result has a block that is not an object")
    return PromptMessage(PromptRole.TOOL, check_content(content), tool_call_id=part["tool_use_id"])


def _read_call(part: Part) -> ToolCall:
    if not (
        isinstance(part.get("id"), str) and isinstance(part.get("name"), str) and isinstance(part.get("input"), dict)
    ):
        raise InvalidInput("a tool_use lacks its id, its name or its input")
    return ToolCall(part["id"], part["name"], part["input"])


def _read_tool(declared: _Tool, name: str) -> Tool:
    return Tool(name, declared.description or "", declared.input_schema or {})


Document = dict[str, Any]

ERRORS = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    529: "overloaded_error",
}


def document(envelope: AnswerHead, response: CompletionResponse) -> Document:
    """The message in one piece."""
    words = [{"type": "text", "text": response.content}] if response.content else []
    blocks = [*words, *(_block(call, call.arguments) for call in response.tool_calls)]
    usage = _usage(response, response.usage["completion_tokens"])
    return _message(envelope, usage) | {"content": blocks, "stop_reason": _stop(response)}


def stream(envelope: AnswerHead, response: CompletionResponse) -> Iterator[bytes]:
    """The message as server-sent events: it starts, each block starts, grows and stops, it stops."""
    for told in _events(envelope, response):
        yield event(told, named=True)


def error(problem: ApiProblem) -> Document:
    """An error as a document."""
    usual = "api_error" if problem.status >= 500 else "invalid_request_error"
    kind = ERRORS.get(problem.status, usual)
    return {"type": "error", "error": {"type": kind, "message": problem.message}, "request_id": None}


def error_event(problem: ApiProblem) -> bytes:
    """The event that ends a stream with an error."""
    return event(error(problem), named=True)


def _events(envelope: AnswerHead, response: CompletionResponse) -> Iterator[Document]:
    yield {"type": "message_start", "message": _message(envelope, _usage(response, 1))}
    index = 0
    if response.content:
        yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
        for piece in pieces(response.content):
            yield _delta(0, {"type": "text_delta", "text": piece})
        yield {"type": "content_block_stop", "index": 0}
        index = 1
    for number, call in enumerate(response.tool_calls, index):
        yield {"type": "content_block_start", "index": number, "content_block": _block(call, {})}
        yield _delta(number, {"type": "input_json_delta", "partial_json": strict_json.dump(call.arguments).decode()})
        yield {"type": "content_block_stop", "index": number}
    ended = {"stop_reason": _stop(response), "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": response.usage["completion_tokens"]}}
    yield {"type": "message_stop"}


def _message(envelope: AnswerHead, usage: Document) -> Document:
    return {
        "id": envelope.id,
        "type": "message",
        "role": "assistant",
        "model": envelope.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }


def _usage(response: CompletionResponse, written: int) -> Document:
    cached = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    return {"input_tokens": response.usage["prompt_tokens"], "output_tokens": written} | cached


def _delta(index: int, delta: Document) -> Document:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def _block(call: ToolCall, arguments: Document) -> Document:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": arguments}


def _stop(response: CompletionResponse) -> str:
    return "tool_use" if response.tool_calls else "end_turn"


MESSAGES = Api(
    name="messages",
    prefix="msg_",
    read=read,
    document=document,
    stream=stream,
    error=error,
    error_event=error_event,
)
