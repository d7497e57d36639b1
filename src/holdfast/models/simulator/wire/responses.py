"""OpenAI's Responses API: a request read into messages and tools, and the answer as its clients read it.

The input is words, or items: messages, calls of functions and their outputs. The simulator keeps no response, so what
refers to an earlier one is refused. The answer is one document, or a stream of named events.
"""

from collections.abc import Iterator
from itertools import count
from typing import Any, Literal

import msgspec

from holdfast.core import strict_json
from holdfast.core.errors import InvalidInput
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
from holdfast.models.simulator.wire.chat import error

THOUGHTS = frozenset({"reasoning", "compaction"})


class _Item(msgspec.Struct):
    type: str = "message"
    role: Literal["system", "developer", "user", "assistant"] | None = None
    content: str | list[Part] | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    output: str | list[Part] | None = None


class _Tool(msgspec.Struct):
    type: str
    name: str | None = None
    description: str | None = None
    parameters: dict[str, Any] | None = None


class _Request(msgspec.Struct):
    model: str
    input: str | list[_Item]
    instructions: str | None = None
    tools: list[_Tool] | None = None
    tool_choice: Any = None
    stream: bool | None = None
    background: bool | None = None
    previous_response_id: str | None = None
    conversation: Any = None


def read(raw: bytes) -> ModelRequest:
    """The request in a body; InvalidInput says what is wrong with it."""
    try:
        request = msgspec.convert(strict_json.parse(raw), _Request)
    except msgspec.ValidationError as error:
        raise InvalidInput(str(error)) from None
    _refuse_what_needs_keeping(request)
    system = [PromptMessage(PromptRole.SYSTEM, request.instructions)] if request.instructions else []
    items = [_Item(role="user", content=request.input)] if isinstance(request.input, str) else request.input
    offered = [] if request.tool_choice == "none" else request.tools or []
    return ModelRequest(
        model=request.model,
        messages=[*system, *(_read_message(item) for item in items if item.type not in THOUGHTS)],
        tools=[_read_tool(tool, tool.name) for tool in offered if tool.type == "function" and tool.name],
        stream=bool(request.stream),
    )


def _refuse_what_needs_keeping(request: _Request) -> None:
    for field in ("previous_response_id", "conversation", "background"):
        if getattr(request, field):
            raise InvalidInput(
                f"{field} is not supported: the simulator keeps no responses",
                hint="send the whole input with each request",
            )


def _read_message(item: _Item) -> PromptMessage:
    match item:
        case _Item(type="message", role=str(role), content=content) if content is not None:
            return PromptMessage(PromptRole.SYSTEM if role == "developer" else PromptRole(role), check_content(content))
        case _Item(type="function_call", call_id=str(call_id), name=str(name)):
            call = ToolCall(call_id, name, arguments(call_id, item.arguments or ""))
            return PromptMessage(PromptRole.ASSISTANT, "", [call])
        case _Item(type="function_call_output", call_id=str(call_id), output=output) if output is not None:
            return PromptMessage(PromptRole.TOOL, check_content(output), tool_call_id=call_id)
        case _Item(type="message" | "function_call" | "function_call_output"):
            raise InvalidInput(f"an item of type {item.type!r} lacks what such an item has")
    raise InvalidInput(f"an item of type {item.type!r:.80} is not supported")


def _read_tool(declared: _Tool, name: str) -> Tool:
    return Tool(name, declared.description or "", declared.parameters or {})


Document = dict[str, Any]


def document(envelope: AnswerHead, response: CompletionResponse) -> Document:
    """The response in one piece."""
    output = [_item(envelope, number, made, "completed") for number, made in enumerate(_made(response))]
    return _response(envelope, "completed", output) | {"usage": _usage(response.usage)}


def stream(envelope: AnswerHead, response: CompletionResponse) -> Iterator[bytes]:
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


def error_event(problem: ApiProblem) -> bytes:
    """The event that ends a stream with an error."""
    said = {"type": "error", "code": problem.code or str(problem.status), "message": problem.message, "param": None}
    return event(said | {"sequence_number": 0}, named=True)


def _words(envelope: AnswerHead, number: int, words: str) -> Iterator[Document]:
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


def _call(envelope: AnswerHead, number: int, call: ToolCall) -> Iterator[Document]:
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


def _item(envelope: AnswerHead, number: int, made: str | ToolCall, status: str) -> Document:
    if isinstance(made, str):
        item = {"id": f"msg_{envelope.id}_{number}", "type": "message", "role": "assistant"}
        return item | {"status": status, "content": [_part(made)]}
    item = {"id": f"fc_{envelope.id}_{number}", "type": "function_call", "call_id": made.id, "name": made.name}
    return item | {"status": status, "arguments": strict_json.dump(made.arguments).decode()}


def _part(words: str) -> Document:
    return {"type": "output_text", "text": words, "annotations": [], "logprobs": []}


def _response(envelope: AnswerHead, status: str, output: list[Document]) -> Document:
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


RESPONSES = Api(
    name="responses",
    prefix="resp_",
    read=read,
    document=document,
    stream=stream,
    error=error,
    error_event=error_event,
)
