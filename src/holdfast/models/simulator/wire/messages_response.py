"""A message as clients of Anthropic's Messages API read it: one document, or a stream of named events."""

from collections.abc import Iterator
from typing import Any

from holdfast.core import strict_json
from holdfast.models.messages import CompletionResponse, ToolCall
from holdfast.models.simulator.pieces import pieces
from holdfast.models.simulator.wire.api import Envelope, Problem, event

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


def document(envelope: Envelope, response: CompletionResponse) -> Document:
    """The message in one piece."""
    words = [{"type": "text", "text": response.content}] if response.content else []
    blocks = [*words, *(_block(call, call.arguments) for call in response.tool_calls)]
    usage = _usage(response, response.usage["completion_tokens"])
    return _message(envelope, usage) | {"content": blocks, "stop_reason": _stop(response)}


def stream(envelope: Envelope, response: CompletionResponse) -> Iterator[bytes]:
    """The message as server-sent events: it starts, each block starts, grows and stops, it stops."""
    for told in _events(envelope, response):
        yield event(told, named=True)


def error(problem: Problem) -> Document:
    """An error as a document."""
    usual = "api_error" if problem.status >= 500 else "invalid_request_error"
    kind = ERRORS.get(problem.status, usual)
    return {"type": "error", "error": {"type": kind, "message": problem.message}, "request_id": None}


def failed(problem: Problem) -> bytes:
    """The event that ends a stream with an error."""
    return event(error(problem), named=True)


def _events(envelope: Envelope, response: CompletionResponse) -> Iterator[Document]:
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


def _message(envelope: Envelope, usage: Document) -> Document:
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
