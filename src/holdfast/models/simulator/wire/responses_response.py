"""A response as clients of OpenAI's Responses API read it: one document, or a stream of named events."""

from collections.abc import Iterator
from itertools import count
from typing import Any

from holdfast.core import strict_json
from holdfast.models.messages import CompletionResponse, ToolCall
from holdfast.models.simulator.pieces import pieces
from holdfast.models.simulator.wire.api import Envelope, Problem, event

Document = dict[str, Any]


def document(envelope: Envelope, response: CompletionResponse) -> Document:
    """The response in one piece."""
    output = [_item(envelope, number, made, "completed") for number, made in enumerate(_made(response))]
    return _response(envelope, "completed", output) | {"usage": _usage(response.usage)}


def stream(envelope: Envelope, response: CompletionResponse) -> Iterator[bytes]:
    """The response as server-sent events: it begins, each item grows and is done, it is completed."""
    numbers = count()
    begun = _response(envelope, "in_progress", [])
    steps: list[Iterator[Document]] = [
        iter([{"type": "response.created", "response": begun}, {"type": "response.in_progress", "response": begun}])
    ]
    for number, made in enumerate(_made(response)):
        steps.append(_words(envelope, number, made) if isinstance(made, str) else _call(envelope, number, made))
    steps.append(iter([{"type": "response.completed", "response": document(envelope, response)}]))
    for step in steps:
        for told in step:
            yield event(told | {"sequence_number": next(numbers)}, named=True)


def failed(problem: Problem) -> bytes:
    """The event that ends a stream with an error."""
    said = {"type": "error", "code": problem.code or str(problem.status), "message": problem.message, "param": None}
    return event(said | {"sequence_number": 0}, named=True)


def _words(envelope: Envelope, number: int, words: str) -> Iterator[Document]:
    done = _item(envelope, number, words, "completed")
    at = {"item_id": done["id"], "output_index": number, "content_index": 0}
    begun = done | {"status": "in_progress", "content": []}
    yield {"type": "response.output_item.added", "output_index": number, "item": begun}
    yield {"type": "response.content_part.added", "part": _part("")} | at
    for piece in pieces(words):
        yield {"type": "response.output_text.delta", "delta": piece, "logprobs": []} | at
    yield {"type": "response.output_text.done", "text": words, "logprobs": []} | at
    yield {"type": "response.content_part.done", "part": _part(words)} | at
    yield {"type": "response.output_item.done", "output_index": number, "item": done}


def _call(envelope: Envelope, number: int, call: ToolCall) -> Iterator[Document]:
    done = _item(envelope, number, call, "completed")
    at = {"item_id": done["id"], "output_index": number}
    begun = done | {"status": "in_progress", "arguments": ""}
    yield {"type": "response.output_item.added", "output_index": number, "item": begun}
    yield {"type": "response.function_call_arguments.delta", "delta": done["arguments"]} | at
    yield {"type": "response.function_call_arguments.done", "arguments": done["arguments"], "name": call.name} | at
    yield {"type": "response.output_item.done", "output_index": number, "item": done}


def _made(response: CompletionResponse) -> list[str | ToolCall]:
    """The items of a response: its words, if it has any or nothing else, and its calls."""
    words = [response.content] if response.content or not response.tool_calls else []
    return [*words, *response.tool_calls]


def _item(envelope: Envelope, number: int, made: str | ToolCall, status: str) -> Document:
    if isinstance(made, str):
        item = {"id": f"msg_{envelope.id}_{number}", "type": "message", "role": "assistant"}
        return item | {"status": status, "content": [_part(made)]}
    item = {"id": f"fc_{envelope.id}_{number}", "type": "function_call", "call_id": made.id, "name": made.name}
    return item | {"status": status, "arguments": strict_json.dump(made.arguments).decode()}


def _part(words: str) -> Document:
    return {"type": "output_text", "text": words, "annotations": [], "logprobs": []}


def _response(envelope: Envelope, status: str, output: list[Document]) -> Document:
    return {
        "id": envelope.id,
        "object": "response",
        "created_at": envelope.created,
        "status": status,
        "model": envelope.model,
        "output": output,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "temperature": None,
        "top_p": None,
        "tool_choice": "auto",
        "tools": [],
        "usage": None,
    }


def _usage(usage: dict[str, Any]) -> Document:
    return {
        "input_tokens": usage["prompt_tokens"],
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": usage["completion_tokens"],
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage["total_tokens"],
    }
