"""A completion as OpenAI's clients read it: one document, or a stream of chunks."""

from collections.abc import Iterator
from typing import Any

from holdfast.core import strict_json
from holdfast.models.messages import CompletionResponse, ToolCall
from holdfast.models.simulator.pieces import pieces
from holdfast.models.simulator.wire.api import Envelope, Problem, event
from holdfast.models.simulator.wire.openai_error import error

DONE = b"data: [DONE]\n\n"


def document(envelope: Envelope, response: CompletionResponse) -> dict[str, Any]:
    """The completion in one piece."""
    message: dict[str, Any] = {"role": "assistant", "content": response.content}
    if response.tool_calls:
        message["content"] = response.content or None
        message["tool_calls"] = [_call(call) for call in response.tool_calls]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(response)}
    return _head(envelope, "chat.completion") | {"choices": [choice], "usage": response.usage}


def stream(envelope: Envelope, response: CompletionResponse) -> Iterator[bytes]:
    """The completion as server-sent events: role, words or calls, the reason to stop, usage, DONE."""
    head = _head(envelope, "chat.completion.chunk")
    if envelope.include_usage:
        head["usage"] = None
    yield event(head | {"choices": [_delta({"role": "assistant", "content": ""})]})
    for piece in pieces(response.content):
        yield event(head | {"choices": [_delta({"content": piece})]})
    for index, call in enumerate(response.tool_calls):
        yield event(head | {"choices": [_delta({"tool_calls": [{"index": index} | _call(call)]})]})
    yield event(head | {"choices": [_delta({}, _finish(response))]})
    if envelope.include_usage:
        yield event(head | {"choices": [], "usage": response.usage})
    yield DONE


def failed(problem: Problem) -> bytes:
    """The event that ends a stream with an error."""
    return event(error(problem))


def _head(envelope: Envelope, kind: str) -> dict[str, Any]:
    return {"id": envelope.id, "object": kind, "created": envelope.created, "model": envelope.model}


def _delta(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}


def _call(call: ToolCall) -> dict[str, Any]:
    arguments = strict_json.dump(call.arguments).decode()
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _finish(response: CompletionResponse) -> str:
    return "tool_calls" if response.tool_calls else "stop"
