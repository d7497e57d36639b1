"""A backend for any endpoint that speaks OpenAI's chat completions."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec

from holdfast.core import strict_json
from holdfast.core.errors import InvalidJson
from holdfast.models.endpoint import Endpoint, Exchange
from holdfast.models.errors import ModelAnswerUnreadable, ModelRefused
from holdfast.models.messages import CompletionResponse, PromptMessage, PromptRole, Tool, ToolCall
from holdfast.models.retries import Retries
from holdfast.models.usage import from_openai

DONE = b"[DONE]"


class _Function(msgspec.Struct):
    name: str
    arguments: str


class _Call(msgspec.Struct):
    id: str
    function: _Function


class _Answer(msgspec.Struct):
    content: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct):
    message: _Answer


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    usage: dict[str, Any] | None = None


class _FunctionDelta(msgspec.Struct):
    name: str | None = None
    arguments: str | None = None


class _CallDelta(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _FunctionDelta | None = None


class _Delta(msgspec.Struct):
    content: str | None = None
    tool_calls: list[_CallDelta] | None = None


class _ChunkChoice(msgspec.Struct):
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Chunk(msgspec.Struct):
    choices: list[_ChunkChoice] = []
    usage: dict[str, Any] | None = None
    error: Any = None


class OpenAIBackend:
    """The model `model` at `base_url`, for example `http://127.0.0.1:18080/v1`."""

    supports_native_tools = True

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str | None = None,
        timeout: float = 120.0,
        retries: Retries | None = None,
    ) -> None:
        self.model = model
        headers = {} if api_key is None else {"authorization": f"Bearer {api_key}"}
        endpoint = Endpoint(base_url.rstrip("/") + "/chat/completions", headers, timeout)
        self._exchange = Exchange(endpoint, retries)

    async def complete(
        self,
        messages: Sequence[PromptMessage],
        tools: Sequence[Tool] = (),
        *,
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> CompletionResponse:
        """The model's answer to a prompt; a ModelError if there is none."""
        return await self._exchange.complete(self._body(messages, tools, temperature, max_tokens), _completion)

    def stream(
        self,
        messages: Sequence[PromptMessage],
        tools: Sequence[Tool] = (),
        *,
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> AsyncIterator[str | CompletionResponse]:
        """The answer in pieces as they come, then all of it; a ModelError, never a short answer, if it is cut."""
        return self._exchange.stream(
            self._body(messages, tools, temperature, max_tokens)
            | {"stream": True, "stream_options": {"include_usage": True}},
            _StreamedAnswer,
        )

    def _body(
        self,
        messages: Sequence[PromptMessage],
        tools: Sequence[Tool],
        temperature: float | None,
        max_tokens: int | None,
    ) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self.model, "messages": [_message(message) for message in messages]}
        if max_tokens is not None:
            body["max_tokens"] = max_tokens
        if temperature is not None:
            body["temperature"] = temperature
        if tools:
            body["tools"] = [_tool(tool) for tool in tools]
        return body


class _StreamedAnswer:
    """The chunks of one stream, put together; `whole` once the model has said why it stopped, `over` at the end of the
    stream: what the answer cost comes in between."""

    def __init__(self) -> None:
        self.whole = False
        self.over = False
        self._text: list[str] = []
        self._calls: dict[int, _Call] = {}
        self._usage: dict[str, Any] | None = None

    def add(self, data: bytes) -> str:
        """The text that a chunk brings."""
        if data == DONE:
            self.over = True
            return ""
        try:
            chunk = msgspec.json.decode(data, type=_Chunk)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise _unreadable(data, error) from error
        if chunk.error is not None:
            raise ModelRefused(f"the model's endpoint broke its answer off: {data[:500].decode(errors='replace')}")
        self._usage = chunk.usage or self._usage
        piece = ""
        for choice in chunk.choices[:1]:
            self.whole = self.whole or choice.finish_reason is not None
            if choice.delta is not None:
                piece = choice.delta.content or ""
                for call in choice.delta.tool_calls or []:
                    self._add_call(call)
        self._text.append(piece)
        return piece

    def response(self) -> CompletionResponse:
        """All of it."""
        try:
            calls = [_tool_call(self._calls[index]) for index in sorted(self._calls)]
        except (msgspec.ValidationError, InvalidJson) as error:
            raise _unreadable(b"a tool call", error) from error
        return CompletionResponse("".join(self._text), calls, from_openai(self._usage))

    def _add_call(self, delta: _CallDelta) -> None:
        # Some endpoints leave the index out, and send each call in one piece.
        newest = max(self._calls, default=-1)
        index = delta.index if delta.index is not None else newest + (1 if delta.id or newest < 0 else 0)
        call = self._calls.setdefault(index, _Call("", _Function("", "")))
        call.id = delta.id or call.id
        if delta.function is not None:
            call.function.name = delta.function.name or call.function.name
            call.function.arguments += delta.function.arguments or ""


def _message(message: PromptMessage) -> dict[str, Any]:
    wire: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        wire["content"] = message.content or None
        wire["tool_calls"] = [_call(call) for call in message.tool_calls]
    if message.role == PromptRole.TOOL and message.tool_call_id is not None:
        wire["tool_call_id"] = message.tool_call_id
    return wire


def _call(call: ToolCall) -> dict[str, Any]:
    arguments = strict_json.dump(call.arguments).decode()
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _tool(tool: Tool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _completion(raw: bytes) -> CompletionResponse:
    try:
        completion = msgspec.json.decode(raw, type=_Completion)
        answer = completion.choices[0].message
        calls = [_tool_call(call) for call in answer.tool_calls or []]
    except (msgspec.DecodeError, InvalidJson, IndexError, UnicodeDecodeError) as error:
        raise _unreadable(raw, error) from error
    return CompletionResponse(answer.content or "", calls, from_openai(completion.usage))


def _tool_call(call: _Call) -> ToolCall:
    # Some models send nothing at all for a tool without parameters.
    arguments = strict_json.parse(call.function.arguments.encode() or b"{}")
    return ToolCall(call.id, call.function.name, msgspec.convert(arguments, dict[str, Any]))


def _unreadable(raw: bytes, error: Exception) -> ModelAnswerUnreadable:
    return ModelAnswerUnreadable(f"not a chat completion ({error}): {raw[:200].decode(errors='replace')}")
