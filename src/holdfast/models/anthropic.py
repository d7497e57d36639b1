"""A backend for any endpoint that speaks Anthropic's Messages."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec

from holdfast.core import strict_json
from holdfast.core.errors import InvalidJson
from holdfast.models.anthropic_prompt import conversation, system, tool
from holdfast.models.endpoint import Endpoint, Exchange
from holdfast.models.errors import ModelAnswerUnreadable, ModelBusy, ModelError, ModelRefused
from holdfast.models.messages import CompletionResponse, PromptMessage, Tool, ToolCall
from holdfast.models.retries import Retries
from holdfast.models.usage import from_anthropic

VERSION = "2023-06-01"
MAX_TOKENS = 8_192
PASSING = frozenset({"overloaded_error", "rate_limit_error", "api_error"})


class _Block(msgspec.Struct):
    type: str
    text: str = ""
    id: str = ""
    name: str = ""
    input: dict[str, Any] = {}


class _Answer(msgspec.Struct):
    content: list[_Block]
    usage: dict[str, Any] | None = None


class _Delta(msgspec.Struct):
    type: str = ""
    text: str = ""
    partial_json: str = ""


class _Start(msgspec.Struct):
    usage: dict[str, Any] | None = None


class _Error(msgspec.Struct):
    type: str = ""
    message: str = ""


class _Event(msgspec.Struct):
    type: str
    index: int = 0
    message: _Start | None = None
    content_block: _Block | None = None
    delta: _Delta | None = None
    usage: dict[str, Any] | None = None
    error: _Error | None = None


class AnthropicBackend:
    """The model `model` at `base_url`, for example `http://127.0.0.1:18080`; a `/v1` at its end is understood."""

    supports_native_tools = True

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str | None = None,
        max_tokens: int = MAX_TOKENS,
        timeout: float = 120.0,
        retries: Retries | None = None,
    ) -> None:
        self.model = model
        headers = {"anthropic-version": VERSION} | ({} if api_key is None else {"x-api-key": api_key})
        endpoint = Endpoint(base_url.rstrip("/").removesuffix("/v1") + "/v1/messages", headers, timeout)
        self._max_tokens = max_tokens
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
            self._body(messages, tools, temperature, max_tokens) | {"stream": True}, _StreamedAnswer
        )

    def _body(
        self,
        messages: Sequence[PromptMessage],
        tools: Sequence[Tool],
        temperature: float | None,
        max_tokens: int | None,
    ) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.model,
            "max_tokens": self._max_tokens if max_tokens is None else max_tokens,
            "messages": conversation(messages),
        }
        if said := system(messages):
            body["system"] = said
        if temperature is not None:
            body["temperature"] = temperature
        if tools:
            body["tools"] = [tool(offered) for offered in tools]
        return body


class _StreamedAnswer:
    """The events of one stream, put together; `whole` once the model has said that it stops."""

    def __init__(self) -> None:
        self.whole = False
        self._blocks: dict[int, _Block] = {}
        self._inputs: dict[int, str] = {}
        self._usage: dict[str, Any] = {}

    @property
    def over(self) -> bool:
        """Nothing follows the model's last word."""
        return self.whole

    def add(self, data: bytes) -> str:
        """The text that an event brings."""
        try:
            event = msgspec.json.decode(data, type=_Event)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise _unreadable(data, error) from error
        if event.error is not None:
            raise _broken_off(event.error)
        self.whole = event.type == "message_stop"
        self._usage |= (event.message.usage if event.message else None) or {}
        # The last word on usage repeats the counts that it does not know as null.
        self._usage |= {name: count for name, count in (event.usage or {}).items() if count is not None}
        if event.content_block is not None:
            self._blocks[event.index] = event.content_block
            return event.content_block.text
        if event.delta is None or event.index not in self._blocks:
            return ""
        self._blocks[event.index].text += event.delta.text
        self._inputs[event.index] = self._inputs.get(event.index, "") + event.delta.partial_json
        return event.delta.text

    def response(self) -> CompletionResponse:
        """All of it."""
        try:
            for index, raw in self._inputs.items():
                if raw:
                    self._blocks[index].input = msgspec.convert(strict_json.parse(raw.encode()), dict[str, Any])
        except (msgspec.ValidationError, InvalidJson) as error:
            raise _unreadable(b"a tool call", error) from error
        return _response([self._blocks[index] for index in sorted(self._blocks)], self._usage)


def _completion(raw: bytes) -> CompletionResponse:
    try:
        answer = msgspec.json.decode(raw, type=_Answer)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _unreadable(raw, error) from error
    return _response(answer.content, answer.usage)


def _response(blocks: Sequence[_Block], usage: dict[str, Any] | None) -> CompletionResponse:
    text = "".join(block.text for block in blocks if block.type == "text")
    calls = [ToolCall(block.id, block.name, block.input) for block in blocks if block.type == "tool_use"]
    return CompletionResponse(text, calls, from_anthropic(usage))


def _broken_off(error: _Error) -> ModelError:
    said = f"the model's endpoint broke its answer off: {error.type}: {error.message:.500}"
    return ModelBusy(said) if error.type in PASSING else ModelRefused(said)


def _unreadable(raw: bytes, error: Exception) -> ModelAnswerUnreadable:
    start = raw[:200].decode(errors="replace")
    return ModelAnswerUnreadable(f"not an answer of Messages ({error}): {start}")
