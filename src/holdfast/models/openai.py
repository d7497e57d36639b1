"""A backend for any endpoint that speaks OpenAI's chat completions.

It keeps no connection between calls, so one backend serves any number of event loops and needs no closing.
"""

from collections.abc import Sequence
from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import msgspec

from holdfast.core import strict_json
from holdfast.core.errors import InvalidJson
from holdfast.models.errors import ModelAnswerUnreadable, ModelBusy, ModelRefused, ModelUnreachable
from holdfast.models.messages import CompletionResponse, Message, Tool, ToolCall

if TYPE_CHECKING:
    import ssl

    import httpx2

BUSY = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})


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


class OpenAIBackend:
    """The model `model` at `base_url`, for example `http://127.0.0.1:18080/v1`."""

    def __init__(self, base_url: str, model: str, *, api_key: str | None = None, timeout: float = 120.0) -> None:
        self._url = base_url.rstrip("/") + "/chat/completions"
        self._model = model
        self._headers = {"content-type": "application/json"}
        if api_key is not None:
            self._headers["authorization"] = f"Bearer {api_key}"
        self._timeout = timeout

    async def complete(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> CompletionResponse:
        """The model's answer to a prompt; a ModelError if there is none."""
        import httpx2

        body: dict[str, Any] = {"model": self._model, "messages": [_message(message) for message in messages]}
        if tools:
            body["tools"] = [_tool(tool) for tool in tools]
        try:
            async with httpx2.AsyncClient(verify=self._tls, timeout=self._timeout) as client:
                response = await client.post(self._url, content=strict_json.dump(body), headers=self._headers)
        except (httpx2.TransportError, httpx2.InvalidURL) as error:
            said = str(error) or type(error).__name__
            raise ModelUnreachable(f"no answer from {self._url}: {said}") from error
        if not response.is_success:
            raise _refusal(response)
        return _completion(response.content)

    @cached_property
    def _tls(self) -> "ssl.SSLContext":
        # Loading the certificates takes 30 ms: once per backend, not once per call.
        import httpx2

        return httpx2.create_ssl_context()


def _message(message: Message) -> dict[str, Any]:
    wire: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        wire["content"] = message.content or None
        wire["tool_calls"] = [_call(call) for call in message.tool_calls]
    if message.tool_call_id is not None:
        wire["tool_call_id"] = message.tool_call_id
    return wire


def _call(call: ToolCall) -> dict[str, Any]:
    arguments = strict_json.dump(call.arguments).decode()
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _tool(tool: Tool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _refusal(response: "httpx2.Response") -> ModelBusy | ModelRefused:
    said = f"the model's endpoint answered {response.status_code}: {response.text[:500]}"
    if response.status_code in BUSY:
        return ModelBusy(said, model_status=response.status_code, retry_after=_seconds(response))
    return ModelRefused(said, model_status=response.status_code)


def _seconds(response: "httpx2.Response") -> int | None:
    try:
        return int(response.headers["retry-after"])
    except (KeyError, ValueError):
        return None


def _completion(raw: bytes) -> CompletionResponse:
    try:
        completion = msgspec.json.decode(raw, type=_Completion)
        answer = completion.choices[0].message
        calls = [ToolCall(call.id, call.function.name, _arguments(call.function)) for call in answer.tool_calls or []]
    except (msgspec.DecodeError, InvalidJson, IndexError, UnicodeDecodeError) as error:
        start = raw[:200].decode(errors="replace")
        raise ModelAnswerUnreadable(f"not a chat completion ({error}): {start}") from error
    return CompletionResponse(answer.content or "", calls, completion.usage or {})


def _arguments(function: _Function) -> dict[str, Any]:
    # Some models send nothing at all for a tool without parameters.
    return msgspec.convert(strict_json.parse(function.arguments.encode() or b"{}"), dict[str, Any])
